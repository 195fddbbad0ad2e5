"""Which process is meant."""

import os
import subprocess
import sys

from dlf.local.process_identity import ProcessIdentity, identify, this_place, this_process


def test_process_is_alive_until_it_has_ended() -> None:
    """A zombie has ended, although its number is still taken."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        identity = identify(process.pid)
        assert identity.is_alive()
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert os.path.exists(f"/proc/{process.pid}")
        assert not identity.is_alive()
    assert not identity.is_alive()


def test_process_that_took_the_number_is_another_one() -> None:
    """It was started at another time."""
    me = this_process()
    assert me.is_alive()
    assert not ProcessIdentity(me.pid, me.ticks - 1).is_alive()


def test_process_that_was_not_there_is_never_alive() -> None:
    """Its start is not known, and no process was started at 0."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    gone = identify(process.pid)
    assert (0, False) == (gone.ticks, gone.is_alive())


def test_place_is_that_of_this_boot() -> None:
    """Two looks agree, and the kernel names its boot."""
    place = this_place()
    assert place == this_place()
    assert all([place.host, place.boot, place.pid_namespace])
