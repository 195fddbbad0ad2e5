"""How printed lines look: `POD MESSAGE`, or one JSON object a line."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from dlf.logs.instances import Target
from dlf.logs.log_options import LogOptions
from dlf.logs.preview import last_segment

Formatter = Callable[[Sequence[bytes], Sequence[bytes]], bytes]
"""Messages of one container, and their timestamps, -> what to print: whole lines.

Timestamps may be left out (an empty sequence) where `needs_timestamps` is false.
"""

_HIGHLIGHTED = b"\x1b[1;31m\\g<0>\x1b[0m"
_COLOURS = (36, 32, 33, 35, 34, 96, 92, 93, 95, 94)


def formatter(target: Target, options: LogOptions) -> Formatter:
    """The formatter for one container's lines."""
    return _json(target) if options.log_format == "json" else _text(target, options)


def needs_timestamps(options: LogOptions) -> bool:
    """Whether the format shows the time of each line."""
    return options.log_format == "json" or options.timestamps


def wants_colour(env: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Whether to print in colour: on terminals; NO_COLOR and CLICOLOR_FORCE decide before that."""
    if env.get("NO_COLOR"):
        return False
    if env.get("CLICOLOR_FORCE", "0") not in {"", "0"}:
        return True
    return is_terminal and env.get("TERM") != "dumb"


def text_prefix(target: Target, options: LogOptions) -> bytes:
    """What comes before each message: the pod's name, in the colour of its turn, and a blank."""
    match options.prefix:
        case "none":
            return b""
        case "short":
            name = _short_name(target, options).encode()
        case _:
            name = target.pod.encode()
    if not options.colour:
        return name + b" "
    return b"\x1b[%dm%b\x1b[0m " % (_COLOURS[target.order % len(_COLOURS)], name)


def _short_name(target: Target, options: LogOptions) -> str:
    """The pod's name without that of the job: `worker-3`; whole, where no role is known in it."""
    role = target.role.lower()
    job, found, index = target.pod.rpartition(f"-{role}-") if role else ("", "", "")
    if not found:
        return target.pod
    return f"{job}/{role}-{index}" if options.several_jobs else f"{role}-{index}"


def _text(target: Target, options: LogOptions) -> Formatter:
    first = text_prefix(target, options)
    between = b"\n" + first
    highlight = options.highlight if options.colour else ()

    def text(messages: Sequence[bytes], timestamps: Sequence[bytes]) -> bytes:
        if options.terminal:
            messages = [last_segment(message) for message in messages]
        if options.timestamps:
            pairs = zip(timestamps, messages, strict=True)
            messages = [b"%b %b" % pair for pair in pairs]
        for pattern in highlight:
            messages = [pattern.sub(_HIGHLIGHTED, message) for message in messages]
        return b"%b%b\n" % (first, between.join(messages))

    return text


def _json(target: Target) -> Formatter:
    labels: dict[str, str | int | None] = {
        "pod": target.pod,
        "role": target.role,
        "rank": target.rank,
        "container": target.container,
        "restart": target.restart,
    }
    if target.uid:
        labels["pod_uid"] = target.uid
    after_time = b"," + msgspec.json.encode(labels)[1:-1] + b',"message":'
    encode = msgspec.json.encode

    def json(messages: Sequence[bytes], timestamps: Sequence[bytes]) -> bytes:
        return b"".join(
            [
                b'{"time":"%b"%b%b}\n'
                % (timestamp, after_time, encode(message.decode("utf-8", "replace")))
                for timestamp, message in zip(timestamps, messages, strict=True)
            ]
        )

    return json
