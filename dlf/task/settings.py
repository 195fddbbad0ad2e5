"""Every setting of dlf, in groups that the commands combine; help and docs come from here.

It is long because it is one table of all flags and variables.
"""

import re
from typing import Annotated, TypeAlias

import msgspec

from dlf.task import placement, resources, scalars, worker_flags
from dlf.task.flag import Flag
from dlf.task.mounts import Mount, mounts


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster."""

    namespace: Annotated[
        str,
        Flag("namespace of the job", scalars.dns_label, "KFJ_NAMESPACE", "NAME", short="-n"),
    ] = ""
    kubeconfig: Annotated[
        str,
        Flag(
            "kubeconfig file; default: KUBECONFIG, the pod's own account, ~/.kube/config",
            metavar="FILE",
        ),
    ] = ""
    context: Annotated[str, Flag("kubeconfig context", metavar="NAME")] = ""
    api_outage: Annotated[
        float,
        Flag(
            "how long an API server that is out of reach is waited for",
            scalars.duration,
            metavar="TIME",
        ),
    ] = 1800.0
    verbose: Annotated[bool, Flag("say more on stderr", scalars.switch, form="switch")] = False


DryRun: TypeAlias = Annotated[
    str,
    Flag(
        "only print the resource; --dry-run=server lets the API server check it too",
        scalars.choice("client", "server"),
        metavar="client|server",
        name="dry-run",
        form="optional",
    ),
]
Detach: TypeAlias = Annotated[
    bool,
    Flag(
        "submit the job, print its name, and end; dlf logs JOB goes on",
        scalars.switch,
        form="switch",
        short="-d",
    ),
]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with the rendered resource."""

    runtime: Annotated[
        str,
        Flag(
            "where to run: in a cluster, or as processes on this machine",
            scalars.choice("kubernetes", "local"),
            metavar="kubernetes|local",
        ),
    ] = "kubernetes"
    dry_run: DryRun = ""
    detach: Detach = False
    output: Annotated[
        str,
        Flag(
            "form of what --dry-run prints",
            scalars.choice("yaml", "json"),
            metavar="yaml|json",
            short="-o",
        ),
    ] = "yaml"
    backend: Annotated[
        str,
        Flag(
            "operator to use where a framework has a choice",
            scalars.choice("auto", "kubeflow", "volcano"),
            metavar="auto|kubeflow|volcano",
        ),
    ] = "auto"


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True):
    """Earlier jobs, stops and time limits."""

    on_existing: Annotated[
        str,
        Flag(
            "what to do with an earlier job of this task",
            scalars.choice("auto", "attach", "replace", "fail"),
            metavar="auto|attach|replace|fail",
        ),
    ] = "auto"
    on_exit: Annotated[
        str,
        Flag(
            "what to do with the job when dlf is stopped or a time limit is reached",
            scalars.choice("auto", "delete", "keep"),
            metavar="auto|delete|keep",
        ),
    ] = "auto"
    no_owner: Annotated[
        bool,
        Flag("do not make this launcher's pod the owner of the job", scalars.switch, form="switch"),
    ] = False
    start_timeout: Annotated[
        float,
        Flag(
            "time until all pods have started, image pulls included",
            scalars.duration,
            metavar="TIME",
        ),
    ] = 3600.0
    timeout: Annotated[
        float, Flag("time for the whole job; none by default", scalars.duration, metavar="TIME")
    ] = 0.0
    hang_timeout: Annotated[
        float,
        Flag(
            "time without any log line or change after which a running job has hung; none by"
            " default",
            scalars.duration,
            metavar="TIME",
        ),
    ] = 0.0
    strict: Annotated[
        bool,
        Flag(
            "exit 1 when the job succeeded but one of its pods did not",
            scalars.switch,
            form="switch",
        ),
    ] = False
    report: Annotated[str, Flag("write the result as JSON to this file", metavar="FILE")] = ""


