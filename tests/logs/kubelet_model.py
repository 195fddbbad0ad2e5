"""What a kubelet keeps of one container's log, and what it serves of it: a pure model.

Streams of a log are scripted by `Stream`, and read the way `dlf.logs.tail` reads them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dlf.logs.lines import Batch, Gap, LineBuffer
from dlf.logs.position import LogPosition

NANO = 1_000_000_000
START = int(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()) * NANO


@dataclass(frozen=True)
class Line:
    """One line of the log. `at` is nanoseconds since 1970."""

    at: int
    message: bytes

    def served(self, zone: str = "Z", *, trimmed: bool = False) -> bytes:
        """The line as a kubelet whose node is in `zone` sends it, or with its fraction trimmed."""
        shift = 0 if zone == "Z" else int(zone[:3]) * 3600
        second = datetime.fromtimestamp(self.at // NANO + shift, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        fraction = f".{self.at % NANO:09d}"
        if trimmed:
            fraction = fraction.rstrip("0").rstrip(".")
        return f"{second}{fraction}{zone} ".encode() + self.message + b"\n"


@dataclass(frozen=True)
class Stream:
    """One stream: of lines `first` to `last`, broken off after `cut` bytes, in chunks of `sizes`.

    `first` is above 0 when the file was rotated; `cut` None means to the end.
    """

    last: int | None = None
    cut: int | None = None
    sizes: Sequence[int] = (65536,)
    first: int = 0


@dataclass
class Reader:
    """Reads streams through the pure core; `kept` is how much of an unended line may wait."""

    last_lines: int = 1 << 30
    printed: list[bytes] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    position: LogPosition = field(default_factory=LogPosition)

    def read(
        self, log: Sequence[Line], stream: Stream, zone: str = "Z", *, trimmed: bool = False
    ) -> None:
        """Read one stream of the log."""
        since = self.position.since
        start = int(datetime.fromisoformat(since).timestamp()) * NANO if since else 0
        served = b"".join(
            line.served(zone, trimmed=trimmed)
            for line in log[stream.first : stream.last]
            if line.at >= start
        )
        self.position.reopen()
        lines = LineBuffer()
        for chunk in chunks(served[: stream.cut], stream.sizes):
            block = lines.feed(chunk)
            if block:
                self._take(self.position.accept(block))
            elif lines.size > self.last_lines:
                self._take(self.position.accept_piece(lines.flush()))

    def _take(self, batch: Batch) -> None:
        if batch.gap:
            self.gaps.append(batch.gap)
        if batch.continuation:
            self.printed[-1] += batch.continuation
        self.printed += batch.messages()


def chunks(data: bytes, sizes: Sequence[int]) -> Iterable[bytes]:
    """The data in pieces of these sizes, over and over."""
    at = turn = 0
    while at < len(data):
        size = max(1, sizes[turn % len(sizes)])
        yield data[at : at + size]
        at += size
        turn += 1
