"""What of one container's new lines goes where: the file, the end that is kept, the console."""

from collections.abc import Sequence

from dlf.logs.batch import Batch
from dlf.logs.collapse import Collapser
from dlf.logs.files import LogFiles
from dlf.logs.format import formatter, needs_stamps, text_prefix
from dlf.logs.options import LogOptions
from dlf.logs.ranks import ErrorFilter, is_chosen
from dlf.logs.target import Target


class Printer:
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
        self._needs_stamps = needs_stamps(options) or collapser is not None
        self._files = files
        self._collapser = collapser
        chosen = is_chosen(target.rank, options.log_ranks, options.ranks)
        self._errors = None if chosen else ErrorFilter()
        is_plain = not (self._needs_stamps or files or self._errors)
        self.prefix = text_prefix(target, colour=options.colour) if is_plain else None

    def render(self, batch: Batch, last: bytes, now: float) -> bytes:
        """What to print of a batch: whole lines, or b"".

        Args:
            batch: new lines.
            last: timestamp of the line that `batch.rest` belongs to.
            now: seconds of any steady clock.
        """
        text = b""
        if batch.rest:
            text = self._render([batch.rest], [last], now)
        if batch.lines:
            stamps = batch.stamps() if self._needs_stamps else ()
            text += self._render(batch.messages(), stamps, now)
        return text

    def _render(self, messages: Sequence[bytes], stamps: Sequence[bytes], now: float) -> bytes:
        if self._files:
            self._files.write(self._target, b"\n".join(messages) + b"\n")
        if self._errors:
            messages, stamps = _pick(self._errors.pick(messages), messages, stamps)
        if self._collapser:
            wanted = self._collapser.pick(self._target, messages, stamps, now)
            messages, stamps = _pick(wanted, messages, stamps)
        return self._format(messages, stamps) if messages else b""


def _pick(
    wanted: Sequence[int], messages: Sequence[bytes], stamps: Sequence[bytes]
) -> tuple[Sequence[bytes], Sequence[bytes]]:
    if len(wanted) == len(messages):
        return messages, stamps
    return [messages[i] for i in wanted], [stamps[i] for i in wanted] if stamps else ()
