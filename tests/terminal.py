"""One command in this process, away from any cluster, as a terminal shows it."""

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from dlf.cli import main
from dlf.edge import Edge
from dlf.errors import DlfError, ExitCode, Interrupted


@dataclass(frozen=True)
class Screen:
    """What a command left: its exit code, its stdout, and the lines of its stderr."""

    code: ExitCode
    out: str
    notes: list[str]


def run(
    *words: str, env: dict[str, str] | None = None, width: int = 80, loop: bool = True
) -> Screen:
    """Run the words, the program's name first, as far as they need no event loop.

    What would run in one is an error of the test, or, without `loop`, stopped as by SIGINT.
    """
    out: list[str] = []
    notes: list[str] = []
    edge = Edge(
        env=env or {},
        out=out.append,
        notify=notes.append,
        stdout=1,
        terminal=False,
        width=width,
        run=_refuse if loop else _interrupt,
        token=lambda digits: "ab12ab12ab12ab12"[:digits],
    )
    try:
        code = main(words, edge)
    except DlfError as error:
        code = error.exit_code
        notes.append(error.message + (f"; {error.hint}" if error.hint else ""))
    return Screen(ExitCode(code), "".join(out), notes)


def _interrupt(work: Coroutine[Any, Any, Any]) -> Any:
    work.close()
    raise Interrupted(ExitCode.SIGINT)


def _refuse(work: Coroutine[Any, Any, Any]) -> Any:
    work.close()
    raise AssertionError("this command is not run in a test without a cluster")
