"""`dlf worker --remote` under attack from other pods: of its own namespace, and of another one."""

import base64
import secrets
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dlf.errors import ExitCode

from .cluster import Cluster
from .image import WORKER_IMAGE
from .launch import PROJECT, launched, messages
from .sandbox import wait_until
from .worker_cluster import DLF, worker_cluster
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240, func_only=True)]

_PORT = 20022
_ATTACK = Path(__file__).with_name("attack.py").read_text()
_ALL_FRAMES = 3  # ETH_P_ALL
_COMMAND = r"""
state() {
    ssh ${VC_WORKER_HOSTS#*,} \
        'echo >> /mnt/shared/ran; ls /proc/1/fd | wc -l; cat /proc/1/smaps_rollup' |
        sed -n 's/^Pss_Anon: *\([0-9]*\) kB/\1/p; /^[0-9]*$/p'
}
echo before $(state); touch /mnt/shared/before
until [ -e /mnt/shared/attacked ]; do sleep 0.1; done
echo after $(state)
"""
"""Descriptors and private memory in KiB of the worker that serves, before and in the attack."""


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster of this file's own, with dlf's image."""
    with worker_cluster(request, tmp_path_factory.mktemp("images")) as running:
        yield running


class Recorder:
    """Records what is sent to the port of `--remote`, as who can read the pods' network."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._listening = threading.Event()
        self._over = threading.Event()
        self._sent: dict[tuple[bytes, bytes], dict[int, bytes]] = {}
        self._thread = threading.Thread(target=self._record, daemon=True)
        self._thread.start()
        assert self._listening.wait(10)

    def stop(self) -> list[bytes]:
        """What each connection has sent."""
        self._over.set()
        self._thread.join()
        streams = []
        for segments in self._sent.values():
            begin = min(segments)
            stream = b""
            for sequence in sorted(segments):
                stream = stream[: sequence - begin] + segments[sequence]
            streams.append(stream)
        return streams

    def _record(self) -> None:
        self._cluster.sandbox.enter_network()
        with socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_FRAMES)
        ) as interface:
            interface.settimeout(0.1)
            self._listening.set()
            while not self._over.is_set():
                try:
                    self._take(interface.recv(1 << 16))
                except TimeoutError:
                    continue

    def _take(self, frame: bytes) -> None:
        """Keep the content of a TCP segment over IPv4 (RFC 791, RFC 9293) for the port."""
        packet = frame[14:]
        if frame[12:14] != b"\x08\x00" or packet[9] != socket.IPPROTO_TCP:
            return
        segment = packet[(packet[0] & 15) * 4 : int.from_bytes(packet[2:4], "big")]
        content = segment[(segment[12] >> 4) * 4 :]
        if int.from_bytes(segment[2:4], "big") == _PORT and content:
            source = (packet[12:16] + segment[:2], packet[16:20])
            self._sent.setdefault(source, {})[int.from_bytes(segment[4:8], "big")] = content


def _attacker(
    cluster: Cluster, namespace: str, address: str, recorded: bytes, secret: bytes
) -> str:
    """Start a pod that attacks; the path of its log."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    words = [address, str(_PORT), recorded.hex(), secret.hex()]
    container = {
        "name": "attacker",
        "image": WORKER_IMAGE,
        "command": ["python3", "-c", _ATTACK, *words],
    }
    spec = {
        "containers": [container],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
    }
    pod = {"metadata": {"name": "attacker"}, "spec": spec}
    cluster.api.post(pods, json=pod).raise_for_status()
    return f"{pods}/attacker/log"


def _documented_policy() -> dict[str, Any]:
    """The NetworkPolicy of docs/how-to/rbac.md."""
    page = (PROJECT / "docs/how-to/rbac.md").read_text()
    text = page.partition("kind: NetworkPolicy")
    head = text[0].rpartition("```yaml\n")[2]
    policy: dict[str, Any] = yaml.safe_load(head + text[1] + text[2].partition("```")[0])
    del policy["metadata"]["namespace"]
    return policy


def test_strangers_in_other_pods_do_no_harm(
    cluster: Cluster, workspace: Workspace, tmp_path: Path
) -> None:
    """No token, a wrong one, a recording, garbage, slow connections, from two namespaces at once.

    All are refused and reported once, the worker does not grow, and the job succeeds meanwhile.
    """
    tmp_path.chmod(0o777)
    pods = f"/api/v1/namespaces/{workspace.namespace}/pods"
    other = cluster.workspace(f"other-{secrets.token_hex(4)}").namespace
    flags = ["--worker_image", DLF, "--num_worker", "2", "--working_dir", "/tmp"]
    flags += ["--image", WORKER_IMAGE, "--remote", "--command", _COMMAND]
    volume = {"KFJ_TASK_VOLUME_MOUNT": f"{tmp_path}(hostpath):/mnt/shared"}
    recorder = Recorder(cluster)
    with launched(workspace, "deepspeed", *flags, **volume) as dlf:
        wait_until((tmp_path / "before").exists, "first ssh")
        (recorded,) = recorder.stop()
        assert recorded.startswith(b"DLF1")
        assert b"echo >> /mnt/shared/ran" in recorded
        policy = _documented_policy()
        policies = f"/apis/networking.k8s.io/v1/namespaces/{workspace.namespace}/networkpolicies"
        strict = {"fieldValidation": "Strict"}
        cluster.api.post(policies, params=strict, json=policy).raise_for_status()
        (rule,) = policy["spec"]["podSelector"]["matchExpressions"]
        selected = cluster.api.get(pods, params={"labelSelector": rule["key"]}).json()["items"]
        addresses = {
            pod["metadata"]["name"].rpartition("-worker-"): pod["status"]["podIP"]
            for pod in selected
        }
        (job,) = {name[0] for name in addresses}
        assert {"0", "1"} == {name[2] for name in addresses}
        secret = cluster.api.get(
            f"/api/v1/namespaces/{workspace.namespace}/secrets/{job}-ssh"
        ).json()
        token = base64.b64decode(secret["data"]["id_rsa"])
        address = addresses[job, "-worker-", "1"]
        logs = [
            _attacker(cluster, namespace, address, recorded, token)
            for namespace in (workspace.namespace, other)
        ]

        def printed(log: str) -> str:
            answer = cluster.api.get(log)
            return answer.text if answer.is_success else ""

        wait_until(lambda: all("slow" in printed(log) for log in logs), "attacks", seconds=180)
        attacks = [printed(log).splitlines() for log in logs]
        (tmp_path / "attacked").touch()
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SUCCEEDED, output + errors
    expected = [
        "right token: 32 bytes",  # the attack would be seen if it succeeded
        "wrong token: 0 bytes",
        "no token: 32 bytes, hung up",
        "replay at once: 32 bytes, hung up",
        "replay in turn: 0 bytes, hung up",
        "another protocol: 0 bytes, hung up",
        "port scan: 1000 connections",
        "garbage: 10000 connections",
        "slow: 200 connections",
    ]
    assert [expected, expected] == attacks
    said = messages(output)
    (refusal,) = said["worker-1"]
    assert "without the job's secret: a port scan, or a pod of another job; further" in refusal
    before, after = (line.split() for line in said["worker-0"])
    assert ("before", "after") == (before[0], after[0])
    assert int(after[1]) - int(before[1]) <= 64 + 8  # unproved connections, and the last session's
    assert int(after[2]) - int(before[2]) < 2048
    assert 2 == len((tmp_path / "ran").read_text().splitlines())
    cluster.api.delete(f"/api/v1/namespaces/{other}").raise_for_status()
