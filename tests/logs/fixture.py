"""A multiplexer on the fake API server: pods by name, printed lines, notices."""

from collections.abc import Callable
from typing import Any

import msgspec
from fake_api import FakeApi
from fake_api.logs import ContainerLog

from dlf.kube.client import KubeClient
from dlf.logs.log_options import LogOptions
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.observed import Pod, PodStatus

NAMESPACE = "ml"
CONTAINER = "pytorch"


class Output:
    """Takes what is printed, in place of a `Writer`."""

    closed = None
    waiting = 0

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.previews: list[bytes] = []

    def put(self, lines: bytes) -> None:
        assert lines.endswith(b"\n") or not lines
        self._parts.append(lines)

    def preview(self, text: bytes) -> None:
        self.previews += [text] if text else []

    async def write(self, lines: bytes) -> None:
        self.put(lines)

    def lines(self) -> list[str]:
        """Every printed line so far."""
        text = b"".join(self._parts)
        return text.decode(errors="replace").split("\n")[:-1]

    def of(self, pod: str) -> list[str]:
        """The messages of one pod."""
        return [line[len(pod) + 1 :] for line in self.lines() if line.startswith(pod + " ")]


class MultiplexerFixture:
    """Pods of one job, whose changes the multiplexer sees at once."""

    def __init__(
        self,
        api: FakeApi,
        client: KubeClient,
        options: LogOptions | None = None,
        output: Any = None,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self.api = api
        self.output = Output()
        writer: Any = output or self.output
        self.notices: list[str] = []
        self._pods = api.collection("pods", NAMESPACE)
        self._uids = 0
        self.multiplexer = Multiplexer(
            client, writer, options or LogOptions(), notice or self.notices.append
        )

    def start(
        self,
        name: str,
        *containers: str,
        init: tuple[str, ...] = (),
        show: bool = True,
        has_run_long: bool = False,
    ) -> None:
        """Create a pod whose containers run, with their first instances.

        Args:
            name: of the pod.
            containers: their names.
            init: names of init containers.
            show: let the multiplexer see the pod.
            has_run_long: it was not seen before its containers ran.
        """
        containers = containers or (CONTAINER,)
        self._uids += 1
        self.api.store.create(
            self._pods,
            {
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {
                    "containers": [{"name": each} for each in containers],
                    "initContainers": [{"name": each} for each in init],
                },
                "status": {
                    "phase": "Running",
                    "containerStatuses": [self._status(each, 0, running={}) for each in containers],
                    "initContainerStatuses": [
                        self._status(each, 0, terminated={}) for each in init
                    ],
                },
            },
        )
        for each in (*containers, *init):
            self.log(name, each)
        if show and not has_run_long:
            self.show_pending(name)
        if show:
            self.show(name)

    def log(self, pod: str, container: str = CONTAINER) -> ContainerLog:
        """The log of the container's current instance."""
        return self.api.logs.of(NAMESPACE, pod, container)

    def end(self, pod: str, container: str = CONTAINER, *, show: bool = True) -> None:
        """The container ends; its log does too."""
        self.log(pod, container).end()
        self._change(pod, container, terminated={"exitCode": 0})
        if show:
            self.show(pod)

    def restart(self, pod: str, container: str = CONTAINER, *, show: bool = True) -> ContainerLog:
        """The container ends and starts again; return its new log."""
        log = self.begin_log(pod, container)
        self.tell_restart(pod, container, show=show)
        return log

    def begin_log(self, pod: str, container: str = CONTAINER) -> ContainerLog:
        """The container starts again, which no status tells yet; return its new log."""
        return self.api.logs.restart(NAMESPACE, pod, container)

    def tell_restart(
        self, pod: str, container: str = CONTAINER, *, show: bool = True, **running: str
    ) -> None:
        """The pod's status says that the container ended and started again."""
        self._change(pod, container, restart=True, running=running)
        if show:
            self.show(pod)

    def delete(self, pod: str, *, show: bool = True) -> None:
        """The pod object goes away, and with it what kubelet has of its logs."""
        self.api.store.remove(self._pods, pod)
        if show:
            self.multiplexer.pod_deleted(pod)

    def show(self, pod: str) -> None:
        """Let the multiplexer see the pod as it is."""
        rank = int(pod.rpartition("-")[2]) if pod[-1].isdigit() else None
        self.multiplexer.observe(self.pod(pod), "worker", rank)

    def show_pending(self, pod: str) -> None:
        """Let the multiplexer see the pod as it was before its containers were created."""
        pending = msgspec.structs.replace(self.pod(pod), status=PodStatus(phase="Pending"))
        self.multiplexer.observe(pending, "worker", None)

    def pod(self, name: str) -> Pod:
        """The pod as it is."""
        return msgspec.convert(self.api.store.get(self._pods, name), Pod)

    def _change(self, pod: str, container: str, *, restart: bool = False, **state: Any) -> None:
        status = self.api.store.get(self._pods, pod)["status"]
        for key in ("containerStatuses", "initContainerStatuses"):
            status[key] = [
                self._next(each, restart, state) if each["name"] == container else each
                for each in status[key]
            ]
        self.api.store.patch(self._pods, pod, {"status": status})

    def _next(self, status: dict[str, Any], restart: bool, state: dict[str, Any]) -> dict[str, Any]:
        count = status["restartCount"] + restart
        changed = self._status(status["name"], count, uid=status["containerID"][5:], **state)
        if restart:
            changed["lastState"] = {"terminated": {"containerID": status["containerID"]}}
        else:
            changed["lastState"] = status.get("lastState", {})
        return changed

    def _status(self, name: str, count: int, uid: str = "", **state: Any) -> dict[str, Any]:
        uid = (uid or f"{self._uids}-{name}-0").rpartition("-")[0] + f"-{count}"
        ident = f"cri:/{uid}"
        if "terminated" in state:
            state = {"terminated": {"containerID": ident} | state["terminated"]}
        return {"name": name, "containerID": ident, "restartCount": count, "state": state}
