"""docs/reference/peers.md: every command on its right side is understood, and works."""

import re
import shlex
from pathlib import Path

import pytest
from commands.console import NAMESPACE, Console
from fake_api import FakeApi
from local.records import GONE, finished, header, record
from waiting import beside, until

from dlf.errors import ExitCode
from dlf.frameworks import SUMMARIES, job_kinds

PAGE = Path(__file__).parents[2] / "docs/reference/peers.md"
COMMANDS = re.findall(r"\| `([^|`]*\bdlf [^`]+)` \|$", PAGE.read_text(), re.MULTILINE)


def test_every_row_is_found() -> None:
    """The pattern above reads each row of each table."""
    lines = PAGE.read_text().splitlines()
    rows = [line for line in lines if line.startswith("| `") or "| the same" in line]
    assert len(rows) == len(COMMANDS) > 60


@pytest.fixture
def filled(cluster: Console, tmp_path: Path) -> Console:
    """A cluster with two finished jobs and all that a check asks for; a run on this machine."""
    cluster.env["XDG_STATE_HOME"] = str(tmp_path)
    record(tmp_path / "dlf" / "local", header("JOB", launcher=GONE), finished()).close()
    for name in ("JOB", "JOB2"):
        cluster.pytorchjob(name, "Succeeded")
        cluster.pod(name, "loss 1", "debug", code=0)
    cluster.create("namespaces", NAMESPACE, namespace="")
    cluster.create("secrets", "hubsecret")
    free = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    labels = {"cpu": "true", "train": "true"}
    cluster.create("nodes", "n", namespace="", labels=labels, status={"allocatable": free})
    return cluster


JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: by-hand}
spec: {pytorchReplicaSpecs: {Master: {replicas: 1}}}
"""


def forbid_lists(api: FakeApi) -> None:
    api.denied.update({("list", f"{kind.plural}.{kind.group}") for kind in job_kinds()})


@pytest.mark.parametrize("command", COMMANDS)
def test_command_works(
    filled: Console, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 0, and no flag is without effect.

    What would train is only rendered, and a list that goes on is ended by taking its permission.
    """
    words = [{"prod": "fake"}.get(word, word) for word in shlex.split(command)]
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        filled.env[name] = value
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    no_training = {"--detach", "--dry-run", "--dry-run=server"}
    trains = words[1] in {*SUMMARIES, "run"} and not no_training & {*words}
    expected = ExitCode.SUCCEEDED
    if {"-w", "--watch"} & {*words}:
        expected = ExitCode.REJECTED
        with beside(lambda: _forbid_later(filled)):
            code = filled.run(*words[1:])
    else:
        code = filled.run(*words[1:], *(["--dry-run"] if trains else []))

    assert code == expected, filled.said
    assert not [line for line in filled.said if "no effect" in line]


def _forbid_later(console: Console) -> None:
    until(lambda: "JOB2" in console.stdout.read_text())
    console.api.call(forbid_lists)
