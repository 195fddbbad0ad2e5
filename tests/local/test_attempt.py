"""What `run` does around the end of a job; the drain and the restarts, without waiting for them."""

import asyncio
import os
import time
from pathlib import Path

import msgspec
import pytest
from local.planning import rendered

from dlf.errors import ExitCode
from dlf.frameworks import load_framework
from dlf.local import attempt
from dlf.local.run import run
from dlf.logs.log_options import LogOptions
from dlf.manifest.jobs.pytorchjob import PyTorchJobSpec
from dlf.manifest.manifest import Manifest
from dlf.outcome.outcome import Outcome

LONG = 60.0  # seconds: more than what a test does takes on a busy machine


class Here:
    """Runs jobs in this process; keeps what they print and what is said about them."""

    def __init__(self, directory: Path) -> None:
        self.said: list[str] = []
        self.output = directory / "stdout"

    def run(
        self, manifest: Manifest, *, strict: bool = False, leader: str = "", timeout: float = 0.0
    ) -> Outcome:
        with self.output.open("wb") as file:
            return asyncio.run(
                run(
                    manifest,
                    env=dict(os.environ),
                    working_dir=str(self.output.parent),
                    log_options=LogOptions(),
                    check_ranks=lambda _: None,
                    timeout=timeout,
                    leader=leader,
                    strict=strict,
                    notify=self.said.append,
                    stdout=file.fileno(),
                )
            )


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods may end by themselves after the job's success, however long a busy machine takes."""
    monkeypatch.setattr(attempt, "DRAIN_SECONDS", LONG)
    monkeypatch.setattr(attempt, "IDLE_SECONDS", LONG)


