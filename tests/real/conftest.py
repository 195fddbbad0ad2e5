"""The table of what was tried, written when the session has ended."""

from collections.abc import Iterator

import pytest

from .table import Table


@pytest.fixture(scope="session")
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    """Takes the outcome of each trial; with --update-golden the page takes them over."""
    table = Table()
    yield table
    if request.config.getoption("--update-golden"):
        table.write()
