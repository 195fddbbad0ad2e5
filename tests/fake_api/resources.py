"""What the server serves, written down here and not taken from dlf: a second opinion."""

from fake_api.store import Object, StatusError

RESOURCES: dict[tuple[str, str], dict[str, str]] = {
    ("", "v1"): {
        "pods": "Pod",
        "events": "Event",
        "services": "Service",
        "configmaps": "ConfigMap",
        "secrets": "Secret",
        "serviceaccounts": "ServiceAccount",
        "persistentvolumeclaims": "PersistentVolumeClaim",
        "resourcequotas": "ResourceQuota",
        "namespaces": "Namespace",
        "nodes": "Node",
    },
    ("kubeflow.org", "v1"): {
        "pytorchjobs": "PyTorchJob",
        "tfjobs": "TFJob",
        "paddlejobs": "PaddleJob",
        "mxjobs": "MXJob",
        "mpijobs": "MPIJob",
        "xgboostjobs": "XGBoostJob",
    },
    ("kubeflow.org", "v2beta1"): {"mpijobs": "MPIJob"},
    ("batch.volcano.sh", "v1alpha1"): {"jobs": "Job"},
    ("bus.volcano.sh", "v1alpha1"): {"commands": "Command"},
    ("scheduling.volcano.sh", "v1beta1"): {"podgroups": "PodGroup", "queues": "Queue"},
    ("scheduling.k8s.io", "v1"): {"priorityclasses": "PriorityClass"},
    ("authorization.k8s.io", "v1"): {"selfsubjectaccessreviews": "SelfSubjectAccessReview"},
}

CLUSTER_SCOPED = {"namespaces", "nodes", "queues", "priorityclasses", "selfsubjectaccessreviews"}

Resources = dict[tuple[str, str], dict[str, str]]


def discover(resources: Resources, path: str) -> Object:
    """The answer to /api, /apis, /apis/GROUP, /api/v1 or /apis/GROUP/VERSION."""
    match path.strip("/").split("/"):
        case ["version"]:
            return {"major": "1", "minor": "33", "gitVersion": "v1.33.1"}
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"]}
        case ["api", version] if ("", version) in resources:
            return _resource_list(resources, "", version)
        case ["apis"]:
            names = dict.fromkeys(group for group, _ in resources if group)
            groups = [_group(resources, name) for name in names]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group] if any(group == name for name, _ in resources):
            return _group(resources, group)
        case ["apis", group, version] if (group, version) in resources:
            return _resource_list(resources, group, version)
        case _:
            raise StatusError(404, "NotFound", "the server could not find the requested resource")


def _resource_list(resources: Resources, group: str, version: str) -> Object:
    rows = []
    for plural, kind in resources[group, version].items():
        row = {
            "name": plural,
            "singularName": kind.lower(),
            "namespaced": plural not in CLUSTER_SCOPED,
            "kind": kind,
            "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
        }
        rows += [row, {**row, "name": f"{plural}/status", "verbs": ["get", "patch", "update"]}]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": rows,
    }


def _group(resources: Resources, group: str) -> Object:
    """The version that stands first in the table is the preferred one."""
    versions = [
        {"groupVersion": f"{group}/{version}", "version": version}
        for name, version in resources
        if name == group
    ]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": versions,
        "preferredVersion": versions[0],
    }
