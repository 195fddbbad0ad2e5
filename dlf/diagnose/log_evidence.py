"""What the end of a container's log says of why it ended: the error, its traceback, its process.

A log ends in what came after the error: a launcher's own traceback, the errors of processes that
lost their peer, warnings at exit. So the rule is:

- A log of one process: its last traceback. Those before it were caught.
- A log of several processes: of the tracebacks that stand together at its end, the last of each
  process, the first that does not mark a victim; among several, that of the process that the
  launcher names. A launcher often names a victim: that alone does not decide.
- No traceback: a crash in native code, or what a shell or an interpreter says of a failed start.
- Else the launcher's own words, such as "Signal 9 (SIGKILL)"; else the error of a victim.
"""

import re
from collections.abc import Sequence

from dlf.diagnose.launchers import Blame, blame
from dlf.diagnose.tracebacks import Traceback, tracebacks
from dlf.diagnose.victims import marks_victim
from dlf.logs.readable import readable
from dlf.outcome.evidence import Evidence

_PREFIX = re.compile(
    r"\[rank(?P<torch>\d+)\]:[ ]?|\[[^\[\],\s]*,(?P<mpi>\d+)\]<std...>:[ ]?"
    r"|\[(?P<horovod>\d+)\]<std...>:|\[[A-Za-z][\w.-]*?(?P<local>\d+)\]:[ ]?"
)
# What only passes on that another process failed.
_WRAPPER = re.compile(
    r"(?:[\w.]+\.)?(?:ChildFailedError|CalledProcessError|ProcessRaisedException"
    r"|ProcessExitedException)\b|RuntimeError: Horovod detected that one or more processes"
    r"|Exception: *$|RuntimeError: mpirun failed"
)
# Each alternative begins with letters that are no choice: `re` then skips what begins otherwise.
_CRASH = re.compile(
    r"Fatal Python error: |terminate called after throwing|terminate called without"
    r"|Process received signal \*\*\*|Segmentation fault|segmentation fault|Bus error"
    r"|Illegal instruction|Floating point exception"
    r"|CUDA out of memory|HIP out of memory|NPU out of memory|CUDA_ERROR_OUT_OF_MEMORY"
    r"|OOM when allocating|RESOURCE_EXHAUSTED|std::bad_alloc|Cannot allocate memory"
    r"|Assertion `|double free or corruption|stack smashing detected"
    r"|can't open file |No module named |: command not found$|: not found$"
    r"|unable to find the specified executable|error while loading shared lib"
    r"|exec format error|Permission denied$|No space left on device"
    r"|Killed(?: \(core dumped\))?$|Aborted(?: \(core dumped\))?$"
)
_CRASH_LINE = re.compile(r"\S+: error: |\w*Error: `")
_ABORT = re.compile(r"Fatal Python error: Aborted|terminate called|(?:^|\s)Aborted\b")
_REPORTED_LINES = 20  # at the end of a log
_MAX_DISTANCE_LINES = 60  # between two tracebacks of one failure
_CRASH_SEARCH_LINES = 200  # at the end of a log, in which a crash or a lost peer is looked for
_MAX_STACK_LINES = 30  # of a native or faulthandler's stack
_SHOWN_TRACEBACK_LINES = 60  # of a traceback


def find_evidence(last_lines: Sequence[bytes]) -> Evidence:
    """The evidence in the end of a log.

    Args:
        last_lines: the last lines in order, without timestamps and newlines; as many as are kept.
    """
    lines = [readable(line) for line in last_lines]
    blamed = blame(lines)
    if found := _by_traceback(lines, blamed):
        return found
    lines = lines[-_CRASH_SEARCH_LINES:]
    texts = [_without_prefix(line) for line in lines]
    lost = next((index for index, text in enumerate(texts) if marks_victim(text)), None)
    if (at := _crash(texts)) is not None:
        is_abort = _ABORT.search(texts[at]) is not None
        is_victim = marks_victim(texts[at]) or (is_abort and lost is not None)
        rank, local = _ranks(lines[at])
        error, stack = _stack(texts, at)
        return _evidence(error, stack, rank, local, blamed, is_victim=is_victim, is_named=True)
    if blamed and blamed.error and (lost is None or blamed.exit_code in {-9, -11, -7}):
        return _evidence(blamed.error, (), None, None, blamed, is_victim=False, is_named=True)
    if lost is not None:
        rank, local = _ranks(lines[lost])
        return _evidence(texts[lost], (), rank, local, blamed, is_victim=True, is_named=False)
    return _evidence("", (), None, None, blamed, is_victim=False, is_named=True)


def shown(last_lines: Sequence[bytes]) -> tuple[bytes, ...]:
    """Those of the last lines that a report shows as they are."""
    return tuple(last_lines[-_REPORTED_LINES:])


