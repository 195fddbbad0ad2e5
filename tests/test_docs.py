"""What the documents say agrees with the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dlf import __version__

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def test_reference_is_generated_from_the_code() -> None:
    """docs/reference holds exactly what build/docs.py writes."""
    check = subprocess.run(
        [sys.executable, ROOT / "build" / "docs.py", "--check"], capture_output=True, text=True
    )

    assert (check.returncode, check.stderr) == (0, "")


def test_changelog_begins_with_this_version() -> None:
    """The newest entry of the changelog is the version of the package."""
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert newest is not None
    assert newest[1] == __version__


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    """Every relative link names a file of the project."""
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_both_readmes_show_the_same_commands() -> None:
    """The Chinese README has the commands of the English one."""
    commands = [
        re.findall(r"```sh\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
        for name in ("README.md", "README.zh-CN.md")
    ]

    assert commands[0]
    assert commands[0] == commands[1]
