"""tf: a Kubeflow TFJob of workers, for tf.distribute's multi-worker strategies."""

from dlf.frameworks import _kubeflow
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.tfjob import TFJOB, TFJobSpec
from dlf.manifest.manifest import Manifest
from dlf.task.settings import Workers


def render(settings: Workers, kind: JobKind, suffix: str) -> Manifest:
    """Render a TFJob.

    With successPolicy AllWorkers the job is finished when all workers are; the operator's default
    is worker 0. The operator gives no TF_CONFIG to a job of one worker.
    """
    roles = {"Worker": settings.num_worker}
    name = _kubeflow.name("tfjob", settings, suffix, roles)
    template = pod_template(settings, kind, name, "tensorflow", bash(settings.command))
    spec = TFJobSpec(
        run_policy=_kubeflow.run_policy(settings, roles),
        success_policy="AllWorkers",
        tf_replica_specs={"Worker": _kubeflow.replica(settings, settings.num_worker, template)},
    )
    return _kubeflow.manifest(settings, kind, name, spec)


FRAMEWORK = Framework(
    name="tf",
    summary="TensorFlow (Kubeflow TFJob)",
    settings=Workers,
    kinds=(TFJOB,),
    render=render,
)
