"""The benchmark on a real API server, kubelet and containerd: the cluster of `tests/cluster`.

The followers run inside the cluster's network, so nothing of ours is between them and the API
server. They take turns: a round is one run of each. No operator runs: the job and its pods are
made here, so that nothing else uses the CPU.
"""

import concurrent.futures
import contextlib
import functools
import itertools
import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
from bench import followers, objects
from bench.measure import TESTS, Goal, Result, cpu_seconds, follow
from bench.report import REAL, Case
from cluster import toolchain
from cluster.cluster import Cluster, running_cluster
from cluster.gateway import INSIDE
from cluster.image import WORKER_IMAGE
from cluster.operators import TRAINING_OPERATOR_1_9
from cluster.pki import Authority
from cluster.registration import create_crds
from cluster.sandbox import NODE_ADDRESS, Sandbox, wait_until
from cluster.workspace import create_workspace

PLAYED_NODE = "played"
PLAYED_PORT = 10260
HEARTBEAT = 10.0  # seconds; a node that is silent for 50 has its pods marked as not ready
_LENGTH = 107
_WRITE_OLD = "for ((i = 0; i < {}; i++)); do printf '%0107d\\n' $i; done; exec sleep infinity"
# A read that nothing ever answers is bash's way to sleep without a process.
_WRITE_LIVE = (
    "printf -v pad '%089d' 0; exec 3<> <(:); "
    'while :; do echo "$pad $EPOCHREALTIME"; read -t {} -u 3; done'
)
_PATH = f"/api/v1/namespaces/{objects.NAMESPACE}"
_JOBS = f"/apis/kubeflow.org/v1/namespaces/{objects.NAMESPACE}/pytorchjobs"
_MERGE = {"Content-Type": "application/merge-patch+json"}


class NoOperator:
    """Only the job's definition."""

    def install(self, api: httpx.Client) -> None:
        """Create the training operator's CRDs."""
        source = toolchain.module_source(
            TRAINING_OPERATOR_1_9.program.module, TRAINING_OPERATOR_1_9.source
        )
        create_crds(api, source.glob(TRAINING_OPERATOR_1_9.crds))

    def start(
        self, sandbox: Sandbox, api: httpx.Client, authority: Authority, kubeconfig: Path
    ) -> None:
        """Nothing is started."""

    def is_ready(self, api: httpx.Client, answers: Callable[[str], bool]) -> bool:
        """As soon as there is a node."""
        return True


def run(
    names: list[str], *, fast: bool, rounds: int, dlf: str, before: str, tools: list[str]
) -> Iterator[tuple[Case, dict[str, list[Result]]]]:
    """Measure the cases `names`; gives each case and the results of each follower.

    Raises:
        RuntimeError: a follower printed nothing at all, so the rest would be in vain.
    """
    with running_cluster(NoOperator()) as cluster:
        workspace = create_workspace(
            cluster.api, cluster.authority, INSIDE, cluster.sandbox.directory, objects.NAMESPACE
        )
        commands = {"dlf": followers.dlf(dlf, str(workspace.kubeconfig))}
        if before:
            commands["dlf before"] = followers.dlf(before, str(workspace.kubeconfig))
        if "stern" in tools:
            path = str(toolchain.STERN.build())
            commands["stern"] = followers.stern(path, str(workspace.kubeconfig))
        if "kubectl" in tools:
            path = str(toolchain.KUBECTL.build())
            commands["kubectl"] = followers.kubectl(path, str(workspace.kubeconfig))
        enter = ["nsenter", f"--net=/proc/{cluster.sandbox.pid}/ns/net", "--"]
        for name in names:
            case = REAL[name]
            pods = case.fast_pods if fast else case.pods
            lines = case.fast_lines if fast else case.lines
            seconds = (5.0 if fast else 15.0) if case.rate else 0.0
            goal = Goal(pods, lines * pods if lines else math.inf, seconds)
            servers = ["kube-apiserver"] + ([] if case.played else ["kubelet"])
            with _pods(cluster, case, pods, lines):
                idle = _idle(cluster.sandbox, servers)
                results: dict[str, list[Result]] = {tool: [] for tool in commands}
                for number, (tool, command) in itertools.product(range(rounds), commands.items()):
                    time.sleep(2)  # for what the follower before has left behind
                    spent = functools.partial(_cpu, cluster.sandbox, servers)
                    result = follow([*enter, *command], goal, spent)
                    if not result.lines:
                        raise RuntimeError(f"{tool} printed no line; it said: {result.said}")
                    _subtract(result, idle, seconds)
                    results[tool].append(result)
                    _tell(name, number, tool, result)
            yield case, results


def _cpu(sandbox: Sandbox, servers: list[str]) -> dict[str, float]:
    return {name: cpu_seconds(sandbox.pid_of(name)) for name in servers}


def _idle(sandbox: Sandbox, servers: list[str]) -> dict[str, float]:
    """CPU seconds that each server uses in a second when nobody follows."""
    time.sleep(3)
    begun, before = time.monotonic(), _cpu(sandbox, servers)
    time.sleep(6)
    spent = time.monotonic() - begun
    return {name: (now - before[name]) / spent for name, now in _cpu(sandbox, servers).items()}


