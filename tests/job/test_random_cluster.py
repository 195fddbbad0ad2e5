"""The check of random histories demands the right explanation of lines that were not printed."""

import pytest
from job.random_cluster import explanations

POD = "job-worker-0/pytorch"
GONE = "the log is gone before it was read"


@pytest.mark.parametrize(
    ("message", "restart", "generation", "is_one"),
    [
        (f"{POD}: {GONE}", 0, 0, True),
        (f"{POD} (restart 1): {GONE}", 1, 0, True),
        (f"logs not read: other-0/pytorch: x, {POD}: {GONE}", 0, 0, True),
        (f"{POD} (restart 1): {GONE}", 0, 0, False),
        (f"{POD}: {GONE}", 1, 0, False),
        (f"{POD} (restart 1): container restarted, its log begins anew", 1, 0, False),
        (f"{POD} (each of restarts 1 to 3): {GONE}", 3, 0, True),
        (f"{POD} (each of restarts 1 to 3): {GONE}", 0, 0, False),
        (f"other-0/pytorch: x, {POD} (each of restarts 9 to 10): {GONE}", 10, 0, True),
        (f"{POD} (created again): {GONE}", 0, 1, True),
        (f"{POD} (created again): {GONE}", 0, 0, False),
        (f"{POD} (created again 2 times, restart 1): {GONE}", 1, 2, True),
        (f"{POD} (created again 2 times, restart 1): {GONE}", 1, 1, False),
        (f"{POD} (created again, each of restarts 0 to 2): {GONE}", 2, 1, True),
        ("pod job-worker-0 failed: exit code 1", 0, 0, False),
        (f"job-worker-01/pytorch: {GONE}", 0, 0, False),
    ],
)
def test_only_a_message_about_the_very_log_explains_it(
    message: str, restart: int, generation: int, is_one: bool
) -> None:
    """Not one about another container instance, and not the word of a restart."""
    found = explanations([message], POD, restart, generation)

    assert found == ([message] if is_one else [])
