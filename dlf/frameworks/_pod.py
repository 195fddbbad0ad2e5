"""The parts that the resources of all frameworks share: names, labels, the pod template."""

from collections.abc import Collection, Mapping, Sequence

from dlf.errors import UsageError
from dlf.frameworks._placement import nodes, tolerations
from dlf.frameworks._shell import literal
from dlf.frameworks._volumes import volumes
from dlf.frameworks._worker import ALL_FLAGS, with_worker, worker_source
from dlf.manifest import pods
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.meta import ObjectMeta
from dlf.manifest.names import label_values
from dlf.task.resources import VENDORS, Amount
from dlf.task.settings import Platform, TaskSettings


def job_metadata(
    settings: TaskSettings, name: str, annotations: Mapping[str, str] | None = None
) -> ObjectMeta:
    """Name, labels and annotations of the custom resource; the platform finds it by the labels."""
    labels, originals = label_values(
        {
            "run-id": settings.run_id,
            "run-username": settings.runner,
            "pipeline-username": settings.creator,
            "pipeline-id": settings.pipeline_id,
            "pipeline-name": settings.pipeline_name,
            "task-id": settings.task_id,
            "task-name": settings.task_name,
        }
    )
    return ObjectMeta(
        name=name,
        labels=labels,
        annotations={"project": settings.project, **originals, **(annotations or {})},
    )


def pod_template(
    settings: TaskSettings,
    kind: JobKind,
    job: str,
    container: str,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    fields: Mapping[str, str] | None = None,
    ports: Sequence[pods.ContainerPort] = (),
    labels: Mapping[str, str] | None = None,
    accelerators: bool = True,
    worker_flags: Collection[str] = ALL_FLAGS,
) -> pods.PodTemplate:
    """The pod template of one role.

    Args:
        settings: of the task.
        kind: the resource that it becomes a part of.
        job: name of the job.
        container: name that the operator expects of the training container.
        command: the container's command.
        env: variables of this role; those that the user gave with `--env` win.
        fields: variables that are set from a field of the pod, and the field's path.
        ports: the container's ports.
        labels: more labels of this role's pods.
        accelerators: whether this role gets the accelerators and RDMA devices.
        worker_flags: the flags of `dlf worker` that are for this role.

    Raises:
        UsageError: no resource name is known for the vendor of the accelerators; or see
            `worker_source` and `WorkerSource.volumes`.
    """
    volcano = kind.group == "batch.volcano.sh"
    declared, mounts = volumes(settings)
    pod_labels, originals = label_values(
        {
            "pipeline-id": settings.pipeline_id,
            "pipeline-name": settings.pipeline_name,
            "task-id": settings.task_id,
            "task-name": settings.task_name,
            "username": settings.runner,
            "component": job,
            "type": kind.type_label,
            "run-id": settings.run_id,
            **(labels or {}),
        }
    )
    worker = worker_source(settings)
    if worker:
        command = with_worker(settings, worker.program, command, worker_flags)
        for volume, mount in worker.volumes(settings, kind, job):
            declared.append(volume)
            mounts.append(mount)
    main = pods.Container(
        name=container,
        image=settings.image,
        image_pull_policy=settings.pull_policy,
        working_dir=settings.working_dir,
        command=list(command),
        ports=list(ports),
        env=_fields(fields or {}) + _environment(settings, env or {}, accelerators=accelerators),
        resources=_resources(settings, accelerators=accelerators),
        volume_mounts=mounts,
        security_context=_security(settings) if accelerators else None,
    )
    annotations = {"project": settings.project, **_without_sidecars(settings), **originals}
    labels_of_node, affinity = nodes(settings, kind, job, accelerators=accelerators)
    return pods.PodTemplate(
        metadata=ObjectMeta(labels=pod_labels, annotations=annotations),
        spec=pods.PodSpec(
            init_containers=worker.init_containers(
                settings, _resources(settings, accelerators=False)
            )
            if worker
            else [],
            containers=[main],
            restart_policy="Never" if volcano else "",
            volumes=declared,
            image_pull_secrets=[pods.LocalObjectReference(name=n) for n in settings.pull_secrets],
            node_selector=labels_of_node,
            affinity=affinity,
            scheduler_name="volcano" if volcano else _scheduler(settings),
            priority_class_name=settings.priority_class,
            tolerations=tolerations(settings),
            service_account_name=settings.service_account,
            host_network=settings.host_network,
            # With the node's network, cluster names resolve only under this policy.
            dns_policy="ClusterFirstWithHostNet" if settings.host_network else "",
        ),
    )


