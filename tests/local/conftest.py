"""The subject of the tests in this room."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from local.dlf_process import Dlf


@pytest.fixture
def dlf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Dlf]:
    """dlf; whatever the test did with it, no process of its jobs is left in the end."""
    binary = request.config.getoption("--binary")
    runner = Dlf([str(binary.resolve())] if binary else [sys.executable, "-m", "dlf"], tmp_path)
    yield runner
    assert [] == runner.left_over()
