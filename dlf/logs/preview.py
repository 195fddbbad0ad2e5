r"""What of an unfinished line is shown on a terminal: progress bars, prompts, half a sentence.

The line comes whole when its newline has come. Until then the text after its last `\r` is shown in
its place, after a second of silence, or once a second where a `\r` says that it is a progress bar.
"""

from dlf.logs.lines import LineBuffer

SILENCE_SECONDS = 1.0
_TAIL_BYTES = 4096  # of the unfinished line that are looked at; a terminal shows fewer


class LinePreview:
    """Decides when the partial line of one buffer is to be shown again."""

    def __init__(self) -> None:
        self._shown_at = 0  # bytes that the buffer had taken when it was shown last

    def take_due(self, lines: LineBuffer, silence: float) -> bytes:
        """The end of the partial line, if it should be shown now; else b"".

        To be called about once a second.

        Args:
            lines: of the log.
            silence: seconds since the last bytes came.
        """
        if not lines.size or lines.total == self._shown_at:
            return b""
        text = lines.tail(_TAIL_BYTES)
        if silence < SILENCE_SECONDS and b"\r" not in text:
            return b""
        self._shown_at = lines.total
        return text


def last_segment(text: bytes) -> bytes:
    r"""What a terminal shows of a line after all its `\r`: the last text that is not blank."""
    if b"\r" not in text:
        return text
    return next((part for part in reversed(text.split(b"\r")) if part.strip()), b"")