def _by_traceback(lines: list[str], blamed: Blame | None) -> Evidence | None:
    found = tracebacks(lines)
    if blamed and blamed.source == "torchrun":
        recorded = _recorded(lines, blamed)
        found += [recorded] if recorded and not _own(found) else []
    # A launcher's own traceback is evidence only where no launcher says more.
    own = _own(found) or ([] if blamed else found[-1:])
    if not own:
        return None
    several = blamed is not None or len({each.prefix for each in own}) > 1
    together = _together(_last_of_each_process(own)) if several else own[-1:]
    chosen = min(
        together,
        key=lambda each: (marks_victim(each.error), not _is_named(each, blamed), each.start),
    )
    return _evidence(
        chosen.error,
        chosen.lines,
        chosen.rank,
        chosen.local_rank,
        blamed,
        is_victim=marks_victim(chosen.error),
        is_named=_is_named(chosen, blamed) or (len(together) == 1 and not chosen.prefix),
    )


def _own(found: list[Traceback]) -> list[Traceback]:
    """The tracebacks of processes, not those of launchers."""
    return [each for each in found if not _WRAPPER.match(each.error)]


def _recorded(lines: list[str], blamed: Blame) -> Traceback | None:
    """The traceback that torchrun took from the process's error file, indented by its block."""
    for at in range(blamed.line, min(blamed.line + 12, len(lines))):
        if "traceback : Traceback (most" in lines[at]:
            block = [line[2:] for line in lines[at + 1 :]]
            end = next(
                (i for i, line in enumerate(lines[at + 1 :]) if line[:2] == "=="), len(block)
            )
            found = tracebacks(["Traceback (most recent call last):", *block[:end]])
            return found[-1] if found else None
    return None


def _last_of_each_process(found: list[Traceback]) -> list[Traceback]:
    last = {each.prefix: each for each in found if each.prefix}
    return [each for each in found if not each.prefix or last[each.prefix] is each]


def _together(found: list[Traceback]) -> list[Traceback]:
    """Those at the end with no more than `_MAX_DISTANCE_LINES` lines between each other."""
    first = len(found) - 1
    while first and found[first].start - found[first - 1].end <= _MAX_DISTANCE_LINES:
        first -= 1
    return found[first:]


def _is_named(found: Traceback, blamed: Blame | None) -> bool:
    """Whether the launcher names the process of a traceback."""
    if not blamed:
        return False
    if found.rank is not None and blamed.rank is not None:
        return found.rank == blamed.rank
    return found.local_rank is not None and found.local_rank == blamed.local_rank


def _crash(texts: list[str]) -> int | None:
    """Index of the first line that tells a crash or a failed start."""
    return next((at for at, text in enumerate(texts) if _tells_crash(text)), None)


def _tells_crash(text: str) -> bool:
    return bool(_CRASH.search(text) or _CRASH_LINE.match(text))


def _stack(texts: list[str], at: int) -> tuple[str, tuple[str, ...]]:
    """The error of a crash, and what belongs to it."""
    following = texts[at + 1 : at + _MAX_STACK_LINES]
    if texts[at].startswith("terminate called"):
        what = next((text.strip() for text in following[:3] if "what():" in text), "")
        return f"{texts[at]} {what}".strip(), ()
    if not texts[at].startswith("Fatal Python error"):
        return texts[at], ()
    stack = [texts[at]]
    for text in following:
        if text and not text.startswith(("  ", "Current thread", "Thread ", "Python runtime")):
            break
        stack.append(text)
    return texts[at], tuple(stack)


def _without_prefix(line: str) -> str:
    while found := _PREFIX.match(line):
        line = line[found.end() :]
    return line


def _ranks(line: str) -> tuple[int | None, int | None]:
    """Global and local rank that the prefixes of a line tell."""
    rank, local = None, None
    while found := _PREFIX.match(line):
        line = line[found.end() :]
        written = found["torch"] or found["mpi"] or found["horovod"]
        rank = int(written) if written else rank
        local = int(found["local"]) if found["local"] else local
    return rank, local


def _evidence(
    error: str,
    stack: tuple[str, ...],
    rank: int | None,
    local: int | None,
    blamed: Blame | None,
    *,
    is_victim: bool,
    is_named: bool,
) -> Evidence:
    """The evidence, with what the launcher knows of the process if it is the one it names."""
    if len(stack) > _SHOWN_TRACEBACK_LINES:
        half = _SHOWN_TRACEBACK_LINES // 2
        gap = f"  ... {len(stack) - 2 * half} lines left out ..."
        stack = (*stack[:half], gap, *stack[-half:])
    known = blamed if is_named else None
    return Evidence(
        error=error,
        traceback=stack,
        process_rank=known.rank if known and rank is None else rank,
        local_rank=known.local_rank if known and local is None else local,
        process_exit_code=known.exit_code if known else None,
        error_file=known.error_file if known else "",
        source=blamed.source if blamed else "",
        is_victim=is_victim,
    )
