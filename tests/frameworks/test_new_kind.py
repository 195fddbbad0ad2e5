"""A framework with a job kind of its own needs one record, one framework file, one registry entry.

The made-up kind below is all that such a change consists of; nothing else of dlf is touched.
"""

import sys
from collections.abc import Iterator
from types import ModuleType

import msgspec
import pytest
from local.planning import planned

from dlf.diagnose.roles import PodIdentity, roles_of
from dlf.frameworks import SUMMARIES, _kubeflow, job_kinds, job_state, kind_of
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind, LocalNetwork, Replica, pod_name
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec, ReplicaSpec, training_operator_kind
from dlf.manifest.manifest import Manifest, to_json
from dlf.manifest.observed import Job, Meta, Pod
from dlf.manifest.phase import Phase
from dlf.preflight.permissions import rules
from dlf.task.settings import Workers


class NewJobSpec(KubeflowJobSpec):
    """What would be the record's file: dlf/manifest/jobs/newjob.py."""

    new_replica_specs: dict[str, ReplicaSpec]


def _environment(replica: Replica, network: LocalNetwork) -> dict[str, str]:
    boss = pod_name(replica.job, "Boss", 0)
    return {"BOSS": f"{network.host(boss)}:{network.port(boss, 7000)}"}


NEWJOB = training_operator_kind(
    "NewJob", "newjobs", _environment, deciding_roles=("Boss",), unranked_roles=("boss",)
)


def render(settings: Workers, kind: JobKind, suffix: str) -> Manifest:
    """What would be the framework's file: dlf/frameworks/new.py."""
    roles = {"Boss": 1, "Worker": settings.num_worker}
    name = _kubeflow.name("newjob", settings, suffix, roles)
    template = pod_template(settings, kind, name, "new", bash(settings.command))
    spec = NewJobSpec(
        run_policy=_kubeflow.run_policy(settings, roles),
        new_replica_specs={
            role: _kubeflow.replica(settings, count, template) for role, count in roles.items()
        },
    )
    return _kubeflow.manifest(settings, kind, name, spec)


NEW = Framework(name="new", settings=Workers, kinds=(NEWJOB,), render=render)


@pytest.fixture
def manifest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manifest]:
    """A rendered job of the framework, after its entry in the registry."""
    module = ModuleType("dlf.frameworks.new")
    monkeypatch.setattr(module, "FRAMEWORK", NEW, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(SUMMARIES, "new", "New (Kubeflow NewJob)")
    job_kinds.cache_clear()
    yield render(Workers(num_worker=2), NEWJOB, "1f2e")
    job_kinds.cache_clear()


def test_new_kind_is_read_back(manifest: Manifest) -> None:
    """Its roles, its ranks and its state are known from the record."""
    read = msgspec.json.decode(to_json(manifest), type=Job)
    assert (NEWJOB, NEWJOB) == (kind_of(manifest), kind_of(read))
    assert {"boss": 1, "worker": 2} == roles_of(read).replicas
    assert Phase.SUBMITTED is job_state(read).phase
    labels = {NEWJOB.role_label: "worker", NEWJOB.index_label: "1"}
    pod = Pod(metadata=Meta(name="newjob-1f2e-worker-1", labels=labels))
    assert PodIdentity("worker", 1, 1) == roles_of(read).identify(pod)


def test_new_kind_is_permitted(manifest: Manifest) -> None:
    """The roles of docs/how-to/rbac.md and examples/rbac.yaml name its resource."""
    assert manifest.kind == "NewJob"
    assert any("newjobs" in rule["resources"] for rule in rules("run", cluster=False))
    assert NEWJOB in job_kinds()


def test_new_kind_runs_on_this_machine(manifest: Manifest) -> None:
    """With its environment and its deciding role."""
    job = planned(manifest)
    pods = [f"newjob-1f2e-{pod}" for pod in ("boss-0", "worker-0", "worker-1")]
    assert pods == [process.pod for process in job.processes]
    assert {process.env["BOSS"] for process in job.processes} == {"127.64.0.1:7000"}
    assert (frozenset(pods[:1]),) == job.rules.succeed
