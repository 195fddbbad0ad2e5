"""What the end of a container's log says of why it ended."""

import msgspec


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The error that ended a container, as its log tells it.

    Attributes:
        error: the exception's first line, or the line of a crash or of a launcher; "" when the log
            says nothing.
        traceback: the traceback that ends in it, without the prefixes of processes; may be empty.
        process_rank: global rank of the process, or None where nothing tells it. A container may
            run several processes, and the log of an MPI launcher is that of all ranks.
        local_rank: rank of the process among those of its container, or None.
        process_exit_code: exit code of the process; -9 for one that SIGKILL ended.
        error_file: file in the container to which the process wrote its error, or "".
        source: the launcher that names the process: `torchrun`, `mpirun`, `horovodrun`,
            `paddle.distributed.launch`, `torch.multiprocessing`; or "".
        is_victim: the log shows only that a peer was lost or that another one stopped it.
    """

    error: str = ""
    traceback: tuple[str, ...] = ()
    process_rank: int | None = None
    local_rank: int | None = None
    process_exit_code: int | None = None
    error_file: str = ""
    source: str = ""
    is_victim: bool = False
