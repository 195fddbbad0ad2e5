"""From the rendered resource to processes: what the job's operator would create, on one machine."""

import itertools
import re
from collections.abc import Callable

import msgspec

from dlf.build_info import self_command
from dlf.frameworks import kind_of
from dlf.local.addresses import HOST
from dlf.local.network import Network
from dlf.local.process import PodProcess, expand, expand_all, field_values, replicas
from dlf.local.rules import OperatorRules, kubeflow_rules, volcano_rules
from dlf.manifest.jobs import mpijob, volcano
from dlf.manifest.jobs.kind import JobKind, Replica
from dlf.manifest.jobs.volcano import VolcanoJobSpec
from dlf.manifest.manifest import Manifest
from dlf.manifest.pods import PodTemplate

TOKEN_VARIABLE, TOKEN = "DLF_TOKEN_FILE", "token"
"""The variable that names the job's secret to `dlf worker`, and the file that has it."""


class LocalJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job, ready to be started.

    Attributes:
        processes: in the order of ranks.
        rules: when the job is over.
        files: what has to be in the scratch directory: name and content.
        workers: pods without a process of their own, in which the launcher starts ranks by a
            remote shell; by address.
        note: what differs from a cluster and the user should know, or "".
    """

    processes: tuple[PodProcess, ...]
    rules: OperatorRules
    files: dict[str, str] = {}
    workers: tuple[tuple[str, PodProcess], ...] = ()
    note: str = ""


def local_job(
    manifest: Manifest,
    *,
    leader: str,
    new_host: Callable[[], str],
    new_port: Callable[[int], int],
    scratch: str,
    is_offline: bool = False,
) -> LocalJob:
    """The processes of a job.

    Args:
        manifest: the resource as it would be submitted.
        leader: the role whose pod 0 completes the job, or "" for the operator's own rule.
        new_host: returns the address of another pod.
        new_port: returns another port, the one it is given if that is free.
        scratch: path of a directory for this job alone.
        is_offline: this machine has no network but loopback.
    """
    job, spec, kind = manifest.metadata.name, manifest.spec, kind_of(manifest)
    if isinstance(spec, mpijob.MPIJobSpec):
        network = Network(job, new_host, new_port, scratch, is_offline=is_offline)
        return _mpi(job, spec, kind, network)
    if isinstance(spec, VolcanoJobSpec):
        templates = {task.name: task.template for task in spec.tasks}
        roles = {task.name: task.replicas for task in spec.tasks}
        rules = volcano_rules(job, spec, leader)
    else:
        templates = {role: each.template for role, each in spec.replica_specs.items()}
        roles = {role: each.replicas for role, each in spec.replica_specs.items()}
        rules = kubeflow_rules(job, spec, kind)
    pods = replicas(job, roles)
    # A pod that is alone needs no address of its own, and some launchers know 127.0.0.1 only.
    network = Network(job, new_host if len(pods) > 1 else lambda: HOST, new_port, scratch)
    for replica in pods:
        network.host(replica.pod)  # addresses in the order of ranks
    unranked = kind.unranked(manifest.metadata.annotations)
    return LocalJob(
        processes=tuple(
            _process(
                replica,
                replica.pod,
                replica.rank_among(unranked),
                templates[replica.role],
                network,
                kind.environment(replica, network),
            )
            for replica in pods
        ),
        rules=rules,
        files=volcano.host_files(job, roles, network) if kind == volcano.VOLCANO_JOB else {},
    )


def _mpi(job: str, spec: mpijob.MPIJobSpec, kind: JobKind, network: Network) -> LocalJob:
    templates = {role: each.template for role, each in spec.mpi_replica_specs.items()}
    roles = {role: each.replicas for role, each in spec.mpi_replica_specs.items()}
    pods = replicas(job, {"Worker": roles["Worker"]})
    addresses = [network.host(replica.pod) for replica in pods]
    launcher, *workers = (
        _process(
            replica, pod, None, templates[replica.role], network, kind.environment(replica, network)
        )
        for replica, pod in (
            (Replica(job, roles, "Launcher", 0), f"{job}-launcher"),
            *((replica, replica.pod) for replica in pods),
        )
    )
    # A launcher that starts ranks itself, as Open MPI 5 does here, needs all that they need.
    accelerators = workers[0].accelerators * (len(workers) if workers[0].accelerators > 0 else 1)
    return LocalJob(
        processes=(msgspec.structs.replace(launcher, accelerators=accelerators),),
        rules=OperatorRules(succeed=(frozenset({launcher.pod}),), fatal=frozenset({launcher.pod})),
        files=mpijob.host_files(addresses, spec.slots_per_worker),
        workers=tuple(zip(addresses, workers, strict=True)),
        note=f"the {len(workers)} workers are started by mpirun, for its ranks",
    )


def _process(
    replica: Replica,
    pod: str,
    rank: int | None,
    template: PodTemplate,
    network: Network,
    injected: dict[str, str],
) -> PodProcess:
    """A pod's first container; the operator's variables come after its own, and win."""
    container = template.spec.containers[0]
    given = network.localize(expand_all(container.env))
    variables = given | field_values(container.env, replica) | injected
    argv = tuple(expand(word, variables) for word in container.command)
    if argv[1:2] == ("worker",):  # brought by an init container, or part of the image
        argv = _with_own_worker(argv)
        variables[TOKEN_VARIABLE] = f"{network.directory}/{TOKEN}"
    return PodProcess(
        pod=pod,
        role=replica.role.lower(),
        rank=rank,
        container=container.name,
        argv=argv,
        programs=(*{"mpirun"}.intersection(argv), argv[0]),
        env=variables,
        accelerators=_accelerators(template),
    )


def _with_own_worker(argv: tuple[str, ...]) -> tuple[str, ...]:
    """This dlf in place of the container's, also where mpirun starts it for each rank."""
    called = [pair == (argv[0], "worker") for pair in itertools.pairwise((*argv, ""))]
    return tuple(
        part
        for word, is_worker in zip(argv, called, strict=True)
        for part in (self_command() if is_worker else (word,))
    )


def _given(template: PodTemplate) -> dict[str, str]:
    return {each.name: each.value or "" for each in template.spec.containers[0].env}


def _accelerators(template: PodTemplate) -> int:
    """The accelerators that the task asks for: GPU_NUM, which every training container has."""
    number = _given(template).get("GPU_NUM", "")
    return int(number) if re.fullmatch("-1|[0-9]{1,4}", number) else 0
