"""The table in docs/explanation/frameworks.md: what was tried, and how it went."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .runs import Run

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "frameworks.md"
TRIED = ("trains", "rank killed", "rank raises")
_HEAD = ("framework", "version", "runtime", *TRIED)
_NOT_TRIED = "-"


@dataclass
class Row:
    """One framework on one runtime."""

    version: str = ""
    cells: dict[str, str] = field(default_factory=dict)
    """By what was tried: the outcome, and the seconds that it took."""


@dataclass
class Cell:
    """One trial, while it runs."""

    row: Row
    seconds: float = 0.0

    def ran(self, run: Run, library: str) -> Run:
        """Take version and seconds from a run."""
        self.seconds = run.seconds
        self.row.version = run.version(library)
        return run


@dataclass
class Table:
    """The rows that a session of tests has filled, by framework and runtime."""

    rows: dict[tuple[str, str], Row] = field(default_factory=dict)

    @contextmanager
    def cell(self, framework: str, runtime: str, tried: str) -> Iterator[Cell]:
        """Note how the block ends: `passed` when nothing is raised in it; nothing on Ctrl-C."""
        cell = Cell(self.rows.setdefault((framework, runtime), Row()))
        began = time.monotonic()
        outcome = "FAILED"
        try:
            yield cell
            outcome = "passed"
        except KeyboardInterrupt:
            outcome = ""
            raise
        finally:
            seconds = cell.seconds or time.monotonic() - began
            if outcome:
                cell.row.cells[tried] = f"{outcome}, {seconds:.0f} s"

    def write(self, page: Path = PAGE) -> None:
        """Put the rows into the page, over those that it has of the same framework and runtime."""
        text = page.read_text()
        rows = read(text)
        for key, row in self.rows.items():
            cells = rows[key].cells if key in rows else {}
            rows[key] = Row(row.version or rows[key].version, cells | row.cells)
        page.write_text(_TABLE.sub(lambda _: render(rows), text))


_TABLE = re.compile(r"^\| framework \|.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def read(text: str) -> dict[tuple[str, str], Row]:
    """The rows of the table in a page."""
    found = _TABLE.search(text)
    rows = {}
    for line in found[0].splitlines()[2:] if found else []:
        name, version, runtime, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name, runtime] = Row(version, dict(zip(TRIED, cells, strict=True)))
    return rows


def render(rows: dict[tuple[str, str], Row]) -> str:
    """The table, in the order of names; local before cluster."""
    lines = [_HEAD, ["---"] * len(_HEAD)]
    for name, runtime in sorted(rows, key=lambda key: (key[0].lower(), key[1] != "local")):
        row = rows[name, runtime]
        cells = (row.cells.get(tried, _NOT_TRIED) for tried in TRIED)
        lines.append([name, row.version, runtime, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
