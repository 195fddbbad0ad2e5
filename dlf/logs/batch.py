"""New lines of one container, and what is missing between them."""

import msgspec

from dlf.logs.stamp import split


class Gap(msgspec.Struct, frozen=True):
    """Lines may be missing between two timestamps (RFC 3339, as the node wrote them)."""

    after: str
    before: str


class Batch(msgspec.Struct):
    """New lines of one container, in order.

    Attributes:
        lines: with their timestamps, without newlines.
        width: bytes to cut off each line; 0 when the lines differ and each has to be looked at.
        gap: what is missing before the first of them.
        rest: more of the line that was printed last; it comes before the lines.
    """

    lines: list[bytes]
    width: int = 0
    gap: Gap | None = None
    rest: bytes = b""

    def messages(self) -> list[bytes]:
        """The lines without their timestamps."""
        if self.width:
            cut = self.width
            return [line[cut:] for line in self.lines]
        return [split(line)[1] for line in self.lines]

    def stamps(self) -> list[bytes]:
        """The timestamps alone; b"" where a line has none."""
        if self.width:
            end = self.width - 1
            return [line[:end] for line in self.lines]
        return [split(line)[0] for line in self.lines]
