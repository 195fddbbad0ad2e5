"""What this dlf was built from: its version, revision and parts."""

from dlf import __version__

try:  # written by the build into the executable
    from dlf._build import REVISION as REVISION
    from dlf._build import TARGET as TARGET
except ImportError:
    REVISION, TARGET = "", ""


def text() -> str:
    """One line: version, target and revision."""
    built = " ".join(filter(None, (TARGET, REVISION[:12])))
    return f"dlf {__version__}" + (f" ({built})" if built else "") + "\n"


def self_command() -> list[str]:
    """The words that run this dlf: the executable alone, or an interpreter and the module."""
    import os
    import sys

    if TARGET:
        return [os.readlink("/proc/self/exe")]  # noqa: PTH115 - `dlf worker` loads no pathlib
    return [sys.executable, "-P", "-m", "dlf"]


def parts() -> dict[str, str]:
    """Part to its version; "" where it is not known."""
    import platform
    import ssl
    import sys

    import httpx  # noqa: TID251 - only asked for its version
    import msgspec

    return {
        "dlf": __version__,
        "revision": REVISION,
        "target": TARGET or f"{sys.platform}-{platform.machine()}",
        "python": platform.python_version(),
        "openssl": ssl.OPENSSL_VERSION,
        "msgspec": msgspec.__version__,
        "httpx": httpx.__version__,
    }
