"""How logs are followed and printed; the flags of these names are declared in `dlf.task`."""

import re

import msgspec

SIDECARS = frozenset(
    {
        "init-pytorch",
        "kubectl-delivery",
        "istio-init",
        "istio-proxy",
        "istio-validation",
        "linkerd-init",
        "linkerd-network-validator",
        "linkerd-proxy",
    }
)
"""Containers that operators and service meshes add to a pod: their logs are not the job's."""


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Plain values; all have the defaults of the command line.

    Attributes:
        log_format: `text` for `POD MESSAGE`, `json` for one object a line.
        log_ranks: ranks whose lines are all printed, negative from the end; empty for every rank.
        log_dir: directory that gets one file per container instance, or "".
        log_collapse: print a line that many pods repeat once, then how many repeated it.
        max_log_streams: logs read at the same time; the rest waits its turn.
        terminal: lines are for a terminal that moves its cursor: of progress bars their last state
            is shown, and unfinished lines are, too.
        colour: prefix each pod in a colour of its own.
        several_jobs: pods of more than one job are printed, so short prefixes name the job, too.
        prefix: what stands before each line of text: the `full` name of the pod, a `short` one such
            as `worker-3` (`JOB/worker-3` among several jobs), or `none`.
        timestamps: print the time of each line of text.
        include: print only lines that match one of these.
        exclude: do not print lines that match one of these.
        highlight: set off what matches these, where `colour` is on.
        container: read the containers whose names match, sidecars too; None for all but sidecars.
        since: print no lines before this RFC 3339 time, or "".
        tail: of what was written before, print only so many lines of each log; None for all.
        previous: read the log of the instance before the current one, and nothing else.
        follow: go on until the containers have ended; otherwise print what is there.
        skip_containers: names of containers whose logs are left out.
    """

    log_format: str = "text"
    log_ranks: tuple[int, ...] = ()
    log_dir: str = ""
    log_collapse: bool = False
    max_log_streams: int = 4096
    terminal: bool = False
    colour: bool = False
    several_jobs: bool = False
    prefix: str = "full"
    timestamps: bool = False
    include: tuple[re.Pattern[bytes], ...] = ()
    exclude: tuple[re.Pattern[bytes], ...] = ()
    highlight: tuple[re.Pattern[bytes], ...] = ()
    container: re.Pattern[bytes] | None = None
    since: str = ""
    tail: int | None = None
    previous: bool = False
    follow: bool = True
    skip_containers: frozenset[str] = SIDECARS

    def reads(self, container: str) -> bool:
        """Whether the logs of containers of this name are read."""
        if self.container:
            return bool(self.container.search(container.encode()))
        return container not in self.skip_containers
