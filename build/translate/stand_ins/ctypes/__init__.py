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

    def __init__(self, name: None, *, use_errno: bool) -> None:
        """Load nothing."""

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


def __getattr__(name: str) -> type[_Number]:
    if name.startswith("c_"):
        return _Number
    raise AttributeError(name)


pythonapi = object()
