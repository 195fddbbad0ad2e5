"""Checks whether the nodes of a cluster could ever hold all pods of a job.

Necessary conditions only: pods that run there now are left out of account, since they end.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from dlf.manifest.observed import Meta, Observed
from dlf.manifest.pods import NodeSelectorRequirement, PodSpec, Toleration
from dlf.task.resources import size


class Taint(Observed):
    """corev1.Taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Observed):
    """corev1.NodeSpec."""

    unschedulable: bool = False
    taints: list[Taint] | None = None


class NodeStatus(Observed):
    """corev1.NodeStatus: what is there for pods, resource name to quantity."""

    allocatable: dict[str, str] | None = None


class Node(Observed):
    """corev1.Node."""

    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class RolePods(msgspec.Struct, frozen=True):
    """The pods of one role: all have the same spec."""

    name: str
    replicas: int
    spec: PodSpec


def unschedulable_reason(nodes: Sequence[Node], roles: Sequence[RolePods]) -> str:
    """Why the pods can never all run, or "" when nothing is known against it."""
    wanted: Counter[str] = Counter()
    offered: dict[str, Decimal] = {}
    usable: set[str] = set()
    for role in roles:
        refusals = Counter(filter(None, (_refusal(node, role.spec) for node in nodes)))
        matching = [node for node in nodes if not _refusal(node, role.spec)]
        if not matching:
            reasons = ", ".join(f"{count} {reason}" for reason, count in refusals.most_common(4))
            return f"none of {len(nodes)} nodes takes a {role.name}: {reasons or 'there is none'}"
        requests = _requests(role.spec)
        places = sum(_pods_that_fit(node, requests) for node in matching)
        if places < role.replicas:
            lacking = _missing_resource(matching, requests)
            return (
                f"{len(matching)} matching nodes have room for {places} of {role.replicas}"
                f" {role.name} pods" + (f": {lacking}" if lacking else "")
            )
        for name, amount in requests.items():
            wanted[name] += int(amount * role.replicas * 1000)
        for node in matching:
            if node.metadata.name not in usable:
                usable.add(node.metadata.name)
                for name, amount in _allocatable(node).items():
                    offered[name] = offered.get(name, Decimal(0)) + amount
    for name, thousandths in wanted.items():
        if thousandths > offered.get(name, Decimal(0)) * 1000:
            return f"all pods together want more {name} than the matching nodes have"
    return ""


def _refusal(node: Node, spec: PodSpec) -> str:
    """Why this node takes no such pod at all, or ""."""
    labels = node.metadata.labels or {}
    if node.spec.unschedulable:
        return "cordoned"
    for taint in node.spec.taints or ():
        keeps_off = taint.effect in {"NoSchedule", "NoExecute"}
        if keeps_off and not any(_tolerates(each, taint) for each in spec.tolerations):
            return f"tainted {taint.key}"
    for key, value in spec.node_selector.items():
        if labels.get(key) != value:
            return f"without {key}={value}"
    required = spec.affinity.node_affinity if spec.affinity else None
    terms = required.required.node_selector_terms if required else []
    if terms and not any(all(_matches(r, labels) for r in t.match_expressions) for t in terms):
        return "outside the node affinity"
    return ""


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """As the scheduler decides: an empty key or effect stands for all."""
    return (
        toleration.effect in {"", taint.effect}
        and toleration.key in {"", taint.key}
        and (toleration.operator == "Exists" or toleration.value == taint.value)
    )


def _matches(rule: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    match rule.operator:
        case "In":
            return labels.get(rule.key) in rule.values
        case "NotIn":
            return labels.get(rule.key) not in rule.values
        case "Exists":
            return rule.key in labels
        case "DoesNotExist":
            return rule.key not in labels
        case _:
            return True


def _requests(spec: PodSpec) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for container in spec.containers:
        if container.resources:
            wanted = {**container.resources.limits, **container.resources.requests}
            for name, quantity in wanted.items():
                total[name] = total.get(name, Decimal(0)) + size(quantity)
    return {name: amount for name, amount in total.items() if amount}


def _allocatable(node: Node) -> dict[str, Decimal]:
    return {name: size(quantity) for name, quantity in (node.status.allocatable or {}).items()}


def _pods_that_fit(node: Node, requests: Mapping[str, Decimal]) -> int:
    """How many such pods an empty node holds."""
    there = _allocatable(node)
    room = [int(there.get(name, Decimal(0)) // amount) for name, amount in requests.items()]
    return min([*room, int(there.get("pods", Decimal(110)))])


def _missing_resource(nodes: Sequence[Node], requests: Mapping[str, Decimal]) -> str:
    """The resource that each pod wants more of than any node has, or ""."""
    for name, amount in requests.items():
        most = max(_allocatable(node).get(name, Decimal(0)) for node in nodes)
        if most < amount:
            return f"each wants {amount.normalize():f} of {name}, no node has more than {most:f}"
    return ""
