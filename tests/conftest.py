"""What every test has: an environment without the platform in it, and the options of the suite."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fast", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("fast"), max_examples=1000)
settings.load_profile("fast")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--binary", type=Path, help="the built executable to test")
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the platform, the flags or the cluster of whoever runs it."""
    for variable in list(os.environ):
        if variable.startswith(("KFJ_", "DLF_", "KUBE")):
            monkeypatch.delenv(variable)
