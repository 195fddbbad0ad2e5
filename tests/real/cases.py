"""The examples with their real frameworks: how each is started, and what is promised of it."""

from dataclasses import dataclass, replace

from . import environments
from .environments import JAX, MPI, MXNET, PADDLE, TENSORFLOW, TORCH_OF_DEBIAN, Environment


@dataclass(frozen=True)
class Case:
    """One example, and one way to start it."""

    name: str
    """In the table."""
    environment: Environment
    framework: str
    """The command of dlf."""
    flags: tuple[str, ...]
    command: str
    """As the example's README has it, from the root of the project."""
    library: str
    """What trains, as the example's first line calls it before its version."""
    pods: tuple[str, ...]
    """The ends of the names of the pods that train: by rank, where ranks follow pods."""
    size: int
    """World size."""
    ordered: bool = True
    """The rank in the framework is the one that dlf counts by pods."""
    killed: int = 137
    """The exit code of a pod whose rank was killed."""


_MASTER_AND_WORKERS = ("master-0", "worker-0", "worker-1")
_WORKERS = ("worker-0", "worker-1")

TORCH = Case(
    name="PyTorch",
    environment=TORCH_OF_DEBIAN,
    framework="pytorch",
    flags=("--num_worker", "3"),
    command="python3 examples/pytorch/train.py",
    library="torch",
    pods=_MASTER_AND_WORKERS,
    size=3,
)
MPI4PY = Case(
    name="mpi4py",
    environment=MPI,
    framework="mpi",
    flags=("--num_worker", "2"),
    command="python3 -m mpi4py examples/mpi/train.py",
    library="mpi4py",
    pods=("launcher",),
    size=2,
    ordered=False,  # mpirun starts all ranks in one pod
)
PARAMETER_SERVERS = Case(
    name="TensorFlow, parameter servers",
    environment=TENSORFLOW,
    framework="tf",
    flags=("--num_chief", "1", "--num_ps", "1", "--num_worker", "2"),
    command="python3 examples/tf/parameter_server.py",
    library="TensorFlow",
    pods=("chief-0",),
    size=1,  # the chief counts, and the workers take its steps
)
SMALL = (
    TORCH,
    Case(
        name="PyTorch, torchrun",
        environment=TORCH_OF_DEBIAN,
        framework="pytorch",
        flags=("--num_worker", "3"),
        # Debian's torch 1.13 does not know its own defaults of these flags, with Python 3.11.
        command="torchrun --redirects 1 --tee 1 examples/pytorch/train.py",
        library="torch",
        pods=_MASTER_AND_WORKERS,
        size=3,
        killed=1,
    ),
    MPI4PY,
    Case(
        name="MXNet",
        environment=MXNET,
        framework="mxnet",
        flags=("--num_ps", "1", "--num_worker", "2"),
        command="python3 examples/mxnet/train.py",
        library="MXNet",
        pods=_WORKERS,
        size=2,
        ordered=False,  # ps-lite numbers workers as they come
    ),
    Case(
        name="PaddlePaddle",
        environment=PADDLE,
        framework="paddle",
        flags=("--num_worker", "3"),
        command="python3 -m paddle.distributed.launch examples/paddle/train.py",
        library="Paddle",
        pods=("worker-0", "worker-1", "worker-2"),
        size=3,
        killed=247,  # 256 - 9, by Paddle's launcher
    ),
    Case(
        name="TensorFlow",
        environment=TENSORFLOW,
        framework="tf",
        flags=("--num_worker", "2"),
        command="python3 examples/tf/train.py",
        library="TensorFlow",
        pods=_WORKERS,
        size=2,
    ),
    Case(
        name="JAX",
        environment=JAX,
        framework="jax",
        flags=("--num_worker", "2"),
        command="python3 examples/jax/train.py",
        library="jax",
        pods=_WORKERS,
        size=2,
    ),
    Case(
        name="Colossal-AI's ranks, PyTorch",
        environment=TORCH_OF_DEBIAN,
        framework="colossalai",
        flags=("--num_worker", "2"),
        command="python3 examples/colossalai/train.py",
        library="torch",
        pods=_WORKERS,
        size=2,
    ),
    Case(
        name="Megatron's ranks, PyTorch",
        environment=TORCH_OF_DEBIAN,
        framework="megatron",
        flags=("--cluster", "master=1,worker=2"),
        command="python3 examples/megatron/train.py",
        library="torch",
        pods=_MASTER_AND_WORKERS,
        size=3,
    ),
)
"""In every run."""
LARGE = (
    replace(TORCH, name="PyTorch of PyPI", environment=environments.TORCH),
    replace(
        TORCH,
        name="PyTorch of PyPI, torchrun",
        environment=environments.TORCH,
        command="torchrun examples/pytorch/train.py",
        killed=1,
    ),
    Case(
        name="DeepSpeed",
        environment=environments.DEEPSPEED,
        framework="deepspeed",
        flags=("--num_worker", "2"),
        command="python3 examples/deepspeed/train.py",
        library="DeepSpeed",
        pods=_WORKERS,
        size=2,
    ),
    Case(
        name="DeepSpeed, torchrun",
        environment=environments.DEEPSPEED,
        framework="deepspeed",
        flags=("--num_worker", "2"),
        command="python3 -m torch.distributed.run examples/deepspeed/train.py",
        library="DeepSpeed",
        pods=_WORKERS,
        size=2,
        killed=1,
    ),
    Case(
        name="DeepSpeed, deepspeed --no_ssh",
        environment=environments.DEEPSPEED,
        framework="deepspeed",
        flags=("--num_worker", "2", "--hostfile"),
        command="deepspeed --hostfile $DLF_WORKER_HOSTFILE --no_ssh --node_rank $VC_TASK_INDEX"
        " --master_addr $MASTER_ADDR --master_port $MASTER_PORT examples/deepspeed/train.py",
        library="DeepSpeed",
        pods=_WORKERS,
        size=2,
        killed=247,  # 256 - 9
    ),
    Case(
        name="Megatron",
        environment=environments.MEGATRON,
        framework="megatron",
        flags=("--cluster", "master=1,worker=2"),
        command="python3 examples/megatron/train.py",
        library="megatron-core",
        pods=_MASTER_AND_WORKERS,
        size=3,
    ),
    Case(
        name="Horovod, PyTorch",
        environment=environments.HOROVOD,
        framework="horovod",
        flags=("--num_worker", "2"),
        command="python3 examples/horovod/train.py",
        library="Horovod",
        pods=("launcher",),
        size=2,
        ordered=False,
    ),
    Case(
        name="MindSpore",
        environment=environments.MINDSPORE,
        framework="mindspore",
        flags=("--num_worker", "2"),
        command="python3 examples/mindspore/train.py",
        library="MindSpore",
        pods=_WORKERS,
        size=2,
    ),
    Case(
        name="MindFormers' msrun_launcher.sh, MindSpore",
        environment=environments.MINDSPORE,
        framework="mindformers",
        flags=("--num_worker", "2"),
        command="bash examples/mindformers/scripts/msrun_launcher.sh examples/mindformers/train.py",
        library="MindSpore",
        pods=("master-0", "worker-0"),
        size=2,
    ),
)
"""With `-m "real and large"`."""
