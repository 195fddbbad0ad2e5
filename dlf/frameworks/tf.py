"""tf: a Kubeflow TFJob for tf.distribute: workers, and the roles of its other strategies."""

from typing import Annotated

from dlf.frameworks import _kubeflow
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.tfjob import TFJOB, TFJobSpec
from dlf.manifest.manifest import Manifest
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Workers


def _at_most_one(text: str) -> int:
    """0 or 1: tf.distribute has one chief and one evaluator at most."""
    count = scalars.count(0)(text)
    if count > 1:
        raise ValueError("write 0 or 1")
    return count


class TFSettings(Workers, frozen=True, kw_only=True):
    """The flags of tf."""

    num_ps: Annotated[int, Flag("parameter servers", scalars.count(0), metavar="N")] = 0
    num_chief: Annotated[
        int, Flag("chiefs, which decide the job: 0 or 1", _at_most_one, metavar="N")
    ] = 0
    num_evaluator: Annotated[int, Flag("evaluators: 0 or 1", _at_most_one, metavar="N")] = 0


def render(settings: TFSettings, kind: JobKind, suffix: str) -> Manifest:
    """Render a TFJob.

    The chief's end is the job's. Without one, successPolicy AllWorkers has the job finished when
    all workers are; the operator's default is worker 0. Parameter servers and evaluators do not end
    by themselves, so the operator removes them. A job of one pod is given no TF_CONFIG.
    """
    others = {
        "Chief": settings.num_chief,
        "Evaluator": settings.num_evaluator,
        "PS": settings.num_ps,
    }
    roles = _kubeflow.with_replicas(others | {"Worker": settings.num_worker})
    name = _kubeflow.name("tfjob", settings, suffix, roles)
    template = pod_template(settings, kind, name, "tensorflow", bash(settings.command))
    clean = "Running" if any(others.values()) else "None"
    spec = TFJobSpec(
        run_policy=_kubeflow.run_policy(settings, roles, clean=clean),
        success_policy="AllWorkers",
        tf_replica_specs={
            role: _kubeflow.replica(settings, count, template) for role, count in roles.items()
        },
    )
    return _kubeflow.manifest(settings, kind, name, spec)


FRAMEWORK = Framework(
    name="tf",
    settings=TFSettings,
    kinds=(TFJOB,),
    render=render,
)
