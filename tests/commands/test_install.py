"""`dlf install` puts a whole executable in place, or nothing."""

import os
from pathlib import Path

import pytest

from dlf.commands.install import install


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file that stands for the executable."""
    file = tmp_path / "source"
    file.write_bytes(b"\x7fELF...")
    return file


def test_install_to_a_file_name(source: Path, tmp_path: Path) -> None:
    """The copy has the given name, the same bytes, and mode 0555."""
    copied = install(source, tmp_path / "tool")

    assert (copied, copied.read_bytes(), copied.stat().st_mode & 0o777) == (
        tmp_path / "tool",
        b"\x7fELF...",
        0o555,
    )


def test_install_into_a_directory(source: Path, tmp_path: Path) -> None:
    """In a directory the copy is called dlf."""
    (tmp_path / "bin").mkdir()

    assert install(source, tmp_path / "bin") == tmp_path / "bin" / "dlf"


def test_install_replaces_an_older_copy(source: Path, tmp_path: Path) -> None:
    """A read-only copy that is already there is replaced."""
    install(source, tmp_path / "tool")
    source.write_bytes(b"newer")

    install(source, tmp_path / "tool")

    assert (tmp_path / "tool").read_bytes() == b"newer"


def test_install_leaves_nothing_behind_when_it_fails(source: Path, tmp_path: Path) -> None:
    """A destination that cannot be written raises, and no part of the copy stays."""
    with pytest.raises(OSError, match="No such file"):
        install(source, tmp_path / "missing" / "tool")

    assert os.listdir(tmp_path) == ["source"]
