"""Volcano Jobs, and the rendezvous of torch that they share with PyTorchJob."""

import pytest
from frameworks.cases import RENDERINGS, pod_templates, rendering_id
from frameworks.pods import manifest, variables

from dlf.frameworks import SUMMARIES, load_framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.mxjob import MXJOB
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB

VOLCANO = [(name, kind) for name, kind in RENDERINGS if kind == VOLCANO_JOB]


@pytest.mark.parametrize(("name", "kind"), VOLCANO, ids=rendering_id)
def test_volcano_job_says_everything_that_its_webhook_would(name: str, kind: JobKind) -> None:
    """The admission may not be installed; a gang is all pods, and the first failure ends it."""
    spec = manifest(name, kind)["spec"]
    total = sum(task["replicas"] for task in spec["tasks"])
    assert (total, 1, "default", "volcano") == tuple(
        spec[key] for key in ("minAvailable", "maxRetry", "queue", "schedulerName")
    )
    assert {
        "env": [],
        "svc": ["--publish-not-ready-addresses=true"],
        "ssh": [],
    } == spec["plugins"]
    assert [
        {"event": "PodFailed", "action": "RestartJob"},
        {"event": "PodEvicted", "action": "RestartJob"},
    ] == spec["policies"]
    for task in spec["tasks"]:
        assert (task["replicas"], 1) == (task["minAvailable"], task["maxRetry"])
        pod = task["template"]["spec"]
        assert ("Never", "volcano") == (pod["restartPolicy"], pod["schedulerName"])


@pytest.mark.parametrize(("name", "kind"), VOLCANO, ids=rendering_id)
def test_volcano_counts_attempts(name: str, kind: JobKind) -> None:
    """maxRetry 1 is no retry: k restarts are k + 1 attempts."""
    spec = manifest(name, kind, ["--max_retry", "2", "--queue", "team"])["spec"]
    assert (3, "team") == (spec["maxRetry"], spec["queue"])
    assert [3] * len(spec["tasks"]) == [task["maxRetry"] for task in spec["tasks"]]


@pytest.mark.parametrize("servers", [0, 2])
@pytest.mark.parametrize("kind", [MXJOB, VOLCANO_JOB], ids=lambda kind: kind.name)
def test_mxnet_has_the_same_roles_in_both_kinds(kind: JobKind, servers: int) -> None:
    """A scheduler, the servers if there are any, the workers; the same image and command."""
    rendered = manifest("mxnet", kind, ["--num_ps", str(servers)])
    roles = {"Scheduler": 1, "Server": servers, "Worker": 3}
    assert {role.lower(): n for role, n in roles.items() if n} == {
        role.lower(): count for role, count, _ in pod_templates(rendered)
    }


def test_mxnet_on_volcano_sets_what_the_operator_would() -> None:
    """ps-lite's variables, with the scheduler's host; the job ends with its workers."""
    rendered = manifest("mxnet", VOLCANO_JOB, ["--num_ps", "2"])
    for role, _, template in pod_templates(rendered):
        found = variables(template["spec"]["containers"][0])
        assert {
            "DMLC_PS_ROOT_URI": "mxjob-mnist-0a1b-scheduler-0.mxjob-mnist-0a1b",
            "DMLC_PS_ROOT_PORT": "9091",
            "DMLC_NUM_SERVER": "2",
            "DMLC_NUM_WORKER": "3",
            "DMLC_USE_KUBERNETES": "1",
            "DMLC_ROLE": role,
        } == {name: value for name, value in found.items() if name.startswith("DMLC_")}
    policies = {task["name"]: task.get("policies") for task in rendered["spec"]["tasks"]}
    done = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    assert {"scheduler": None, "server": None, "worker": done} == policies


def test_megatron_has_a_task_for_each_role() -> None:
    """In the order of the ranks, each told its role; the first pod of the first is the master."""
    rendered = manifest("megatron", VOLCANO_JOB, ["--cluster", "head=1,worker=2"])
    found = [(r, n, variables(t["spec"]["containers"][0])) for r, n, t in pod_templates(rendered)]
    host = "megatron-mnist-0a1b-head-0.megatron-mnist-0a1b"
    assert [("head", 1, "head", host, "3"), ("worker", 2, "worker", host, "3")] == [
        (role, n, v["VC_TASK_ROLE"], v["MASTER_ADDR"], v["WORLD_SIZE"]) for role, n, v in found
    ]


@pytest.mark.parametrize(("gpu", "expected"), [("0", "1"), ("1", "1"), ("8", "8"), ("-1", "auto")])
@pytest.mark.parametrize(
    ("name", "kind", "master"),
    [
        ("pytorch", PYTORCHJOB, "pytorchjob-mnist-0a1b-master-0"),
        ("deepspeed", VOLCANO_JOB, "deepspeed-mnist-0a1b-worker-0.deepspeed-mnist-0a1b"),
        ("megatron", VOLCANO_JOB, "megatron-mnist-0a1b-worker-0.megatron-mnist-0a1b"),
    ],
    ids=rendering_id,
)
def test_torchrun_needs_no_flags(
    name: str, kind: JobKind, master: str, gpu: str, expected: str
) -> None:
    """One agent per pod, one process per GPU; -1 leaves the number to what torchrun finds."""
    rendered = manifest(name, kind, env={"KFJ_TASK_RESOURCE_GPU": gpu})
    for _, _, template in pod_templates(rendered):
        found = variables(template["spec"]["containers"][0])
        assert {
            "PET_NNODES": "3",
            "PET_NPROC_PER_NODE": expected,
            "PET_MASTER_ADDR": master,
            "PET_MASTER_PORT": "23456",
        } == {key: value for key, value in found.items() if key.startswith("PET_")}


def test_master_decides_in_deepspeed_and_colossalai() -> None:
    """As the platform's users know it; elsewhere the operator says when the job is over."""
    assert {"deepspeed": "worker", "colossalai": "worker"} == {
        name: leader for name in SUMMARIES if (leader := load_framework(name).leader)
    }
