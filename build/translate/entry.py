"""The program Nuitka compiles."""

from dlf.__main__ import run

run()
