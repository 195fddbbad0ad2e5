"""jax: a Kubeflow JAXJob of equal workers; worker 0 is the coordinator of jax.distributed."""

from dlf.frameworks import _kubeflow
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.jaxjob import JAXJOB, JAXJobSpec
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import Manifest
from dlf.task.settings import Workers


def render(settings: Workers, kind: JobKind, suffix: str) -> Manifest:
    """Render a JAXJob, which has succeeded when all its workers have."""
    roles = {"Worker": settings.num_worker}
    name = _kubeflow.name("jaxjob", settings, suffix, roles)
    template = pod_template(settings, kind, name, "jax", bash(settings.command))
    spec = JAXJobSpec(
        run_policy=_kubeflow.run_policy(settings, roles),
        jax_replica_specs={
            role: _kubeflow.replica(settings, count, template) for role, count in roles.items()
        },
    )
    return _kubeflow.manifest(settings, kind, name, spec)


FRAMEWORK = Framework(
    name="jax",
    settings=Workers,
    kinds=(JAXJOB,),
    render=render,
)
