"""When a job is over, as a table: what each operator and each policy decides."""

from typing import Any

import msgspec
import pytest
from local.planning import planned, rendered

from dlf.frameworks import load_framework
from dlf.manifest.jobs.pytorchjob import PyTorchJobSpec
from dlf.manifest.jobs.volcano import LifecyclePolicy, VolcanoJobSpec
from dlf.manifest.manifest import Manifest


@pytest.mark.parametrize(
    ("name", "flags", "deciders"),
    [
        pytest.param("pytorch", {"num_worker": 3}, ["master-0"], id="pytorch: the master"),
        pytest.param("mindformers", {"num_worker": 2}, ["master-0"], id="mindformers: the same"),
        pytest.param("tf", {"num_worker": 2}, ["worker-0", "worker-1"], id="tf: all workers"),
        pytest.param("paddle", {"num_worker": 2}, ["worker-0", "worker-1"], id="paddle: workers"),
        pytest.param(
            "paddle", {"num_ps": 2, "num_worker": 1}, ["master-0", "master-1"], id="paddle: masters"
        ),
        pytest.param("mxnet", {"num_worker": 2}, ["scheduler-0"], id="mxnet: the scheduler"),
        pytest.param("mpi", {"num_worker": 2}, ["launcher"], id="mpi: the launcher"),
        pytest.param("mindspore", {"num_worker": 2}, ["worker-0", "worker-1"], id="volcano: all"),
    ],
)
def test_local_job_success_is_that_of_the_deciding_role(
    name: str, flags: dict[str, Any], deciders: list[str]
) -> None:
    """Whose success is the job's; any pod's failure is."""
    job = planned(rendered(name, **flags))
    (group,) = job.rules.succeed
    assert deciders == sorted(pod.split("1f2e-")[1] for pod in group)
    assert {process.pod for process in job.processes} == job.rules.fatal
    assert (0, 1) == (job.rules.restarts, job.rules.attempts)


def test_local_job_lead_completes_a_volcano_job() -> None:
    """deepspeed and colossalai end with worker 0, or when all have succeeded."""
    job = planned(rendered("deepspeed", num_worker=2), leader=load_framework("deepspeed").leader)
    pods = [process.pod for process in job.processes]
    assert (frozenset(pods[:1]), frozenset(pods)) == job.rules.succeed


def test_local_job_completed_task_completes_a_volcano_job() -> None:
    """TaskCompleted with CompleteJob: servers and scheduler may outlive the workers."""
    job = planned(rendered("mxnet", volcano=True, num_worker=1))
    pods = [process.pod for process in job.processes]
    assert (frozenset(pods[1:]), frozenset(pods)) == job.rules.succeed


def test_local_job_volcano_job_without_policies_waits_for_all() -> None:
    """A failed pod does not end it."""
    manifest = rendered("mindspore", num_worker=2)
    assert isinstance(manifest.spec, VolcanoJobSpec)
    spec = msgspec.structs.replace(manifest.spec, policies=[])
    rules = planned(msgspec.structs.replace(manifest, spec=spec)).rules
    assert frozenset() == rules.fatal


@pytest.mark.parametrize(
    ("manifest", "leader", "at_once"),
    [
        pytest.param(rendered("tf"), "", False, id="tf: workers end together"),
        pytest.param(rendered("tf", num_ps=1), "", True, id="tf: servers never end"),
        pytest.param(rendered("tf", num_ps=1, clean_pod_policy="None"), "", False, id="tf: asked"),
        pytest.param(rendered("mxnet", volcano=True), "", True, id="volcano: it stops the rest"),
        pytest.param(rendered("deepspeed"), "worker", False, id="volcano: it knows no leader"),
    ],
)
def test_local_job_pods_that_go_on_are_stopped_at_once_as_on_the_cluster(
    manifest: Manifest, leader: str, at_once: bool
) -> None:
    """By cleanPodPolicy, and by Volcano in each job that it completes."""
    assert at_once is planned(manifest, leader).rules.stops_remaining_pods


@pytest.mark.parametrize(
    ("action", "attempts"), [("RestartJob", 3), ("AbortJob", 1)], ids=["restart", "abort"]
)
def test_local_job_volcano_attempts_are_max_retry(action: str, attempts: int) -> None:
    """maxRetry counts attempts, of a job that is restarted at all."""
    manifest = rendered("mindspore", num_worker=1, max_retry=2)
    assert isinstance(manifest.spec, VolcanoJobSpec)
    policies = [LifecyclePolicy(event="PodFailed", action=action)]
    spec = msgspec.structs.replace(manifest.spec, policies=policies)
    rules = planned(msgspec.structs.replace(manifest, spec=spec)).rules
    assert (1, attempts) == (len(rules.fatal), rules.attempts)


@pytest.mark.parametrize(
    ("policy", "limit", "restarts"),
    [("OnFailure", 3, 2), ("OnFailure", 0, 0), ("Never", 3, 0)],
    ids=["limit", "limit 0", "never"],
)
def test_local_job_restarts_stay_below_backoff_limit(
    policy: str, limit: int, restarts: int
) -> None:
    """training-operator fails a job whose containers were restarted backoffLimit times."""
    manifest = rendered("pytorch", num_worker=1)
    assert isinstance(manifest.spec, PyTorchJobSpec)
    (role, replica), *_ = manifest.spec.pytorch_replica_specs.items()
    spec = msgspec.structs.replace(
        manifest.spec,
        run_policy=msgspec.structs.replace(manifest.spec.run_policy, backoff_limit=limit),
        pytorch_replica_specs={role: msgspec.structs.replace(replica, restart_policy=policy)},
    )
    assert restarts == planned(msgspec.structs.replace(manifest, spec=spec)).rules.restarts
