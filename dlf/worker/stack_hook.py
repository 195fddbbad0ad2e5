"""A `sitecustomize` for the command's Python processes, which makes them dump stacks on a signal.

It touches nothing in the image: a directory first on PYTHONPATH holds a `sitecustomize.py`, which
every Python imports at its start unless it runs isolated (-I) or without site (-S). It registers
`faulthandler` on a real-time signal that nothing uses, then imports the image's own
`sitecustomize`, if there is one. `faulthandler` also dumps the stack of a process
that hangs in C, as in a collective: no bytecode has to run.
"""

import os
from collections.abc import Mapping

SIGNAL = 59
"""A real-time signal, away from those that libraries count from either end."""
FILE_PREFIX = "dlf-stacks-"
_CODE = f"""\
import os, sys

def _dlf():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    try:
        import faulthandler
        file = open(os.path.join(here, "{FILE_PREFIX}%d" % os.getpid()), "ab", 0)
        faulthandler.register({SIGNAL}, file=file, all_threads=True)
        _dlf.file = file
    except Exception:
        pass
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", own)

_dlf()
"""


def install(directory: str, env: Mapping[str, str]) -> dict[str, str]:
    """Write the hook into a directory of its own; return the variables that make Python find it."""
    with open(f"{directory}/sitecustomize.py", "w", encoding="utf-8") as file:
        file.write(_CODE)
    os.chmod(directory, 0o700)
    given = env.get("PYTHONPATH", "")
    return {"PYTHONPATH": f"{directory}:{given}" if given else directory}
