"""Finds the Python tracebacks in the last lines of a log that several processes may write to.

Launchers put a prefix before each line of a process: `[rank1]: ` (torch), `[default1]:` (torchrun
--tee), `[1,1]<stderr>:` (mpirun --tag-output), `[1]<stderr>:` (horovodrun), `worker-1: ` (pdsh).
What stands before "Traceback" is such a prefix if lines that follow begin with it, too; then only
those belong to the traceback. Else it is the rest of a line that did not end, as of a progress bar.
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

_HEADER = "Traceback (most recent call last):"
_GROUP = "+ Exception Group Traceback (most recent call last):"
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
# Python prints these three without heading when the script itself cannot be compiled.
_COMPILE_ERROR = re.compile(r"(?:SyntaxError|IndentationError|TabError)(?:: |$)")
# An exception line is the type, often with its module, alone or with `: message`.
_EXCEPTION = re.compile(r"(?:[^\W\d][\w<>]*\.)*[^\W\d]\w*(?::(?: |$)|$)")
# What does not go on with an exception's message, where nothing marks whose line it is.
_OTHER_LINE = re.compile(
    r"[-=*]{4,}|\[|\d\d+[-/:.]\d|[EWIF]\d{4} |LAUNCH |\*\*\*|Exception ignored|terminate called"
    r"|(?:ERROR|WARNING|INFO|DEBUG|CRITICAL)\b|\S+: (?:ERROR|WARNING|INFO)\b|Fatal Python error"
)
# Paddle's native stack; a traceback inside torchrun's block, which is indented as a whole.
_QUOTED = re.compile(r"C\+\+ Traceback|traceback : ")
_NOT_FATAL = re.compile(r"Exception ignored|--- Logging error ---")
_RANK = re.compile(r"\[rank(\d+)\]|\[[^\[\],\s]*,(\d+)\](?:<std...>)?:|\[(\d+)\]<std...>:")
_LOCAL_RANK = re.compile(r"\[[A-Za-z][\w.-]*?(\d+)\]:")
_MAX_TRACEBACK_LINES = 2000  # to look for the end of a traceback among those of other processes
_MAX_FOREIGN_LINES = 20  # of others in an unmarked traceback
_MAX_MESSAGE_LINES = 12  # of an exception's message


class Traceback(msgspec.Struct, frozen=True, kw_only=True):
    """A traceback with all it is chained to.

    Attributes:
        start: index of its first line.
        end: index after its last line.
        prefix: what its process's lines begin with, or "".
        lines: its text without the prefix.
        error: the last exception's first line.
    """

    start: int
    end: int
    prefix: str
    lines: tuple[str, ...]
    error: str

    @property
    def rank(self) -> int | None:
        """Global rank of the process, if the prefix tells it."""
        found = _RANK.search(self.prefix)
        return int(next(filter(None, found.groups()))) if found else None

    @property
    def local_rank(self) -> int | None:
        """Rank of the process on its node, if the prefix tells it."""
        names = (found for found in _LOCAL_RANK.finditer(self.prefix))
        return next((int(n[1]) for n in names if not n[0].startswith("[rank")), None)


def tracebacks(lines: Sequence[str]) -> list[Traceback]:
    """All tracebacks that end in an exception, in the order in which they begin."""
    return sorted(_found(lines), key=lambda found: found.start)


def _found(lines: Sequence[str]) -> Iterator[Traceback]:
    ends: dict[str, int] = {}  # up to where the lines of a prefix are used up
    for start, line in enumerate(lines):
        if _COMPILE_ERROR.match(line) and start >= ends.get("", 0):
            found = _compile_error(lines, start)
        elif _HEADER in line and not _QUOTED.search(line):
            prefix = _prefix(lines, start)
            if start < ends.get(prefix, 0) or (start and _NOT_FATAL.search(lines[start - 1])):
                continue
            found = _group(lines, start, prefix) if _GROUP in line else _read(lines, start, prefix)
        else:
            continue
        if found:
            ends[found.prefix] = found.end
            yield found


def _prefix(lines: Sequence[str], start: int) -> str:
    """What the traceback's lines begin with."""
    head = f"  {_GROUP}" if _GROUP in lines[start] else _HEADER
    prefix = lines[start].partition(head)[0]
    if not prefix:
        return ""
    following = lines[start + 1 : start + _MAX_TRACEBACK_LINES]
    return prefix if any(line.startswith(f"{prefix}  ") for line in following) else ""


def _read(lines: Sequence[str], start: int, prefix: str) -> Traceback | None:
    texts = [_HEADER]
    error, end, left, foreign = "", start + 1, _MAX_MESSAGE_LINES, 0
    for index in range(start + 1, min(len(lines), start + _MAX_TRACEBACK_LINES)):
        line = lines[index]
        if prefix and not (line.startswith(prefix) or line == prefix.rstrip()):
            continue
        text = line[len(prefix) :]
        if text.startswith(_CHAINED):
            texts += ["", text, ""]
            error, left = "", _MAX_MESSAGE_LINES
        elif not error:
            if text.startswith(_HEADER):
                texts += [] if texts[-1] == _HEADER else [text]
            elif text[:1].isspace():
                texts.append(text)
            elif _EXCEPTION.match(text):
                texts.append(text)
                error, end = text, index + 1
            elif text:
                foreign += 1
                if foreign > _MAX_FOREIGN_LINES:
                    break
        elif not text.strip():
            if not _is_chained(lines, index, prefix):
                break
        elif left and not _OTHER_LINE.match(text) and _HEADER not in text:
            texts.append(text)
            left, end = left - 1, index + 1
        else:
            break
    if not error:
        return None
    return Traceback(start=start, end=end, prefix=prefix, lines=tuple(texts), error=error)


def _is_chained(lines: Sequence[str], blank: int, prefix: str) -> bool:
    """Whether the next line of the process after a blank one chains another exception."""
    for line in lines[blank + 1 : blank + _MAX_TRACEBACK_LINES]:
        if not prefix or line.startswith(prefix):
            return line[len(prefix) :].startswith(_CHAINED)
    return False


def _group(lines: Sequence[str], start: int, prefix: str) -> Traceback | None:
    """An exception group: every line is drawn with a margin of `|` and `+`."""
    texts = [lines[start][len(prefix) :]]
    errors, end = [], start + 1
    for index in range(start + 1, min(len(lines), start + _MAX_TRACEBACK_LINES)):
        line = lines[index]
        if prefix and not line.startswith(prefix):
            continue
        text = line[len(prefix) :]
        margin = text.lstrip(" ")
        if text[:1] != " " or margin[:1] not in {"|", "+"}:
            break
        texts.append(text)
        end = index + 1
        if margin.startswith("| ") and _EXCEPTION.match(margin[2:]) and margin[2:] != _HEADER:
            errors.append(margin[2:])
    if not errors:
        return None
    leaf = next((each for each in errors if "Group: " not in each), "")
    error = ": ".join(filter(None, (errors[0], leaf)))
    return Traceback(start=start, end=end, prefix=prefix, lines=tuple(texts), error=error)


def _compile_error(lines: Sequence[str], at: int) -> Traceback | None:
    """`  File "x.py", line 3`, the source line, often a caret, the error."""
    for start in range(at - 1, max(at - 5, -1), -1):
        if lines[start].startswith('  File "'):
            found = tuple(lines[start : at + 1])
            return Traceback(start=start, end=at + 1, prefix="", lines=found, error=lines[at])
        if not lines[start].startswith("    "):
            break
    return None
