"""What is said of a flag that a command does not have."""

import msgspec
import pytest

from dlf.frameworks import load_framework
from dlf.task.flag import settings_of
from dlf.task.settings import Connection, Lifecycle, Logs, Run
from dlf.task.suggest import flag_hint


@pytest.mark.parametrize(
    ("framework", "flag", "hint"),
    [
        ("megatron", "--num_worker", "did you mean --cluster?"),
        ("megatron", "--workers", "did you mean --cluster?"),
        ("pytorch", "--cluster", "did you mean --num_worker?"),
        ("pytorch", "--workers", "did you mean --num_worker?"),
        ("pytorch", "--nnodes", "did you mean --num_worker?"),
        ("pytorch", "--gpus", "did you mean --gpu?"),
        ("pytorch", "--work-images", "did you mean --image?"),
        ("mpi", "--image", "did you mean --work_images?"),
        ("mxnet", "--ps", "did you mean --num_ps?"),
        ("pytorch", "--dryrun", "did you mean --dry-run?"),
        ("pytorch", "--Num_Worker", "did you mean --num_worker?"),
        ("pytorch", "--ps", "see --help"),
        ("pytorch", "--lr", "see --help"),
        ("pytorch", "--epochs", "see --help"),
        ("pytorch", "--batch_size", "see --help"),
        ("pytorch", "--report_to", "see --help"),
        ("pytorch", "--", "see --help"),
        ("pytorch", "-x", "see --help"),
    ],
)
def test_suggestion_is_a_flag_of_the_same_meaning_or_nearly_the_same_spelling(
    framework: str, flag: str, hint: str
) -> None:
    """An unrelated flag is worse than none."""
    groups: list[type[msgspec.Struct]] = [Run, Lifecycle, Logs, Connection]
    groups.insert(0, load_framework(framework).settings)
    known = {s.key: s for group in groups for s in settings_of(group) if s.option}
    assert hint == flag_hint(flag, known)
