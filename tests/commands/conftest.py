"""A console at a fresh cluster for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands.console import Console, console


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path) as opened:
        yield opened