def _subtract(result: Result, idle: dict[str, float], seconds: float) -> None:
    for name in result.servers:
        result.servers[name] -= idle[name] * (seconds or result.wall)


def _tell(case: str, number: int, tool: str, result: Result) -> None:
    servers = ", ".join(f"{name} {cpu:.2f}" for name, cpu in result.servers.items())
    delays = f"p50 {result.delay(0.5):.1f} p99 {result.delay(0.99):.1f}" if result.delays else ""
    text = (
        f"{case} {number + 1} {tool}: {result.lines} lines, CPU {result.cpu:.2f}, wall "
        f"{result.wall:.1f}, first {result.first:.1f}, opening {result.opening:.2f}, "
        f"{result.memory:.0f} MB, {servers} {delays}"
    )
    if not result.finished:
        text += f"\n  not finished; it said: {result.said}"
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _pods(cluster: Cluster, case: Case, pods: int, lines: int) -> Iterator[None]:
    """The job and its pods, which run and have written their old lines; gone after the block."""
    api = cluster.api
    api.post(_JOBS, json=objects.job(pods, WORKER_IMAGE)).raise_for_status()
    api.patch(f"{_JOBS}/bench/status", json=objects.job_status(), headers=_MERGE).raise_for_status()
    with contextlib.ExitStack() as stack:
        stack.callback(_remove, cluster)
        if case.played:
            _start_played_node(cluster, pods, case.rate)
            stop = threading.Event()
            heart = threading.Thread(target=_keep_alive, args=(api, stop))
            heart.start()
            stack.callback(heart.join)
            stack.callback(stop.set)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda number: _create_played(api, number), range(pods)))
        else:
            script = _WRITE_OLD.format(lines) if lines else _WRITE_LIVE.format(1 / case.rate)
            for number in range(pods):
                spec = _spec(script)
                api.post(f"{_PATH}/pods", json=objects.pod(number, spec)).raise_for_status()
            wait_until(lambda: _running(api) == pods, "running pods", seconds=600)
            if lines:
                wait_until(lambda: _written(cluster.sandbox, pods, lines), "lines", seconds=600)
        yield


def _remove(cluster: Cluster) -> None:
    api = cluster.api
    api.delete(f"{_JOBS}/bench").raise_for_status()
    options = {"gracePeriodSeconds": 0}
    api.request("DELETE", f"{_PATH}/pods", json=options).raise_for_status()
    wait_until(lambda: not api.get(f"{_PATH}/pods").json()["items"], "end of the pods", seconds=300)


def _running(api: httpx.Client) -> int:
    selector = {"fieldSelector": "status.phase=Running"}
    return len(api.get(f"{_PATH}/pods", params=selector).raise_for_status().json()["items"])


def _written(sandbox: Sandbox, pods: int, lines: int) -> bool:
    """Whether containerd has written all old lines of all pods into their files."""
    folder = Path(f"/proc/{sandbox.pid}/root/var/log/pods")
    files = list(folder.glob(f"{objects.NAMESPACE}_*/{objects.CONTAINER}/*.log"))
    return (
        len(files) == pods
        and all(file.stat().st_size > lines * _LENGTH for file in files)
        and all(file.read_bytes().count(b"\n") == lines for file in files)
    )


def _spec(script: str) -> dict[str, object]:
    container = {
        "name": objects.CONTAINER,
        "image": WORKER_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["bash", "-c", script],
    }
    return {
        "containers": [container],
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
    }


def _start_played_node(cluster: Cluster, pods: int, rate: float) -> None:
    """Register a node whose kubelet is `bench.kubelet`."""
    sandbox = cluster.sandbox
    identity = cluster.authority.issue(PLAYED_NODE, NODE_ADDRESS, user="played")
    sandbox.run(
        PLAYED_NODE,
        sys.executable,
        "-m",
        "bench.kubelet",
        identity.certificate,
        identity.key,
        NODE_ADDRESS,
        str(PLAYED_PORT),
        str(pods),
        str(rate),
        PYTHONPATH=f"{TESTS}:{TESTS.parent}",
    )
    node = {"metadata": {"name": PLAYED_NODE}}
    cluster.api.post("/api/v1/nodes", json=node).raise_for_status()
    _beat(cluster.api)


def _keep_alive(api: httpx.Client, stop: threading.Event) -> None:
    while not stop.wait(HEARTBEAT):
        _beat(api)


def _beat(api: httpx.Client) -> None:
    now = _now()
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Played",
        "message": "",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    status = {
        "addresses": [{"type": "InternalIP", "address": NODE_ADDRESS}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": PLAYED_PORT}},
        "conditions": [ready],
    }
    api.patch(
        f"/api/v1/nodes/{PLAYED_NODE}/status",
        content=json.dumps({"status": status}),
        headers=_MERGE,
    ).raise_for_status()


def _create_played(api: httpx.Client, number: int) -> None:
    spec = _spec("") | {"nodeName": PLAYED_NODE, "tolerations": [{"operator": "Exists"}]}
    api.post(f"{_PATH}/pods", json=objects.pod(number, spec)).raise_for_status()
    path = f"{_PATH}/pods/bench-worker-{number}/status"
    api.patch(path, json=objects.pod_status(number, _now()), headers=_MERGE).raise_for_status()


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
