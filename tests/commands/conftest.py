"""A console at a fresh cluster for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands.console import Console, console


@pytest.fixture
def cluster(
    request: pytest.FixtureRequest, dlf_command: list[str], tmp_path: Path
) -> Iterator[Console]:
    """Commands run in this process, which is quick, or as the executable that --binary names."""
    with console(tmp_path, dlf_command if request.config.getoption("--binary") else None) as opened:
        yield opened


@pytest.fixture
def cluster_here(tmp_path: Path) -> Iterator[Console]:
    """Commands run in this process, where a test can change what they are made of."""
    with console(tmp_path) as opened:
        yield opened
