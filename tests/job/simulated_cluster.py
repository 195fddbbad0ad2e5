"""The cluster that a history acts on.

A history is a coroutine that plays the operator, the kubelets and everybody else.
"""

import asyncio
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fake_api import FakeApi
from fake_api.logs import ContainerLog
from fake_api.store import Collection, Object

from dlf.job.adopt import SPEC_HASH
from dlf.manifest.kinds import Kind
from dlf.outcome.outcome import Outcome

NAMESPACE = "pipeline"

LABELS = {  # role label, index label, job label of each operator's pods
    "kubeflow.org": (
        "training.kubeflow.org/replica-type",
        "training.kubeflow.org/replica-index",
        "training.kubeflow.org/job-name",
    ),
    "batch.volcano.sh": ("volcano.sh/task-spec", "volcano.sh/task-index", "volcano.sh/job-name"),
}


class SimulatedCluster:
    """What a history acts on: the cluster, and the dlf that follows the job.

    Attributes:
        digest: the spec hash of the job that dlf would submit.
        messages: what dlf told on stderr so far.
        printed: the file to which dlf prints the logs.
        task: the running dlf.
    """

    def __init__(self, api: FakeApi, kind: Kind, digest: str, printed: Path) -> None:
        self.api = api
        self.kind = kind
        self.digest = digest
        self.jobs = Collection(kind.group, kind.plural, NAMESPACE)
        self.pods = Collection("", "pods", NAMESPACE)
        self.events = Collection("", "events", NAMESPACE)
        self.messages: list[str] = []
        self.printed = printed
        self.task: asyncio.Task[Outcome] | None = None
        self._started: dict[str, str] = {}  # when each pod's container was started

    async def job(self) -> str:
        """Wait for dlf to have created its job; its name."""
        await self.until(lambda: bool(self.api.store.list(self.jobs)))
        return str(self.api.store.list(self.jobs)[-1]["metadata"]["name"])

    def earlier(
        self,
        name: str,
        *,
        run: str = "run-1",
        task: str = "7",
        digest: str = "",
        **status: Any,
    ) -> Object:
        """Create a job of an earlier try; by default, one that is the same as dlf's."""
        return self.api.store.create(
            self.jobs,
            {
                "apiVersion": self.kind.api_version,
                "kind": self.kind.name,
                "metadata": {
                    "name": name,
                    "labels": {"run-id": run, "task-id": task},
                    "annotations": {SPEC_HASH: digest or self.digest},
                },
                "spec": {
                    "pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 2}}
                },
                "status": status,
            },
        )

    def signal(self) -> None:
        """SIGTERM."""
        assert self.task
        self.task.cancel()

    def now(self) -> float:
        """Seconds since the history began."""
        return asyncio.get_running_loop().time()

    async def until(self, holds: Callable[[], bool], within: float = 7200.0) -> None:
        """Let time pass until something holds."""
        async with asyncio.timeout(within):
            while not holds():
                await asyncio.sleep(0.1)

    async def until_message(self, words: str) -> None:
        """Wait until dlf has told this."""
        await self.until(lambda: any(words in line for line in self.messages))

    def condition(self, job: str, *types: str, **status: Any) -> None:
        """Set the conditions of a Kubeflow job; `-Type` is one with status False."""
        conditions = [
            {
                "type": name.lstrip("-"),
                "status": "False" if name.startswith("-") else "True",
                "reason": f"Job{name.lstrip('-')}",
                "message": f"the job is {name.lstrip('-')}",
            }
            for name in types
        ]
        self.api.store.patch(self.jobs, job, {"status": {"conditions": conditions, **status}})

    def phase(self, job: str, phase: str) -> None:
        """Set the phase of a Volcano Job."""
        self.api.store.patch(self.jobs, job, {"status": {"state": {"phase": phase}}})

    def pod(self, job: str, role: str, index: int, container: str = "pytorch") -> str:
        """Create a pending pod as the operator does; its name."""
        role_label, index_label, job_label = LABELS[self.jobs.group]
        name = f"{job}-{role}-{index}"
        if self.api.logs.find(NAMESPACE, name, container, previous=False):  # of an earlier pod
            self.api.logs.restart(NAMESPACE, name, container)
        self.api.store.create(
            self.pods,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "labels": {job_label: job, role_label: role, index_label: str(index)},
                    "ownerReferences": [
                        {"uid": self.api.store.get(self.jobs, job)["metadata"]["uid"]}
                    ],
                },
                "spec": {"containers": [{"name": container}]},
                "status": {"phase": "Pending"},
            },
        )
        return name

    def runs(self, pod: str, *lines: str, node: str = "node-1") -> None:
        """The pod's container runs and prints."""
        self._started[pod] = self.api.store.stamp()
        self._state(pod, "Running", {"running": {"startedAt": self._started[pod]}}, node=node)
        self.prints(pod, *lines)

    def prints(self, pod: str, *lines: str) -> None:
        """The pod's container prints."""
        self._log(pod).write(*lines)

    def ends(self, pod: str, code: int = 0, *lines: str, reason: str = "", **status: Any) -> None:
        """The pod's container ends; its log is whole."""
        self.prints(pod, *lines)
        self._log(pod).end()
        state = self._terminated(pod, code, reason)
        self._state(pod, "Failed" if code else "Succeeded", state, **status)

    def ends_training(self, pod: str, code: int = 0) -> None:
        """The training container ends; what was injected into the pod runs on."""
        self._log(pod).end()
        self._state(pod, "Running", self._terminated(pod, code))

    def loses_time(self, pod: str) -> None:
        """The kubelet has written no time for the end of the training container."""
        status, *others = self.api.store.get(self.pods, pod)["status"]["containerStatuses"]
        end = {**status["state"]["terminated"], "finishedAt": None}
        statuses = [{**status, "state": {"terminated": end}}, *others]
        self.api.store.patch(self.pods, pod, {"status": {"containerStatuses": statuses}})

    def injects(self, pod: str, name: str, *, native: bool = False) -> None:
        """A webhook has put a sidecar into the pod; a native one is an init container."""
        self.api.logs.of(NAMESPACE, pod, name).write(f"{name} is up")
        found = self.api.store.get(self.pods, pod)
        kind = "initContainers" if native else "containers"
        spec = {"name": name, **({"restartPolicy": "Always"} if native else {})}
        status = {
            "name": name,
            "containerID": f"containerd://{pod}-{name}",
            "state": {"running": {"startedAt": self.api.store.stamp()}},
        }
        key = "initContainerStatuses" if native else "containerStatuses"
        change = {
            "spec": {kind: [*found["spec"].get(kind, []), spec]},
            "status": {key: [*found["status"].get(key, []), status]},
        }
        self.api.store.patch(self.pods, pod, change)

    def ends_sidecar(self, pod: str, code: int, *, native: bool = False, phase: str = "") -> None:
        """The pod's sidecar ends with this code, and with it the pod, in this phase."""
        key = "initContainerStatuses" if native else "containerStatuses"
        found = self.api.store.get(self.pods, pod)
        *others, sidecar = found["status"][key]
        self.api.logs.of(NAMESPACE, pod, sidecar["name"]).end()
        end = {"exitCode": code, "reason": "Error", "finishedAt": self.api.store.stamp()}
        ended = {**sidecar, "state": {"terminated": end}}
        status = {key: [*others, ended], "phase": phase or found["status"]["phase"]}
        self.api.store.patch(self.pods, pod, {"status": status})

    def disrupts(self, pod: str, reason: str = "PreemptionByScheduler") -> None:
        """The cluster decides to take the pod away: preemption, eviction, node drain."""
        mark = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": reason,
            "lastTransitionTime": self.api.store.stamp(),
        }
        self.api.store.patch(self.pods, pod, {"status": {"conditions": [mark]}})

    def deletes(self, pod: str, grace: int = 30) -> None:
        """Somebody asks for the pod's deletion; it stays until its containers have ended."""
        end = self.api.store.now() + datetime.timedelta(seconds=grace)
        mark = {
            "deletionTimestamp": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "deletionGracePeriodSeconds": grace,
        }
        self.api.store.patch(self.pods, pod, {"metadata": mark})

    def restarts(self, pod: str, count: int, code: int) -> None:
        """The pod's container failed with this code, and runs again."""
        self.begins_log(pod)
        self.tells_restart(pod, count, code)

    def begins_log(self, pod: str) -> None:
        """The pod's container runs again, with a log of its own; its status does not say so yet."""
        self._started[pod] = self.api.store.stamp()
        self.api.logs.restart(NAMESPACE, pod, self._container(pod))

    def tells_restart(self, pod: str, count: int, code: int) -> None:
        """The pod's status says that its container failed with this code, and runs again."""
        name = self._container(pod)
        ended = {"exitCode": code, "reason": "Error", "finishedAt": self.api.store.stamp()}
        status = {
            "name": name,
            "containerID": f"{self._status(pod)['containerID'].partition('#')[0]}#{count}",
            "restartCount": count,
            "state": {"running": {"startedAt": self._started[pod]}},
            "lastState": {"terminated": {**ended, "containerID": self._status(pod)["containerID"]}},
        }
        known = self.api.store.get(self.pods, pod)["status"].get("containerStatuses") or ()
        statuses = [status, *(each for each in known if each["name"] != name)]
        self.api.store.patch(self.pods, pod, {"status": {"containerStatuses": statuses}})

    def waits(self, pod: str, reason: str, message: str = "") -> None:
        """The pod's container cannot start yet."""
        self._state(pod, "Pending", {"waiting": {"reason": reason, "message": message}})

    def unschedulable(self, pod: str, message: str) -> None:
        """The scheduler finds no node for the pod."""
        found = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        conditions = [{**found, "message": message}]
        self.api.store.patch(self.pods, pod, {"status": {"conditions": conditions}})

    def pulled(self, pod: str, *, seconds_ago: int = 0) -> None:
        """The kubelet's event: the pod's image is there."""
        words = 'Successfully pulled image "img" in 1s (1s including waiting)'
        self._kubelet_event(pod, "Normal", "Pulled", words, seconds_ago)

    def evicted(self, pod: str, message: str) -> None:
        """The kubelet's event, before it ends the containers."""
        self._kubelet_event(pod, "Warning", "Evicted", message)

    def _kubelet_event(
        self, pod: str, type_: str, reason: str, message: str, seconds_ago: int = 0
    ) -> None:
        time = self.api.store.now() - datetime.timedelta(seconds=seconds_ago)
        uid = self.api.store.get(self.pods, pod)["metadata"]["uid"]
        self.api.store.create(
            self.events,
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{pod}.{len(self.api.store.list(self.events))}"},
                "type": type_,
                "reason": reason,
                "message": message,
                "involvedObject": {"kind": "Pod", "name": pod, "uid": uid},
                "firstTimestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
        )

    def schedules(self, pod: str) -> None:
        """The scheduler finds a node for the pod."""
        found = {"type": "PodScheduled", "status": "True"}
        conditions = [{**found, "lastTransitionTime": self.api.store.stamp()}]
        self.api.store.patch(self.pods, pod, {"status": {"conditions": conditions}})

    def warn(self, name: str, reason: str, message: str) -> None:
        """A Warning event about the object of this name."""
        self.api.store.create(
            self.events,
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{name}.{len(self.api.store.list(self.events))}"},
                "type": "Warning",
                "reason": reason,
                "message": message,
                "involvedObject": {"name": name},
            },
        )

    def _terminated(self, pod: str, code: int, reason: str = "") -> dict[str, Any]:
        return {
            "terminated": {
                "exitCode": code,
                "reason": reason or ("Error" if code else "Completed"),
                "startedAt": self._started.get(pod) or self.api.store.stamp(),
                "finishedAt": self.api.store.stamp(),
                "containerID": self._status(pod)["containerID"],
            }
        }

    def _container(self, pod: str) -> str:
        return str(self.api.store.get(self.pods, pod)["spec"]["containers"][0]["name"])

    def _log(self, pod: str) -> ContainerLog:
        return self.api.logs.of(NAMESPACE, pod, self._container(pod))

    def _status(self, pod: str) -> Object:
        """The container's status, as far as there is one."""
        statuses = self.api.store.get(self.pods, pod)["status"].get("containerStatuses")
        uid = self.api.store.get(self.pods, pod)["metadata"]["uid"]
        return dict(statuses[0]) if statuses else {"containerID": f"containerd://{pod}-{uid}"}

    def _state(
        self, pod: str, phase: str, state: dict[str, Any], node: str = "", **status: Any
    ) -> None:
        name = self._container(pod)
        container = {**self._status(pod), "name": name, "state": state}
        known = self.api.store.get(self.pods, pod)["status"].get("containerStatuses") or ()
        others = [each for each in known if each["name"] != name]
        if phase in {"Failed", "Succeeded"}:  # a pod has ended when all its containers have
            end = {"exitCode": 0, "finishedAt": self.api.store.stamp()}
            others = [{**each, "state": {"terminated": end}} for each in others]
        statuses = [container, *others]
        self.api.store.patch(
            self.pods,
            pod,
            {
                "spec": {"nodeName": node or "node-1"},
                "status": {"phase": phase, "containerStatuses": statuses, **status},
            },
        )