def _without_sidecars(settings: Platform) -> dict[str, str]:
    """Keep service meshes out: a proxy that outlives the training keeps the pod from ending."""
    if settings.inject_sidecars:
        return {}
    return {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}


def processes_per_pod(settings: Platform) -> int:
    """Training processes in each pod: one per accelerator, one where there is none."""
    return max(settings.gpu.count, 1)


def _scheduler(settings: Platform) -> str:
    """Nothing for the cluster's default: an operator that gangs fills in its own only then."""
    return "" if settings.scheduler == "default-scheduler" else settings.scheduler


def _fields(fields: Mapping[str, str]) -> list[pods.EnvVar]:
    return [
        pods.EnvVar(
            name=name, value_from=pods.EnvVarSource(field_ref=pods.FieldRef(field_path=path))
        )
        for name, path in fields.items()
    ]


def _environment(
    settings: TaskSettings, env: Mapping[str, str], *, accelerators: bool
) -> list[pods.EnvVar]:
    count = settings.gpu.count if accelerators else 0
    variables = {"NCCL_DEBUG": "INFO", "GPU_NUM": str(count)}
    if count == 0:
        variables["NVIDIA_VISIBLE_DEVICES"] = "none"
    variables |= env
    variables |= {name: literal(value) for name, value in settings.env}
    return [pods.EnvVar(name=name, value=value) for name, value in variables.items()]


def _resources(settings: Platform, *, accelerators: bool) -> pods.Resources | None:
    amounts = {name: Amount(value, value) for name, value in settings.default_resources.items()}
    if settings.cpu:
        amounts["cpu"] = settings.cpu
    if settings.memory:
        amounts["memory"] = settings.memory
    if accelerators and settings.gpu.count > 0:
        amounts[accelerator_resource(settings)] = Amount(
            str(settings.gpu.count), str(settings.gpu.count)
        )
    if accelerators and _claims_rdma(settings):
        amounts[settings.rdma_resource] = Amount(str(settings.rdma), str(settings.rdma))
    if not amounts:
        return None
    return pods.Resources(
        requests={name: each.request for name, each in amounts.items()},
        limits={name: each.limit for name, each in amounts.items()},
    )


def accelerator_resource(settings: Platform) -> str:
    """The extended resource that an accelerator is claimed as."""
    vendor = settings.gpu.vendor or "gpu"
    resource = settings.gpu_resource or VENDORS.get(vendor)
    if not resource:
        raise UsageError(
            f"GPU vendor {vendor!r} is unknown (--gpu or KFJ_TASK_RESOURCE_GPU)",
            f"write one of {', '.join(VENDORS)}, or name the resource in GPU_RESOURCE_NAME",
        )
    return resource


def _claims_rdma(settings: Platform) -> bool:
    return bool(settings.rdma and settings.rdma_resource)


def _security(settings: Platform) -> pods.SecurityContext | None:
    # Every accelerator of the node, unclaimed.
    privileged = True if settings.gpu.count == -1 else None
    locks = pods.Capabilities(add=["IPC_LOCK"]) if _claims_rdma(settings) else None  # pinned memory
    if privileged is None and locks is None:
        return None
    return pods.SecurityContext(privileged=privileged, capabilities=locks)
