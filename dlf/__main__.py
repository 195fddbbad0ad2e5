"""The process edge: argv, environment, streams and signals in, an exit code out.

The only place that exits. A second SIGINT or SIGTERM ends the process at once, without clean-up.
"""

import contextlib
import io
import os
import stat
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NoReturn, TextIO

from dlf.cli import main
from dlf.edge import Edge
from dlf.errors import DlfError, ExitCode, Interrupted, OutputFailed
from dlf.footer import Footer

_MAX_COLUMNS = 100  # longer lines are hard to read
_MIN_COLUMNS = 40  # narrower terminals wrap the lines themselves
_DEFAULT_COLUMNS = 80  # when stdout is not a terminal, or one that does not know its size


def run() -> NoReturn:
    """Run dlf as this process."""
    _open_streams()
    code = _guarded(sys.argv)
    try:
        sys.stderr.flush()
    except (OSError, ValueError):  # at its exit Python would fail again, and make it 120
        _discard_rest(sys.stderr)
    sys.exit(code)


def _open_streams() -> None:
    """Give a standard stream that the caller has closed (`>&-`) to /dev/null.

    Otherwise the next file that is opened gets its number, and receives what is printed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            os.set_inheritable(descriptor, True)
    # What no encoding can carry is printed as an escape.
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _guarded(argv: list[str]) -> int:
    try:
        return main(argv, _edge())
    except DlfError as error:
        _notify(error.message + (f"; {error.hint}" if error.hint else ""))
        return error.exit_code
    except BrokenPipeError:
        return ExitCode.SUCCEEDED
    except KeyboardInterrupt:
        return ExitCode.SIGINT
    except Exception:
        import traceback

        with contextlib.suppress(OSError, ValueError):  # stderr may be full or closed, too
            traceback.print_exc()
        _notify("this is a bug in dlf; please report it with the lines above")
        return ExitCode.BUG


def _footers() -> tuple[Footer | None, Footer | None]:
    """What stands below the lines of stdout, and below those of stderr; one for a terminal."""
    out, err = sys.stdout.fileno(), sys.stderr.fileno()
    to_terminal, told_on_terminal = os.isatty(out), os.isatty(err)
    if not (to_terminal or told_on_terminal) or os.environ.get("TERM", "dumb") == "dumb":
        return None, None
    mode = os.fstat(out).st_mode
    try:
        if to_terminal:
            is_same = told_on_terminal and os.fstat(out).st_rdev == os.fstat(err).st_rdev
            footer = Footer(out)
            return footer, footer if is_same else None
        # What reads a pipe may write to this terminal, too.
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return None, Footer(err)
    except OSError:
        pass
    return None, None


def _edge() -> Edge:
    of_lines, of_notices = _footers()
    notify = partial(_notify, footer=of_notices)
    return Edge(
        env=os.environ,
        out=_print,
        notify=notify,
        stdout=sys.stdout.fileno(),
        terminal=sys.stdout.isatty(),
        width=_width(),
        run=partial(_run_coroutine, notify, of_lines or of_notices),
        token=lambda digits: os.urandom((digits + 1) // 2).hex()[:digits],
        footer=of_lines,
        show_status=of_notices.show_status if of_notices else None,
    )


def _print(text: str) -> None:
    """Write to stdout, at once.

    Raises:
        OutputFailed: it cannot be written.
        BrokenPipeError: its reader has gone.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _discard_rest(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise
        raise OutputFailed(f"cannot write to standard output: {error.strerror}") from None


def _discard_rest(stream: TextIO) -> None:
    """What is still buffered goes nowhere, or each further flush would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _notify(line: str, footer: Footer | None = None) -> None:
    """Print one line to stderr. An error of stderr is ignored: there is nowhere to report it."""
    erasure = footer.erasure.decode() if footer else ""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{erasure}dlf: {' '.join(line.splitlines())}\n")
        sys.stderr.flush()
    if footer:
        footer.erased()
        footer.draw()


def _width() -> int:
    """Columns for text; a terminal that does not know its size says 0."""
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        columns = 0
    return min(max(columns or _DEFAULT_COLUMNS, _MIN_COLUMNS), _MAX_COLUMNS)


def _run_coroutine(
    notify: Callable[[str], None], footer: Footer | None, work: Coroutine[Any, Any, Any]
) -> Any:
    """Run it to its end in an event loop; the first signal cancels it, so that it can clean up.

    Raises:
        Interrupted: the work was cancelled by a signal.
    """
    import asyncio
    import gc
    import signal

    gc.freeze()  # imported modules live to the end: keep the collector from scanning them
    stopped: list[ExitCode] = []

    async def guarded() -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

        def stop(code: ExitCode) -> None:
            if stopped:
                if footer:
                    footer.clear()
                os._exit(code)
            stopped.append(code)
            notify(f"{code.name} received; stopping (once more to stop at once)")
            task.cancel()

        loop.add_signal_handler(signal.SIGINT, stop, ExitCode.SIGINT)
        loop.add_signal_handler(signal.SIGTERM, stop, ExitCode.SIGTERM)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(signal.SIGHUP, stop, ExitCode.SIGTERM)  # the terminal has gone
        try:
            return await task
        except asyncio.CancelledError:
            if stopped:
                raise Interrupted(stopped[0]) from None
            raise

    try:
        return asyncio.run(guarded())
    finally:
        if footer:
            footer.clear()


if __name__ == "__main__":
    run()
