"""Response bodies of the API server other than objects: only the fields that are read."""

from typing import TypeVar

import msgspec

from dlf.errors import ClusterLost
from dlf.manifest.observed import ListMeta, Meta, Observed

T = TypeVar("T")


class ObjectList(Observed):
    """A list of objects of any kind, or one page of it."""

    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None


class ObjectMetadata(Observed):
    """The metadata of an object of any kind."""

    metadata: Meta = Meta()


class APIResource(Observed):
    """metav1.APIResource. Its name is a plural, or PLURAL/SUBRESOURCE."""

    name: str = ""


class APIResourceList(Observed):
    """metav1.APIResourceList: what one version of an API group serves."""

    resources: list[APIResource] | None = None


class GroupVersion(Observed):
    """metav1.GroupVersionForDiscovery."""

    version: str = ""


class APIGroup(Observed):
    """metav1.APIGroup: its versions, the preferred one first."""

    versions: list[GroupVersion] | None = None


class SubjectAccessReviewStatus(Observed):
    """authorizationv1.SubjectAccessReviewStatus."""

    allowed: bool = False


class SelfSubjectAccessReview(Observed):
    """authorizationv1.SelfSubjectAccessReview."""

    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


def decode(content: bytes | msgspec.Raw, type_: type[T]) -> T:
    """Decode what the API server sent.

    Raises:
        ClusterLost: it is not what Kubernetes sends; another server answers at this address.
    """
    try:
        return msgspec.json.decode(content, type=type_)
    except msgspec.DecodeError as error:
        raise ClusterLost(
            f"cannot decode the API server's answer: {error}", "check the server's URL"
        ) from error
