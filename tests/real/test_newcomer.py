"""The README's first command, for somebody who has PyTorch and nothing else."""

import re
import shlex
from pathlib import Path

import pytest

from dlf.errors import ExitCode

from .environments import TORCH, TORCH_OF_DEBIAN, Environment
from .runs import PROJECT, run

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param(TORCH_OF_DEBIAN, id="Debian's"),
        pytest.param(TORCH, id="PyPI's", marks=pytest.mark.large),
    ],
)
def test_readme_trains_with_the_torch_that_is_there(
    readme: str, environment: Environment, tmp_path: Path
) -> None:
    """The first line of every process names torch and its version, before anything else."""
    found = re.search(
        r"\.venv/bin/dlf (pytorch --runtime local .*)", (PROJECT / readme).read_text()
    )
    assert found
    ended = run(shlex.split(found[1]), environment, tmp_path / "report")
    assert ended.code == ExitCode.SUCCEEDED, ended.output + ended.errors
    first = f"training with torch {ended.version('torch')}, torch.distributed with gloo"
    assert ended.first_words() == dict.fromkeys(("master-0", "worker-0", "worker-1"), first)
