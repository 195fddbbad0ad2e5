"""What of one container's new lines goes where: the file, the end that is kept, the console."""

from collections.abc import Sequence

from dlf.logs.collapse import Collapser
from dlf.logs.format import formatter, needs_timestamps, text_prefix
from dlf.logs.instances import Target
from dlf.logs.line_filter import LineFilter
from dlf.logs.lines import Batch
from dlf.logs.log_files import LogFiles
from dlf.logs.log_options import LogOptions
from dlf.logs.preview import last_segment
from dlf.logs.rank_filter import ErrorFilter, is_selected


class LineRenderer:
    """Turns batches of one container into console text; writes its file of `--log_dir`.

    Args:
        target: whose lines they are.
        options: how to print.
        files: of `--log_dir`, or None.
        collapser: shared by all containers, or None.

    Attributes:
        prefix: of each line, if that and the message is all that is done with a line; else None.
    """

    def __init__(
        self,
        target: Target,
        options: LogOptions,
        files: LogFiles | None,
        collapser: Collapser | None,
    ) -> None:
        self._target = target
        self._format = formatter(target, options)
        self._filter = LineFilter(options)
        self._needs_timestamps = needs_timestamps(options) or collapser is not None
        self._files = files
        self._collapser = collapser
        chosen = is_selected(target.rank, options.log_ranks, target.ranks)
        self._errors = None if chosen else ErrorFilter()
        needs_change = bool(options.highlight) or options.terminal
        is_plain = not (self._needs_timestamps or files or self._errors or needs_change)
        is_text = options.terminal and options.log_format == "text"
        self._previews = is_text and not self._errors
        self._preview_prefix = text_prefix(target, options)
        self._plain_prefix = text_prefix(target, options) if is_plain else None
        self.prefix = None if self._filter.is_active else self._plain_prefix

    def _update_prefix(self) -> None:
        """A filter may be over, as one by time is."""
        self.prefix = None if self._filter.is_active else self._plain_prefix

    def start_at(self, time: str, *, inclusive: bool) -> None:
        """Print no lines before this RFC 3339 time, and none of it if not `inclusive`."""
        self._filter.start_at(time, inclusive=inclusive)
        self.prefix = None

    def render(self, batch: Batch, last: bytes, now: float) -> bytes:
        """What to print of a batch: whole lines, or b"".

        Args:
            batch: new lines.
            last: timestamp of the line that `batch.continuation` belongs to.
            now: seconds of any steady clock.
        """
        text = b""
        if batch.continuation:
            text = self._render([batch.continuation], [last], now)
        if batch.lines:
            wanted = self._needs_timestamps or self._filter.needs_timestamps
            timestamps = batch.timestamps() if wanted else ()
            text += self._render(batch.messages(), timestamps, now)
        return text

    def preview(self, partial: bytes) -> bytes:
        """What to show on a terminal of a line whose end has not come; b"" for nothing.

        Args:
            partial: the end of what came of it, without timestamp.
        """
        text = last_segment(partial)
        if not self._previews or self._filter.is_active or not text.strip():
            return b""
        return self._preview_prefix + text

    def _render(self, messages: Sequence[bytes], timestamps: Sequence[bytes], now: float) -> bytes:
        if self._files:
            self._files.write(self._target, b"\n".join(messages) + b"\n")
        if self._filter.is_active:
            shown = self._filter.select(messages, timestamps)
            messages, timestamps = _pick(shown, messages, timestamps)
            self._update_prefix()
        if self._errors:
            messages, timestamps = _pick(self._errors.select(messages), messages, timestamps)
        if self._collapser:
            wanted = self._collapser.select(self._target, messages, timestamps, now)
            messages, timestamps = _pick(wanted, messages, timestamps)
        return self._format(messages, timestamps) if messages else b""


def _pick(
    wanted: Sequence[int], messages: Sequence[bytes], timestamps: Sequence[bytes]
) -> tuple[Sequence[bytes], Sequence[bytes]]:
    if len(wanted) == len(messages):
        return messages, timestamps
    return [messages[i] for i in wanted], [timestamps[i] for i in wanted] if timestamps else ()
