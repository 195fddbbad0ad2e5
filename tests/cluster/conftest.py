"""One cluster a session and operator, one namespace a test."""

import secrets
from collections.abc import Iterator

import kubernetes
import pytest

from .cluster import Cluster, running_cluster
from .operators import TRAINING_OPERATOR_1_9
from .workspace import Workspace


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The cluster that most tests share, with training-operator 1.9."""
    with running_cluster(TRAINING_OPERATOR_1_9) as running:
        yield running


@pytest.fixture
def workspace(cluster: Cluster) -> Iterator[Workspace]:
    """A namespace of the test's own; its pods are gone, or going, when the test ends."""
    name = f"test-{secrets.token_hex(4)}"
    yield cluster.workspace(name)
    cluster.api.delete(f"/api/v1/namespaces/{name}").raise_for_status()


@pytest.fixture
def client(workspace: Workspace) -> Iterator[kubernetes.client.ApiClient]:
    """The official client with the launcher's credentials."""
    kubeconfig = str(workspace.kubeconfig)
    with kubernetes.config.new_client_from_config(kubeconfig) as client:  # type: ignore[no-untyped-call]
        yield client
