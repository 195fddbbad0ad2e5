"""Where a thing is in the API, and what it is called in RBAC."""

from urllib.parse import quote

from dlf.kube.refusal import Action
from dlf.manifest.kinds import Kind

POD_LOG = Kind(group="", version="v1", name="PodLog", plural="pods/log")
ACCESS_REVIEW = Kind(
    group="authorization.k8s.io",
    version="v1",
    name="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
)


def path_of(kind: Kind, namespace: str, name: str = "", subresource: str = "") -> str:
    """The path of a collection, an object or its subresource.

    Args:
        kind: of the object.
        namespace: "" for what has none, or for all.
        name: "" for the collection.
        subresource: such as `log`.
    """
    parts = ["/apis", kind.group] if kind.group else ["/api"]
    parts.append(kind.version)
    if namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(kind.plural)
    if name:
        parts.append(quote(name, safe=""))
    if subresource:
        parts.append(subresource)
    return "/".join(parts)


def action_of(verb: str, kind: Kind, namespace: str, name: str = "") -> Action:
    """The same in RBAC's words, for messages."""
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    return Action(verb, resource, namespace, name)
