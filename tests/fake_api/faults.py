"""What goes wrong, as tests script it."""

import asyncio
import re
from dataclasses import dataclass


@dataclass(eq=False)
class Fault:
    """Something that happens to requests instead of an answer. The first fault that fits is used.

    Attributes:
        verb: RBAC verb, or `log`; "" for any.
        path: regular expression found in path and query.
        times: how many requests; None for no limit.
        seconds: for how long from `add` on, on the loop's clock; None for no limit.
        status: answer with this HTTP status.
        message: of the Status object.
        body: answer with these bytes instead of a Status object.
        retry_after: seconds in the Retry-After header.
        headers: more headers.
        close: drop the connection without an answer.
        stall: read the request, and never answer.
        done_first: the request takes effect before this happens: its answer is lost.
    """

    verb: str = ""
    path: str = ""
    times: int | None = 1
    seconds: float | None = None
    status: int = 0
    message: str = "something is wrong"
    body: bytes | None = None
    retry_after: int | None = None
    headers: dict[str, str] | None = None
    close: bool = False
    stall: bool = False
    done_first: bool = False
    until: float | None = None


class Faults:
    """The faults that are still to happen."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """Let this happen from now on."""
        if fault.seconds is not None:
            fault.times = None
            fault.until = asyncio.get_running_loop().time() + fault.seconds
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._faults.clear()

    def take(self, verb: str, path: str) -> Fault | None:
        """The fault for this request, used up by one."""
        now = asyncio.get_running_loop().time()
        self._faults = [f for f in self._faults if f.until is None or now < f.until]
        for fault in self._faults:
            if fault.verb in ("", verb) and re.search(fault.path, path):
                if fault.times is not None:
                    fault.times -= 1
                    if not fault.times:
                        self._faults.remove(fault)
                return fault
        return None
