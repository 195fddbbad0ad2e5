"""Whose log it is that the API server gives: it is asked for by names, which outlive instances."""

from dlf.errors import DlfError, Rejected
from dlf.logs.instances import instances
from dlf.logs.source import LogSource
from dlf.logs.target import Target
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod


async def is_served(source: LogSource, target: Target, *, previous: bool) -> bool:
    """Whether this instance's log is what its pod's and container's names stand for now.

    Args:
        source: of the log.
        target: the instance.
        previous: the log is asked for as that of the instance before the current one.

    Returns:
        True also when that can never be found out, since pods may not be read; False when it could
        not be found out this time.
    """
    try:
        pod = await source.get(POD, target.namespace, target.pod, Pod)
    except DlfError as error:
        return isinstance(error, Rejected) and error.status == 403
    return any(
        each.id == target.instance and each.previous == previous
        for each in (instances(pod) if pod else ())
    )
