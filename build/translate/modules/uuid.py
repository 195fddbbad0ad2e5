"""In place of uuid: msgspec asks for the types, and dlf has no value of them.

The standard library's imports platform, which compiles regular expressions at every start.
"""


class UUID:
    """A type without values."""


class SafeUUID:
    """How the value of a UUID was made."""

    unknown = None
