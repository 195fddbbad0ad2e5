"""Jobs on a machine that has 127.0.0.1 and no other address, as macOS has."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from local.loopback_only import loopback_only, needs_namespaces
from local.reading import LOCAL, printed

from dlf.local.addresses import HOST

pytestmark = needs_namespaces()


def run(*command: str) -> str:
    """What a command prints on such a machine."""
    words = [*loopback_only(32), *command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def test_the_machine_has_one_address() -> None:
    """What these tests stand on: no other address of 127.0.0.0/8 can be used."""
    bind = "import socket, sys; socket.socket().bind((sys.argv[1], 0))"
    run(sys.executable, "-c", bind, HOST)
    with pytest.raises(AssertionError, match="Cannot assign requested address"):
        run(sys.executable, "-c", bind, "127.64.0.1")


def test_ranks_meet_on_one_address(dlf_command: list[str]) -> None:
    """The first command of the README: all ranks find the master, and train."""
    example = Path(__file__).parents[2] / "examples" / "pytorch" / "train.py"
    command = f"echo $MASTER_ADDR; python3 {example}"
    pods = printed(run(*dlf_command, *LOCAL, "--command", command).encode())
    assert {"master-0", "worker-0", "worker-1"} == set(pods)
    for rank, lines in enumerate(pods.values()):
        assert HOST in lines
        assert any(": done, parameters equal rank 0's" in line for line in lines), rank


def test_pods_of_one_address_have_ports_of_their_own(dlf_command: list[str]) -> None:
    """TF_CONFIG tells the pods apart by port, and each pod finds itself in it."""
    words = ("tf", "--runtime", "local", "--num_worker", "3", "--command", 'echo "$TF_CONFIG"')
    pods = printed(run(*dlf_command, *words).encode())
    for index, (line,) in enumerate(pods[f"worker-{index}"] for index in range(3)):
        config = json.loads(line)
        assert {"type": "worker", "index": index} == config["task"]
        hosts, ports = zip(*(each.split(":") for each in config["cluster"]["worker"]), strict=True)
        assert (HOST,) * 3 == hosts
        assert 3 == len(set(ports))
