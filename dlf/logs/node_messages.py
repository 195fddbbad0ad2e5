"""What a kubelet writes into a log that is none of its lines: why it could not go on reading.

When the log cannot be read or followed, a kubelet that has begun its answer writes the error into
it, as the last line and without a timestamp: "failed to create fsnotify watcher: too many open
files", "unable to retrieve container logs for containerd://..." Lines of a container always have a
timestamp, so a line without one at the end of a stream is such a message. (The rest of a long line
that began before `sinceTime` has none either, but never comes last: the line that was printed last
is in the stream, too.) Some implementations of the API (virtual nodes) write no timestamps at all:
as long as no line of a log had one, only the known messages are taken for the node's.
"""

import re

from dlf.logs.timestamps import split

_KNOWN = re.compile(
    rb"(?:failed to (?:create fsnotify watcher|watch (?:file|directory)|try resolving symlinks"
    rb"|open log file|read log file|seek|write log|parse)"
    rb"|unable to retrieve container logs for|error watching file"
    rb"|rpc error: code = )"
)
_VARIABLE = re.compile(rb'"[^"]*"|\w+://\S+|/\S+|[0-9a-f]{8,}|\d+')


def is_known(line: bytes) -> bool:
    """Whether a line without timestamp is a message that kubelets are known to write."""
    return _KNOWN.match(line) is not None


def cause(message: bytes) -> bytes:
    """The message without what differs from log to log: paths, IDs, numbers."""
    return _VARIABLE.sub(b"", message)


class NodeMessages:
    """Holds back the lines without timestamp at the end of what one stream has brought so far."""

    def __init__(self) -> None:
        self._held = b""
        self._has_timestamps = False

    def begin(self, *, has_timestamps: bool) -> None:
        """A stream was opened, of a log of which a line had a timestamp or not."""
        self._held = b""
        self._has_timestamps = has_timestamps

    def hold(self, block: bytes) -> bytes:
        """Take whole lines; return those that can be the container's, or b"" for now."""
        last = block.rfind(b"\n", 0, -1) + 1
        is_stamped = block[last : last + 1].isdigit()
        if is_stamped and self._has_timestamps and not self._held:
            return block
        if is_stamped and split(block[last : last + 64])[0]:
            self._has_timestamps = True
            if self._held:
                block, self._held = self._held + block, b""
            return block
        lines = (self._held + block).split(b"\n")[:-1]
        end = len(lines)
        while end and not split(lines[end - 1])[0]:
            end -= 1
        self._has_timestamps = self._has_timestamps or end > 0
        if not self._has_timestamps and not is_known(lines[-1]):
            self._held = b""
            return b"\n".join(lines) + b"\n"
        self._held = b"".join(line + b"\n" for line in lines[end:])
        return b"".join(line + b"\n" for line in lines[:end])

    def end(self, partial: bytes) -> bytes:
        """The stream has ended, after a line without newline; return the node's message, or b""."""
        message = (self._held + self._of_node(partial)).strip()
        self._held = b""
        return message

    def _of_node(self, partial: bytes) -> bytes:
        is_own = self._has_timestamps and partial[:1].isalpha()  # else perhaps half a timestamp
        return partial if is_own or is_known(partial) else b""
