"""The subject of the tests in this room."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from local.dlf_process import Dlf


@pytest.fixture
def dlf(dlf_command: list[str], tmp_path: Path) -> Iterator[Dlf]:
    """dlf; whatever the test did with it, no process of its jobs is left in the end."""
    runner = Dlf(dlf_command, tmp_path)
    yield runner
    left = runner.left_over()
    runner.kill_left_over()
    assert [] == left
