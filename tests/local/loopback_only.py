"""Machines without a network: `FILE PREFIX COMMAND...` sets up loopback and becomes the command.

It runs in a network namespace of its own, where loopback is not up yet. Linux gives loopback
127.0.0.1/8 and takes all addresses of that network for the machine's (PREFIX 8). With PREFIX 32
127.0.0.1 is the only one, as on macOS.
"""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

import pytest

_SIOCSIFFLAGS, _SIOCSIFNETMASK = 0x8914, 0x891C  # of linux/sockios.h
_IFF_UP = 1
_NAMESPACE = ["unshare", "--map-root-user", "--net"]


def loopback_only(prefix: int) -> list[str]:
    """What to write before a command, so that it runs on such a machine."""
    return [*_NAMESPACE, sys.executable, __file__, str(prefix)]


def needs_namespaces() -> pytest.MarkDecorator:
    """For tests that run there."""
    refused = (
        not shutil.which(_NAMESPACE[0])
        or subprocess.run([*_NAMESPACE, "true"], capture_output=True, check=False).returncode
    )
    return pytest.mark.skipif(bool(refused), reason="this machine makes no network namespaces")


def main() -> None:
    """Set loopback up, set its prefix, and become the command."""
    bits = (1 << 32) - (1 << (32 - int(sys.argv[1])))
    mask = struct.pack("=16sHH4s16x", b"lo", socket.AF_INET, 0, bits.to_bytes(4))
    with socket.socket(type=socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("=16sH22x", b"lo", _IFF_UP))
        fcntl.ioctl(control, _SIOCSIFNETMASK, mask)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
