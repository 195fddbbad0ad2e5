"""From the rendered resource to processes: what the job's operator would create, on one machine."""

import re
from collections.abc import Callable

import msgspec

from dlf.local import mpi, mxnet, paddle, pytorch, tf, volcano
from dlf.local.network import Network
from dlf.local.process import PodProcess, Replica, expand, expand_all, pods_of, replicas
from dlf.local.rules import Rules
from dlf.manifest import kubeflow
from dlf.manifest.manifest import Manifest
from dlf.manifest.pods import PodTemplate
from dlf.manifest.volcano import VolcanoJobSpec


class Operator(msgspec.Struct, frozen=True):
    """What the kinds of training-operator differ in, once a job runs.

    Attributes:
        environment: the variables that it injects into a pod's containers.
        deciders: of these roles, the first that a job has decides: the job succeeds with it.
    """

    environment: Callable[[Replica, Network], dict[str, str]]
    deciders: tuple[str, ...]


_OPERATORS: dict[type[kubeflow.KubeflowSpec], Operator] = {
    kubeflow.PyTorchJobSpec: Operator(pytorch.environment, ("Master", "Worker")),
    kubeflow.PaddleJobSpec: Operator(paddle.environment, ("Master", "Worker")),
    kubeflow.TFJobSpec: Operator(tf.environment, ("Worker",)),  # successPolicy AllWorkers
    kubeflow.MXJobSpec: Operator(mxnet.environment, ("Scheduler",)),
}


class LocalJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job, ready to be started.

    Attributes:
        processes: in the order of ranks.
        rules: when the job is over.
        files: what has to be in the scratch directory: name and content.
        note: what differs from a cluster and should be told, or "".
    """

    processes: tuple[PodProcess, ...]
    rules: Rules
    files: dict[str, str] = {}
    note: str = ""


def local_job(
    manifest: Manifest, *, leader: str, allocate: Callable[[], int], scratch: str
) -> LocalJob:
    """The processes of a job.

    Args:
        manifest: the resource as it would be submitted.
        leader: the role whose pod 0 completes the job, or "" for the operator's own rule.
        allocate: returns a free port, another one each time.
        scratch: path of a directory for this job alone.
    """
    job, spec = manifest.metadata.name, manifest.spec
    network = Network(job, allocate)
    match spec:
        case VolcanoJobSpec():
            return _volcano(job, spec, network, leader, scratch)
        case kubeflow.MPIJobSpec():
            return _mpi(job, spec, network, scratch)
        case _:
            return _kubeflow(job, spec, network)


def _kubeflow(job: str, spec: kubeflow.KubeflowSpec, network: Network) -> LocalJob:
    operator = _OPERATORS[type(spec)]
    specs = kubeflow.replica_specs(spec)
    roles = {role: each.replicas for role, each in specs.items()}
    decider = next(role for role in operator.deciders if role in roles)
    return LocalJob(
        processes=tuple(
            _process(
                replica.pod,
                replica.role,
                replica.rank,
                specs[replica.role].template,
                network,
                operator.environment(replica, network),
            )
            for replica in replicas(job, roles)
        ),
        rules=Rules(
            succeed=(frozenset(pods_of(job, decider, roles[decider])),),
            fatal=frozenset(replica.pod for replica in replicas(job, roles)),
            restarts=_restarts(spec),
        ),
    )


def _restarts(spec: kubeflow.KubeflowSpec) -> int:
    """Restarts in place that a job survives: with as many as backoffLimit it has failed."""
    policies = {each.restart_policy for each in kubeflow.replica_specs(spec).values()}
    return max(spec.run_policy.backoff_limit - 1, 0) if policies == {"OnFailure"} else 0


def _mpi(job: str, spec: kubeflow.MPIJobSpec, network: Network, scratch: str) -> LocalJob:
    launcher, workers = spec.mpi_replica_specs["Launcher"], spec.mpi_replica_specs["Worker"]
    pod = f"{job}-launcher"
    injected = mpi.environment(f"{scratch}/{mpi.HOST_FILE}")
    process = _process(pod, "Launcher", None, launcher.template, network, injected)
    accelerators = _accelerators(workers.template)
    if accelerators > 0:
        accelerators *= workers.replicas
    return LocalJob(
        processes=(msgspec.structs.replace(process, accelerators=accelerators),),
        rules=Rules(succeed=(frozenset({pod}),), fatal=frozenset({pod})),
        files={mpi.HOST_FILE: mpi.host_file(workers.replicas * spec.slots_per_worker)},
        note=f"the {workers.replicas} workers are not started: the launcher starts all ranks here",
    )


def _volcano(
    job: str, spec: VolcanoJobSpec, network: Network, leader: str, scratch: str
) -> LocalJob:
    templates = {task.name: task.template for task in spec.tasks}
    roles = {task.name: task.replicas for task in spec.tasks}
    return LocalJob(
        processes=tuple(
            _process(
                replica.pod,
                replica.role,
                replica.rank,
                templates[replica.role],
                network,
                volcano.environment(replica, spec, scratch),
            )
            for replica in replicas(job, roles)
        ),
        rules=volcano.rules(job, spec, leader),
        files=volcano.host_files(roles),
    )


def _process(
    pod: str,
    role: str,
    rank: int | None,
    template: PodTemplate,
    network: Network,
    injected: dict[str, str],
) -> PodProcess:
    """A pod's first container; the operator's variables come after its own, and win."""
    container = template.spec.containers[0]
    variables = network.localize(expand_all(container.env)) | injected
    return PodProcess(
        pod=pod,
        role=role.lower(),
        rank=rank,
        container=container.name,
        argv=tuple(expand(word, variables) for word in container.command),
        env=variables,
        accelerators=_accelerators(template),
    )


def _given(template: PodTemplate) -> dict[str, str]:
    return {each.name: each.value or "" for each in template.spec.containers[0].env}


def _accelerators(template: PodTemplate) -> int:
    """GPU_NUM, which every training container is told, is what the task asks for."""
    number = _given(template).get("GPU_NUM", "")
    return int(number) if re.fullmatch("-1|[0-9]{1,4}", number) else 0
