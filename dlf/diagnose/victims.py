"""Error messages that mark a victim: a process that lost a peer, or that another one stopped.

They tell that some other process ended or hangs, not why. From the sources of NCCL, gloo, torch,
gRPC, TensorFlow, Horovod, Open MPI and Paddle.
"""

import re

# Each alternative begins with letters that are no choice: `re` then skips what begins otherwise.
_VICTIM = re.compile(
    # NCCL and torch's process group
    r"remote process exited or there was a network error|ncclRemoteError"
    r"|NCCL communicator was aborted|onnection closed by (?:remote )?peer"
    r"|collective operation timeout|Timed out waiting \d+ms for (?:recv|send)"
    r"|failed to pass monitoredBarrier|watchdog thread terminated with exception"
    r"|NET/IB ?: ?Got completion .*with error"
    # sockets of gloo, of torch's store and of rendezvous
    r"|Connection reset by (?:remote )?peer|DistStoreError|DistNetworkError"
    r"|RendezvousConnectionError|RendezvousClosedError|recvValue failed|failed to recv, got 0 bytes"
    r"|gloo/transport/.*(?:Broken pipe|timed out|Timed out|TIMEOUT)"
    r"|ConnectionResetError|BrokenPipeError"
    # gRPC and TensorFlow
    r"|errors_impl\.(?:Unavailable|Aborted|Cancelled)Error|StatusCode\.UNAVAILABLE|Socket closed"
    r"|failed to connect to (?:all addresses|remote host)|Collective ops is aborted"
    r"|oordination service.*(?:heartbeat|unhealthy|shut|disconnect|unreachable)"
    # Horovod and Open MPI
    r"|HorovodInternalError|Horovod has been shut down|peer process has unexpectedly disconnected"
    r"|MPI_ERR_PROC_FAILED|ORTE has lost communication with a remote daemon"
    # stopped by another process, most often a launcher that saw a sibling fail
    r"|SignalException: Process \d+ got signal: (?:15|2|1)\b|KeyboardInterrupt$"
    r"|`Termination signal` is detected|Received Signals\.SIGTERM"
)


def marks_victim(text: str) -> bool:
    """Whether the text is the error of a process whose peer was lost, or that was stopped."""
    return _VICTIM.search(text) is not None
