r"""A log line as text that a reader can take in: after `\r`, without colours, not too long."""

import re

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def readable(line: bytes, longest: int = 1000) -> str:
    r"""What of a log line is to be seen: of `\r` updates the last, without colours.

    Args:
        line: undecoded; bad bytes are replaced.
        longest: characters; of a longer line `shorten` says what is kept.
    """
    text = line.decode(errors="replace")
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = next((part for part in reversed(text.split("\r")) if part.strip()), "")
    return shorten(text, longest)


def shorten(text: str, longest: int) -> str:
    """Of a longer text, a quarter from its beginning and three from its end."""
    if len(text) <= longest:
        return text
    beginning = longest // 4
    return f"{text[:beginning]} ... {text[beginning - longest :]}"