def test_run_stops_workers_that_outlive_the_master(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Master's success is the job's; a worker that goes on is reported and stopped."""
    monkeypatch.setattr(attempt, "DRAIN_SECONDS", 0.0)
    outcome = here.run(rendered("pytorch", num_worker=2, command="[ $RANK = 0 ] || sleep 1000"))
    assert ExitCode.SUCCEEDED == outcome.code
    assert (
        "still running when the job had ended, and stopped: pytorchjob-1f2e-worker-0",
    ) == outcome.warnings


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("name", "flags", "volcano"),
    [
        pytest.param("tf", {"num_ps": 1, "num_worker": 1}, False, id="TFJob: cleanPodPolicy"),
        pytest.param("mxnet", {"num_ps": 1, "num_worker": 1}, True, id="Volcano Job"),
    ],
)
def test_run_ends_servers_with_the_workers(
    here: Here, name: str, flags: dict[str, int], volcano: bool
) -> None:
    """Where the operator stops what goes on, nobody waits for it, nor is told of it."""
    command = """
    case $TF_CONFIG$DMLC_ROLE in *'"type": "worker"'* | worker) exit;; esac
    sleep 1000
    """
    began = time.monotonic()
    outcome = here.run(rendered(name, volcano=volcano, command=command, **flags))
    assert (ExitCode.SUCCEEDED, ()) == (outcome.code, outcome.warnings)
    assert time.monotonic() - began < LONG


@pytest.mark.parametrize(
    ("pause", "ends"), [(0.2, True), (1000, False)], ids=["it prints", "it is silent"]
)
def test_run_waits_after_success_while_pods_print(
    here: Here, pause: float, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that goes on is given time until it has been silent, as on Kubernetes."""
    monkeypatch.setattr(attempt, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(attempt, "DRAIN_SECONDS", LONG)
    monkeypatch.setattr(attempt, "IDLE_SECONDS", 4.0)
    command = f"[ $RANK = 0 ] || for i in $(seq 25); do echo $i; sleep {pause}; done"
    began = time.monotonic()
    outcome = here.run(rendered("pytorch", num_worker=2, command=command))
    assert (ExitCode.SUCCEEDED, ends) == (outcome.code, not outcome.warnings)
    assert time.monotonic() - began < LONG


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("strict", "code", "failures"),
    [(False, ExitCode.SUCCEEDED, 0), (True, ExitCode.FAILED, 1)],
    ids=["lenient", "strict"],
)
def test_run_reports_pods_that_fail_after_success(
    here: Here,
    strict: bool,
    code: ExitCode,
    failures: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that fails once the job has succeeded is a warning; with --strict a failure."""
    command = """
    [ $RANK != 0 ] || { echo $$ > it; mv it master; exit; }
    until [ -e master ] && ! kill -0 $(cat master) 2> /dev/null; do sleep 0.05; done
    sleep 1
    exit 3
    """
    monkeypatch.setattr(attempt, "SETTLE_SECONDS", 0.0)
    outcome = here.run(rendered("pytorch", num_worker=2, command=command), strict=strict)
    assert (code, failures) == (outcome.code, len(outcome.failures))
    (warning,) = outcome.warnings
    assert warning.startswith("although the job succeeded, pod pytorchjob-1f2e-worker-0 (")
    assert warning.endswith("rank 1): exit code 3")


@pytest.mark.usefixtures("patient")
def test_run_has_succeeded_even_when_time_is_over_after_that(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit is for the job, not for the workers that outlive it."""
    monkeypatch.setattr(attempt, "SETTLE_SECONDS", 0.0)
    manifest = rendered("pytorch", num_worker=2, command="[ $RANK = 0 ] || sleep 1000")
    began = time.monotonic()
    outcome = here.run(manifest, timeout=5.0)
    assert (ExitCode.SUCCEEDED, 1) == (outcome.code, len(outcome.warnings))
    assert time.monotonic() - began < LONG


def test_run_ends_with_the_lead(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """deepspeed: worker 0 completes the job, whatever the others do."""
    monkeypatch.setattr(attempt, "DRAIN_SECONDS", 0.0)
    manifest = rendered("deepspeed", num_worker=2, command="[ $RANK = 0 ] || sleep 1000")
    outcome = here.run(manifest, leader=load_framework("deepspeed").leader)
    assert ExitCode.SUCCEEDED == outcome.code


def test_run_restarts_a_container_in_place(here: Here) -> None:
    """OnFailure: the same pod again, until its restarts reach backoffLimit."""
    manifest = rendered("pytorch", num_worker=1, command="echo try; exit 5")
    assert isinstance(manifest.spec, PyTorchJobSpec)
    master = manifest.spec.pytorch_replica_specs["Master"]
    spec = msgspec.structs.replace(
        manifest.spec,
        run_policy=msgspec.structs.replace(manifest.spec.run_policy, backoff_limit=3),
        pytorch_replica_specs={
            "Master": msgspec.structs.replace(master, restart_policy="OnFailure")
        },
    )
    outcome = here.run(msgspec.structs.replace(manifest, spec=spec))
    assert "pytorchjob-1f2e-master-0 try\n" * 3 == here.output.read_text()
    assert [5] == [failure.exit_code for failure in outcome.failures]
    assert 2 == sum("is restarted" in line for line in here.said)


def test_run_names_the_first_cause_first(here: Here) -> None:
    """The order of failures is that of time, not of ranks."""
    command = """
    case $RANK in
    2) echo 'the cause'; echo $$ > it; mv it failed; exit 9;;
    *) until [ -e failed ] && ! kill -0 $(cat failed) 2> /dev/null; do sleep 0.01; done
       sleep 0.5; exit 1;;
    esac
    """
    outcome = here.run(rendered("pytorch", num_worker=3, command=command))
    assert ExitCode.FAILED == outcome.code
    first = outcome.failures[0]
    assert ("pytorchjob-1f2e-worker-1", 2, 9) == (first.pod, first.rank, first.exit_code)
    assert (b"the cause",) == first.last_lines


def test_run_tells_a_signal_by_its_number(here: Here) -> None:
    """128 + n, as a container's exit code."""
    outcome = here.run(rendered("pytorch", num_worker=1, command="kill -SEGV $$"))
    assert [139] == [failure.exit_code for failure in outcome.failures]


def test_run_says_when_there_are_no_accelerators(here: Here) -> None:
    """A job for accelerators runs without them where there are none, and says so."""
    manifest = rendered("pytorch", num_worker=1, command="true", env=(("GPU_NUM", "2"),))
    assert ExitCode.SUCCEEDED == here.run(manifest).code
    assert "the job asks for accelerators, and this machine has none: it runs without" in here.said


def test_run_decides_the_same_each_time(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that fails beside a Master that succeeds fails the job, whichever ends first."""
    monkeypatch.setattr(attempt, "SETTLE_SECONDS", LONG)  # both ends are "beside" it
    manifest = rendered("pytorch", num_worker=2, command="exit $RANK")
    assert [ExitCode.FAILED] * 100 == [here.run(manifest).code for _ in range(100)]


def test_run_stops_what_the_operator_would_remove(here: Here) -> None:
    """Parameter servers do not end by themselves: the chief's success ends them, without a note."""
    command = """[[ $TF_CONFIG == *'"type": "chief"'* ]] || exec sleep 1000"""
    manifest = rendered("tf", num_worker=1, num_chief=1, num_ps=1, command=command)
    outcome = here.run(manifest)
    assert (ExitCode.SUCCEEDED, ()) == (outcome.code, outcome.warnings)