class Logs(msgspec.Struct, frozen=True, kw_only=True):
    """How the pods' log lines are printed."""

    log_format: Annotated[
        str,
        Flag(
            "`POD MESSAGE`, or one JSON object a line",
            scalars.choice("text", "json"),
            metavar="text|json",
        ),
    ] = "text"
    prefix: Annotated[
        str,
        Flag(
            "what stands before each line: the pod's name, a short one such as worker-3, nothing",
            scalars.choice("full", "short", "none"),
            metavar="full|short|none",
        ),
    ] = "full"
    timestamps: Annotated[
        bool,
        Flag("print the time of each line", scalars.switch, form="switch", short="-t"),
    ] = False
    include: Annotated[
        tuple[re.Pattern[bytes], ...],
        Flag(
            "print only lines that match; may be repeated, for lines that match either",
            scalars.pattern,
            metavar="REGEX",
            form="repeat",
            short="-i",
        ),
    ] = ()
    exclude: Annotated[
        tuple[re.Pattern[bytes], ...],
        Flag(
            "do not print lines that match; may be repeated",
            scalars.pattern,
            metavar="REGEX",
            form="repeat",
            short="-e",
        ),
    ] = ()
    highlight: Annotated[
        tuple[re.Pattern[bytes], ...],
        Flag(
            "set off what matches, on a terminal; may be repeated",
            scalars.pattern,
            metavar="REGEX",
            form="repeat",
            short="-H",
        ),
    ] = ()
    container: Annotated[
        re.Pattern[bytes] | None,
        Flag(
            "read the containers whose names match; default: all but known sidecars",
            scalars.pattern,
            metavar="REGEX",
            short="-c",
        ),
    ] = None
    log_ranks: Annotated[
        tuple[int, ...],
        Flag(
            "print these ranks only (-1 is the last), and errors of any",
            scalars.ranks,
            metavar="RANKS",
        ),
    ] = ()
    log_dir: Annotated[
        str, Flag("also write one file per container into this directory", metavar="DIR")
    ] = ""
    log_collapse: Annotated[
        bool,
        Flag("print a line that many ranks repeat only once", scalars.switch, form="switch"),
    ] = False
    max_log_streams: Annotated[
        int,
        Flag(
            "logs followed at the same time; the rest waits its turn", scalars.count(1), metavar="N"
        ),
    ] = 4096


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    """What the platform says of the task in its variables: ids, resources, placement."""

    run_id: Annotated[
        str, Flag("id of the pipeline run; label `run-id`", variable="KFJ_RUN_ID", form="variable")
    ] = ""
    task_id: Annotated[
        str, Flag("id of the task; label `task-id`", variable="KFJ_TASK_ID", form="variable")
    ] = ""
    task_name: Annotated[
        str, Flag("name of the task; label `task-name`", variable="KFJ_TASK_NAME", form="variable")
    ] = ""
    pipeline_id: Annotated[
        str,
        Flag(
            "id of the pipeline; label `pipeline-id`", variable="KFJ_PIPELINE_ID", form="variable"
        ),
    ] = ""
    pipeline_name: Annotated[
        str,
        Flag(
            "name of the pipeline; label `pipeline-name`, and part of the job's name",
            variable="KFJ_PIPELINE_NAME",
            form="variable",
        ),
    ] = ""
    creator: Annotated[
        str,
        Flag(
            "owner of the pipeline; label `pipeline-username`, sub-path of personal volumes",
            scalars.path_segment,
            "KFJ_CREATOR",
            form="variable",
        ),
    ] = ""
    runner: Annotated[
        str,
        Flag(
            "who started the run; labels `run-username`, `username`",
            variable="KFJ_RUNNER",
            form="variable",
        ),
    ] = ""
    project: Annotated[
        str, Flag("annotation `project`", variable="KFJ_TASK_PROJECT_NAME", form="variable")
    ] = "public"
    cpu: Annotated[
        resources.Amount | None,
        Flag(
            "CPU of each pod: a quantity, or MIN~MAX; a type in brackets after it is ignored",
            resources.cpu,
            "KFJ_TASK_RESOURCE_CPU",
            metavar="AMOUNT",
        ),
    ] = None
    memory: Annotated[
        resources.Amount | None,
        Flag(
            "memory of each pod: a quantity, or MIN~MAX",
            resources.amount,
            "KFJ_TASK_RESOURCE_MEMORY",
            metavar="AMOUNT",
        ),
    ] = None
    role: Annotated[
        tuple[resources.RoleResources, ...],
        Flag(
            "CPU, memory and GPUs of one role, such as worker:cpu=4,memory=8Gi or ps:gpu=0; may be"
            " repeated",
            resources.role_resources,
            metavar="ROLE:AMOUNTS",
            form="repeat",
        ),
    ] = ()
    gpu: Annotated[
        resources.Gpu,
        Flag(
            "GPUs of each pod: 2, 1(V100), 1(npu), 1(vendor,MODEL), -1 to share all of a node",
            resources.gpu,
            "KFJ_TASK_RESOURCE_GPU",
            metavar="N",
        ),
    ] = resources.Gpu()
    gpu_resource: Annotated[
        str,
        Flag(
            "resource that a GPU is claimed as; default: the vendor's",
            resources.resource_name,
            "GPU_RESOURCE_NAME",
            metavar="RESOURCE",
        ),
    ] = ""
    rdma: Annotated[
        int,
        Flag(
            "RDMA devices of each pod",
            resources.device_count,
            "KFJ_TASK_RESOURCE_RDMA",
            metavar="N",
        ),
    ] = 0
    rdma_resource: Annotated[
        str,
        Flag(
            "resource that an RDMA device is claimed as; none is claimed without it",
            resources.resource_name,
            "RDMA_RESOURCE_NAME",
            metavar="RESOURCE",
        ),
    ] = ""
    node_selector: Annotated[
        dict[str, tuple[str, ...]],
        Flag(
            "node labels, `key=value` separated by commas; `org=a,b` allows both",
            placement.node_selector,
            "KFJ_TASK_NODE_SELECTOR",
            metavar="LABELS",
            join=",",
        ),
    ] = msgspec.field(default_factory=lambda: {"cpu": ("true",), "train": ("true",)})
    volumes: Annotated[
        tuple[Mount, ...],
        Flag(
            "volumes, `SOURCE(kind):/path` separated by commas",
            mounts,
            "KFJ_TASK_VOLUME_MOUNT",
            metavar="VOLUMES",
            name="volume",
            join=",",
        ),
    ] = ()
    toleration: Annotated[
        tuple[placement.ToleratedTaint, ...],
        Flag(
            "taints that pods tolerate, `KEY[=VALUE][:EFFECT]` separated by commas",
            placement.tolerations,
            metavar="TAINTS",
            join=",",
        ),
    ] = ()
    shm_size: Annotated[
        str,
        Flag("limit of the memory at /dev/shm", resources.quantity, metavar="AMOUNT"),
    ] = ""
    service_account: Annotated[
        str, Flag("service account of the pods", scalars.object_name, metavar="NAME")
    ] = ""
    host_network: Annotated[
        bool, Flag("use the nodes' network, not the pods'", scalars.switch, form="switch")
    ] = False
    inject_sidecars: Annotated[
        bool,
        Flag(
            "let Istio and Linkerd add their proxies to the pods",
            scalars.switch,
            form="switch",
        ),
    ] = False
    pull_secrets: Annotated[
        tuple[str, ...],
        Flag(
            "image pull secrets, separated by commas",
            scalars.object_names,
            "HUBSECRET",
            form="variable",
        ),
    ] = ("hubsecret",)
    pull_policy: Annotated[
        str,
        Flag(
            "image pull policy",
            scalars.choice("Always", "IfNotPresent", "Never"),
            "IMAGE_PULL_POLICY",
            form="variable",
        ),
    ] = "IfNotPresent"
    default_resources: Annotated[
        dict[str, str],
        Flag(
            "more resources of each pod, a JSON object",
            resources.extra_resources,
            "DEFAULT_POD_RESOURCES",
            form="variable",
        ),
    ] = msgspec.field(default_factory=dict)
    scheduler: Annotated[
        str, Flag("scheduler of Kubeflow jobs", scalars.object_name, "SCHEDULER", form="variable")
    ] = "default-scheduler"


