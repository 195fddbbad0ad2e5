"""How dlf finds its own pod: by the token's claim, or else by variables."""

import base64
import json
from pathlib import Path
from unittest.mock import patch

import pytest
from job.pytorch_histories import succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import NAMESPACE, SimulatedCluster
from job.test_stops import launcher, owners

from dlf.errors import ExitCode
from dlf.job import launcher_pod
from dlf.job.launcher_pod import PodClaim, pod_claim

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
CUT = "launcher-" + "x" * 54  # HOSTNAME has 63 characters at most


def token(claims: object) -> str:
    """A service account token; nobody checks its signature here."""
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2lnbmF0dXJl\n"


def bound(name: str, uid: str, namespace: str = NAMESPACE) -> object:
    return {"kubernetes.io": {"namespace": namespace, "pod": {"name": name, "uid": uid}}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (token(bound("launcher", "u1")), PodClaim("launcher", "u1")),
        (token(bound("launcher", "u1", "elsewhere")), PodClaim()),
        (token({"kubernetes.io": {"namespace": NAMESPACE}}), PodClaim()),
        (token({"iss": "kubernetes/serviceaccount"}), PodClaim()),  # a token that never expires
        (token(["no", "object"]), PodClaim()),
        ("opaque", PodClaim()),
        ("a.b.c", PodClaim()),
        ("", PodClaim()),
    ],
)
def test_bound_token_names_its_pod(text: str, expected: PodClaim) -> None:
    """Other tokens name none, and none is an error."""
    assert pod_claim(text, NAMESPACE) == expected


async def owned(cluster: SimulatedCluster) -> None:
    """The job runs, owned by the launcher's pod."""
    job, pods = await three_pods(cluster)
    assert owners(cluster) == [cluster.api.store.get(cluster.pods, "launcher")["metadata"]["uid"]]
    await succeed(cluster, job, pods)


@pytest.mark.parametrize("name", ["K8S_POD_NAME", "ARGO_POD_NAME", "POD_NAME", "HOSTNAME"])
def test_variable_names_the_pod(name: str) -> None:
    """The first that names a pod counts; a hostname that was cut names none."""
    env = {**IN_CLUSTER, "HOSTNAME": CUT, name: "launcher"}

    assert run_scenario(owned, env=env, before=launcher).code == ExitCode.SUCCEEDED


def test_claim_of_the_token_names_the_pod_whatever_the_hostname(tmp_path: Path) -> None:
    """HOSTNAME is cut at 63 characters, a pod's name may be longer."""

    def before(cluster: SimulatedCluster) -> None:
        launcher(cluster)
        uid = cluster.api.store.get(cluster.pods, "launcher")["metadata"]["uid"]
        (tmp_path / "token").write_text(token(bound("launcher", uid)))

    with patch.object(launcher_pod, "SERVICE_ACCOUNT", tmp_path):
        result = run_scenario(owned, env={**IN_CLUSTER, "HOSTNAME": CUT}, before=before)

    assert result.code == ExitCode.SUCCEEDED


def test_pod_that_is_not_found_is_told_with_what_follows() -> None:
    """Once, before the job is submitted."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        assert owners(cluster) == []
        await succeed(cluster, job, pods)

    result = run_scenario(history, env={**IN_CLUSTER, "HOSTNAME": CUT}, before=launcher)

    assert result.messages[0] == (
        f"this launcher's own pod cannot be read: no pod is named {CUT!r} in namespace {NAMESPACE};"
        " so the job has no owner: it runs on when that pod is deleted, and is deleted when that"
        " pod is evicted"
    )
    assert result.count("own pod cannot be read") == 1


def test_nothing_is_told_outside_of_a_cluster() -> None:
    """There is no pod to find."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await succeed(cluster, job, pods)

    assert run_scenario(history, env={"HOSTNAME": "laptop"}).count("own pod") == 0
