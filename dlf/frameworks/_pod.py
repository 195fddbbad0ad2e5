"""The parts that the resources of all frameworks share: names, labels, the pod template."""

from collections.abc import Mapping, Sequence

from dlf.errors import UsageError
from dlf.frameworks._shell import literal
from dlf.frameworks._volumes import volumes
from dlf.manifest import pods
from dlf.manifest.kinds import Kind
from dlf.manifest.meta import ObjectMeta
from dlf.manifest.names import label_values
from dlf.task.resources import VENDORS, Amount
from dlf.task.settings import Platform, TaskSettings

_VOLCANO_WEIGHT, _KUBEFLOW_WEIGHT = 20, 5


def job_metadata(task: TaskSettings, name: str) -> ObjectMeta:
    """Name, labels and annotations of the custom resource; the platform finds it by the labels."""
    labels, originals = label_values(
        {
            "run-id": task.run_id,
            "run-username": task.runner,
            "pipeline-username": task.creator,
            "pipeline-id": task.pipeline_id,
            "pipeline-name": task.pipeline_name,
            "task-id": task.task_id,
            "task-name": task.task_name,
        }
    )
    annotations = {"project": task.project} | originals
    return ObjectMeta(name=name, labels=labels, annotations=annotations)


def pod_template(
    task: TaskSettings,
    kind: Kind,
    job: str,
    container: str,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    ports: Sequence[pods.ContainerPort] = (),
    labels: Mapping[str, str] | None = None,
    cards: bool = True,
) -> pods.PodTemplate:
    """The pod template of one role.

    Args:
        task: the settings.
        kind: the resource that it becomes a part of.
        job: name of the job.
        container: name that the operator expects of the training container.
        command: the container's command.
        env: variables of this role; those that the user gave with `--env` win.
        ports: the container's ports.
        labels: more labels of this role's pods.
        cards: whether this role gets the accelerators and RDMA devices.

    Raises:
        UsageError: when the resource of a vendor's cards is not known.
    """
    volcano = kind.group == "batch.volcano.sh"
    declared, mounts = volumes(task)
    pod_labels, originals = label_values(
        {
            "pipeline-id": task.pipeline_id,
            "pipeline-name": task.pipeline_name,
            "task-id": task.task_id,
            "task-name": task.task_name,
            "username": task.runner,
            "component": job,
            "type": kind.word,
            "run-id": task.run_id,
            **(labels or {}),
        }
    )
    main = pods.Container(
        name=container,
        image=task.image,
        image_pull_policy=task.pull_policy,
        working_dir=task.working_dir,
        command=list(command),
        ports=list(ports),
        env=_environment(task, env or {}, cards=cards),
        resources=_resources(task, cards=cards),
        volume_mounts=mounts,
        security_context=_security(task) if cards else None,
    )
    single, several = _node_labels(task, cards=cards)
    return pods.PodTemplate(
        metadata=ObjectMeta(labels=pod_labels, annotations={"project": task.project} | originals),
        spec=pods.PodSpec(
            containers=[main],
            restart_policy="Never" if volcano else "",
            volumes=declared,
            image_pull_secrets=[pods.LocalObjectReference(name=n) for n in task.pull_secrets],
            node_selector=single,
            affinity=pods.Affinity(
                node_affinity=_node_affinity(several),
                pod_anti_affinity=_spread(
                    job, kind, _VOLCANO_WEIGHT if volcano else _KUBEFLOW_WEIGHT
                ),
            ),
            scheduler_name="volcano" if volcano else _scheduler(task),
            priority_class_name=task.priority_class,
        ),
    )


def cards_per_pod(task: Platform) -> int:
    """How many processes a pod's cards call for: one per card, one where there is none."""
    return max(task.gpu.count, 1)


def _scheduler(task: Platform) -> str:
    """Nothing for the cluster's default: an operator that gangs fills in its own only then."""
    return "" if task.scheduler == "default-scheduler" else task.scheduler


def _environment(task: TaskSettings, env: Mapping[str, str], *, cards: bool) -> list[pods.EnvVar]:
    count = task.gpu.count if cards else 0
    variables = {"NCCL_DEBUG": "INFO", "GPU_NUM": str(count)}
    if count == 0:
        variables["NVIDIA_VISIBLE_DEVICES"] = "none"
    variables |= env
    variables |= {name: literal(value) for name, value in task.env}
    return [pods.EnvVar(name=name, value=value) for name, value in variables.items()]


def _resources(task: Platform, *, cards: bool) -> pods.Resources | None:
    amounts = {name: Amount(value, value) for name, value in task.default_resources.items()}
    if task.cpu:
        amounts["cpu"] = task.cpu
    if task.memory:
        amounts["memory"] = task.memory
    if cards and task.gpu.count > 0:
        amounts[_card(task)] = Amount(str(task.gpu.count), str(task.gpu.count))
    if cards and _claims_rdma(task):
        amounts[task.rdma_resource] = Amount(str(task.rdma), str(task.rdma))
    if not amounts:
        return None
    return pods.Resources(
        requests={name: each.request for name, each in amounts.items()},
        limits={name: each.limit for name, each in amounts.items()},
    )


def _card(task: Platform) -> str:
    """The resource that a card is claimed as."""
    vendor = task.gpu.vendor or "gpu"
    resource = task.gpu_resource or VENDORS.get(vendor)
    if not resource:
        raise UsageError(
            f"KFJ_TASK_RESOURCE_GPU: unknown vendor {vendor!r}",
            f"write one of {', '.join(VENDORS)}, or name the resource in GPU_RESOURCE_NAME",
        )
    return resource


def _claims_rdma(task: Platform) -> bool:
    return bool(task.rdma and task.rdma_resource)


def _security(task: Platform) -> pods.SecurityContext | None:
    privileged = True if task.gpu.count == -1 else None  # every card of the node, unclaimed
    locks = pods.Capabilities(add=["IPC_LOCK"]) if _claims_rdma(task) else None  # pinned memory
    if privileged is None and locks is None:
        return None
    return pods.SecurityContext(privileged=privileged, capabilities=locks)


def _node_labels(
    task: Platform, *, cards: bool
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Labels with one value, for nodeSelector, and with several, for affinity."""
    wanted = dict(task.node_selector)
    if cards and task.gpu.count and task.gpu.model:
        wanted["gpu-type"] = (task.gpu.model,)
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


def _spread(job: str, kind: Kind, weight: int) -> pods.PodAntiAffinity:
    """Prefer another node for each pod of the job."""
    labels = {"component": job, "type": kind.word}
    term = pods.PodAffinityTerm(
        label_selector=pods.LabelSelector(match_labels=labels),
        topology_key="kubernetes.io/hostname",
    )
    return pods.PodAntiAffinity(
        preferred=[pods.WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)]
    )
