"""A stand-in for ctypes while Nuitka runs, which only asks for sizes of C types, on LP64.

A static interpreter has no ctypes: it cannot load anything.
"""


class _Sized:
    size = 8


class c_char(_Sized):  # noqa: N801
    """One byte."""

    size = 1


class c_short(_Sized):  # noqa: N801
    """Two bytes."""

    size = 2


class c_int(_Sized):  # noqa: N801
    """Four bytes."""

    size = 4


class c_long(_Sized):  # noqa: N801
    """Eight bytes."""


class c_longlong(_Sized):  # noqa: N801
    """Eight bytes."""


class Structure:
    """Never filled: Nuitka declares Windows icons with it."""


def sizeof(kind: type[_Sized]) -> int:
    """Return the size in bytes."""
    return kind.size


pythonapi = object()
