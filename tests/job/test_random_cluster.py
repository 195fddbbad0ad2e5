"""The check of random histories demands the right explanation of lines that were not printed."""

import pytest
from job.random_cluster import explanations

POD = "job-worker-0/pytorch"
GONE = "the log is gone before it was read"


@pytest.mark.parametrize(
    ("message", "restart", "is_unread", "is_one"),
    [
        (f"{POD}: {GONE}", 0, False, True),
        (f"{POD} (restart 1): {GONE}", 1, False, True),
        (f"logs not read: other-0/pytorch: x, {POD}: {GONE}", 0, False, True),
        (f"{POD} (restart 1): {GONE}", 0, False, False),
        (f"{POD}: {GONE}", 1, False, False),
        (f"{POD} (restart 1): container restarted, its log begins anew", 1, False, False),
        (f"{POD}: 2 earlier logs gone unread", 1, True, True),
        (f"{POD}: 2 earlier logs gone unread", 1, False, False),
        ("pod job-worker-0 failed: exit code 1", 0, True, False),
        (f"job-worker-01/pytorch: {GONE}", 0, True, False),
    ],
)
def test_only_a_message_about_the_very_log_explains_it(
    message: str, restart: int, is_unread: bool, is_one: bool
) -> None:
    """Not one about another container instance, and not the word of a restart."""
    found = explanations([message], POD, restart, is_unread=is_unread)

    assert found == ([message] if is_one else [])
