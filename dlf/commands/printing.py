"""From flags to log options, for every command that prints logs."""

from collections.abc import Mapping

from dlf.logs.options import LogOptions
from dlf.task.options import Logs


def log_options(
    flags: Logs, env: Mapping[str, str], *, terminal: bool, ranks: int, follow: bool = True
) -> LogOptions:
    """The options of the multiplexer.

    Args:
        flags: as parsed.
        env: NO_COLOR and CLICOLOR_FORCE decide on colour beside the terminal.
        terminal: whether stdout is one.
        ranks: how many ranks the job has; negative ranks count from there.
        follow: go on until the containers have ended.
    """
    forced = env.get("CLICOLOR_FORCE", "0") not in {"", "0"}
    return LogOptions(
        log_format=flags.log_format,
        log_ranks=flags.log_ranks,
        log_dir=flags.log_dir,
        log_collapse=flags.log_collapse,
        max_log_streams=flags.max_log_streams,
        colour=forced or (terminal and not env.get("NO_COLOR")),
        ranks=ranks,
        follow=follow,
    )
