"""On which nodes the pods of a role may run, and which nodes they prefer."""

from collections.abc import Mapping, Sequence

from dlf.manifest import pods
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.task.settings import Platform

_VOLCANO_WEIGHT, _KUBEFLOW_WEIGHT = 20, 5  # of the preference for a node without pods of the job


def nodes(
    settings: Platform, kind: JobKind, job: str, *, accelerators: bool
) -> tuple[dict[str, str], pods.Affinity]:
    """The nodeSelector and the affinity of a role.

    Args:
        settings: of the task.
        kind: the resource that the pods belong to.
        job: name of the job.
        accelerators: whether the role has any, so that their model is asked for.
    """
    single, several = _node_labels(settings, accelerators=accelerators)
    return single, pods.Affinity(
        node_affinity=_node_affinity(several), pod_anti_affinity=_spread(job, kind)
    )


def tolerations(settings: Platform) -> list[pods.Toleration]:
    """The taints of nodes that the pods tolerate."""
    return [
        pods.Toleration(
            key=taint.key,
            operator="Exists" if taint.value is None else "Equal",
            value=taint.value or "",
            effect=taint.effect,
        )
        for taint in settings.toleration
    ]


def _node_labels(
    settings: Platform, *, accelerators: bool
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Labels with one value, for nodeSelector, and with several, for affinity."""
    wanted = dict(settings.node_selector)
    if accelerators and settings.gpu.count and settings.gpu.model:
        wanted["gpu-type"] = (settings.gpu.model,)
    single = {key: values[0] for key, values in wanted.items() if len(values) == 1}
    return single, {key: values for key, values in wanted.items() if len(values) > 1}


def _node_affinity(wanted: Mapping[str, Sequence[str]]) -> pods.NodeAffinity | None:
    if not wanted:
        return None
    term = pods.NodeSelectorTerm(
        match_expressions=[
            pods.NodeSelectorRequirement(key=key, operator="In", values=list(values))
            for key, values in wanted.items()
        ]
    )
    return pods.NodeAffinity(required=pods.NodeSelector(node_selector_terms=[term]))


def _spread(job: str, kind: JobKind) -> pods.PodAntiAffinity:
    """Prefer another node for each pod of the job."""
    weight = _VOLCANO_WEIGHT if kind == VOLCANO_JOB else _KUBEFLOW_WEIGHT
    labels = {"component": job, "type": kind.type_label}
    term = pods.PodAffinityTerm(
        label_selector=pods.LabelSelector(match_labels=labels),
        topology_key="kubernetes.io/hostname",
    )
    return pods.PodAntiAffinity(
        preferred=[pods.WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)]
    )
