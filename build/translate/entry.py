"""The program that Nuitka compiles."""

import os
import sys

from dlf.__main__ import run

# Nuitka puts the executable's own path there; dlf looks at the name that it was called by.
sys.argv[0] = __compiled__.original_argv0  # type: ignore[name-defined]  # noqa: F821

try:
    run()
except SystemExit as ended:
    # Without taking the interpreter apart: it takes milliseconds that nobody needs, and CPython
    # 3.13 can crash in it while a daemon thread is busy.
    sys.stderr.flush()
    os._exit(ended.code)  # type: ignore[arg-type]  # run() ends with an int
