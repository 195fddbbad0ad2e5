"""A stand-in for ctypes while Nuitka runs: a static interpreter can load nothing, and has none.

Nuitka asks for the sizes of `long` and `long long`, which are 8 here, declares structures of
Windows that it never fills, and tries to count instructions by a system call, which fails here.
"""


class Structure:
    """Accepts its fields."""

    def __init__(self, **fields: object) -> None:
        """Forget them."""


Union = Structure


class _Number:
    size = 8

    def __init__(self, value: int) -> None:
        """Forget it."""


class CDLL:
    """A libc in which every system call fails."""

    def __init__(self, name: str | None, **_: object) -> None:
        """Load nothing, and no library that has a name."""
        if name is not None:
            raise OSError(f"no {name} here")

    @staticmethod
    def syscall(*_: object) -> int:
        """Fail."""
        return -1


def sizeof(kind: type) -> int:
    """Return the size in bytes; nobody looks at that of a structure."""
    return getattr(kind, "size", 0)


def byref(value: object) -> object:
    """Return what a system call would be given."""
    return value


c_char = c_short = c_int = c_long = c_longlong = c_void_p = _Number
c_int32 = c_uint8 = c_uint16 = c_uint32 = c_uint64 = _Number
c_char_p = c_wchar = c_wchar_p = c_byte = c_ubyte = c_ushort = c_uint = c_ulong = _Number
pythonapi = object()
