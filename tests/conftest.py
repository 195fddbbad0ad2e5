"""What every test has: an environment without the platform in it, and the options of the suite."""

import os
import sys
from pathlib import Path

import pytest
from executable import Executable
from hypothesis import HealthCheck, settings

# The same examples each time, so that a change fails by what it changes; `thorough` looks for more.
settings.register_profile(
    "fast",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", parent=settings.get_profile("fast"), max_examples=1000, derandomize=False
)
settings.load_profile("fast")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--binary", type=Path, help="the built executable to test instead of the module"
    )
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "commandline: runs dlf as words; --binary gives other ones")


@pytest.hookimpl(tryfirst=True)  # before -m selects by it
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what can test the executable as well: every test that takes `dlf_command`."""
    for item in items:
        if "dlf_command" in getattr(item, "fixturenames", ()):
            item.add_marker("commandline")


@pytest.fixture(scope="session")
def dlf_command(request: pytest.FixtureRequest) -> list[str]:
    """The words that run dlf as a process: this interpreter's module, or the executable."""
    binary = request.config.getoption("--binary")
    return Executable(binary).command if binary else [sys.executable, "-m", "dlf"]


@pytest.fixture(autouse=True)
def clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No test sees the platform, the flags, the cluster or the local runs of whoever runs it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
    for variable in list(os.environ):
        if variable.startswith(("KFJ_", "DLF_", "KUBE")):
            monkeypatch.delenv(variable)
