"""The spec of batch.volcano.sh/v1alpha1 Job and of bus.volcano.sh/v1alpha1 Command.

All that Volcano's webhook would default is written out, since its admission may not be installed.
"""

from dlf.manifest.meta import ObjectMeta, Written
from dlf.manifest.pods import PodTemplate


class LifecyclePolicy(Written):
    """batch.volcano.sh LifecyclePolicy: what the controller does when the event happens."""

    event: str
    action: str


class TaskSpec(Written):
    """batch.volcano.sh TaskSpec: one role. Pods are named `<job>-<task>-<index>`."""

    name: str
    replicas: int
    min_available: int
    max_retry: int
    template: PodTemplate
    policies: list[LifecyclePolicy] = []


class VolcanoJobSpec(Written):
    """batch.volcano.sh JobSpec. `max_retry` counts attempts: 1 is no retry, 0 cannot be said."""

    min_available: int
    max_retry: int
    queue: str
    scheduler_name: str
    plugins: dict[str, list[str]]
    policies: list[LifecyclePolicy]
    tasks: list[TaskSpec]
    priority_class_name: str = ""
    ttl_seconds_after_finished: int | None = None


class Command(Written):
    """bus.volcano.sh Command: asks Volcano's controller for one action on a job, then vanishes."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    action: str
    target: dict[str, str | bool]
