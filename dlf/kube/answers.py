"""What the API server answers besides objects: only the parts that are read."""

from typing import TypeVar

import msgspec

from dlf.errors import ClusterLost
from dlf.manifest.observed import ListMeta, Meta, Observed

T = TypeVar("T")


class Page(Observed):
    """A list of objects of any kind."""

    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None


class Object(Observed):
    """An object of any kind."""

    metadata: Meta = Meta()


class Served(Observed):
    """metav1.APIResource, or metav1.GroupVersionForDiscovery."""

    name: str = ""
    version: str = ""


class Discovery(Observed):
    """metav1.APIResourceList, or metav1.APIGroup."""

    resources: list[Served] | None = None
    versions: list[Served] | None = None


class Verdict(Observed):
    """authorizationv1.SubjectAccessReviewStatus."""

    allowed: bool = False


class Review(Observed):
    """authorizationv1.SelfSubjectAccessReview."""

    status: Verdict = Verdict()


def decode(content: bytes | msgspec.Raw, type_: type[T]) -> T:
    """Decode what the API server sent.

    Raises:
        ClusterLost: it is not what Kubernetes sends; something else answers at this address.
    """
    try:
        return msgspec.json.decode(content, type=type_)
    except msgspec.DecodeError as error:
        raise ClusterLost(
            f"the API server's answer is not understood: {error}", "is the server's URL right?"
        ) from error