class TaskSettings(Platform, frozen=True, kw_only=True):
    """The training task. Each framework extends it with its own flags and defaults."""

    image: Annotated[
        str, Flag("image of the training containers", scalars.image, "KFJ_TASK_IMAGES", "IMAGE")
    ] = ""
    working_dir: Annotated[
        str, Flag("directory the command runs in", scalars.text, metavar="DIR")
    ] = "/mnt/"
    command: Annotated[
        str, Flag("what to run, by `bash -c`", scalars.text, metavar="COMMAND", verbatim=True)
    ] = "python3 mnist.py"
    env: Annotated[
        tuple[tuple[str, str], ...],
        Flag(
            "variable of every training container; may be repeated",
            scalars.assignment,
            metavar="NAME=VALUE",
            verbatim=True,
            form="repeat",
        ),
    ] = ()
    priority_class: Annotated[
        str, Flag("PriorityClass of the pods", scalars.object_name, metavar="NAME")
    ] = ""
    queue: Annotated[str, Flag("Volcano queue of the job", scalars.object_name, metavar="NAME")] = (
        ""
    )
    max_retry: Annotated[
        int,
        Flag("how often the operator may restart what failed", scalars.count(0), metavar="N"),
    ] = 0
    worker: worker_flags.Worker = "auto"
    worker_image: worker_flags.WorkerImage = ""
    processes: worker_flags.Processes = 1
    process_env: worker_flags.ProcessEnv = ""
    grace: worker_flags.Grace = worker_flags.GRACE_SECONDS
    wait_peers: worker_flags.WaitPeers = False
    wait_timeout: worker_flags.WaitTimeout = worker_flags.WAIT_TIMEOUT_SECONDS
    hostfile: worker_flags.Hostfile = ""
    hostfile_form: worker_flags.HostfileForm = "slots"
    slots: worker_flags.Slots = 0
    remote: worker_flags.Remote = False
    remote_port: worker_flags.RemotePort = worker_flags.REMOTE_PORT
    token_file: worker_flags.TokenFile = worker_flags.TOKEN_FILE
    stacks: worker_flags.Stacks = False
    ttl: Annotated[
        float,
        Flag(
            "time after its end at which the operator deletes the job; never by default",
            scalars.duration,
            metavar="TIME",
        ),
    ] = 0.0
    clean_pod_policy: Annotated[
        str,
        Flag(
            "pods that the operator deletes when a Kubeflow job has ended",
            scalars.choice("None", "Running", "All"),
            metavar="None|Running|All",
        ),
    ] = ""


class Workers(TaskSettings, frozen=True, kw_only=True):
    """A task whose size is a number of workers."""

    num_worker: Annotated[int, Flag("workers", scalars.count(1), metavar="N")] = 3
