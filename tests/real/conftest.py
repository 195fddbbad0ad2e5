"""The table of what was tried, written when the session has ended."""

from collections.abc import Iterator

import pytest
from cluster.conftest import cluster, workspace
from cluster.test_mpi import kubectl_image

from .table import Table

__all__ = ["cluster", "kubectl_image", "table", "workspace"]


@pytest.fixture(scope="session")
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    """Takes the outcome of each trial; with --update-golden the page takes them over."""
    table = Table()
    yield table
    if request.config.getoption("--update-golden"):
        table.write()
