"""The table of docs/explanation/frameworks.md: of the examples and versions that are tried."""

from pathlib import Path

from .cases import LARGE, MPI4PY, PARAMETER_SERVERS, SMALL, TORCH, Case
from .environments import Environment
from .table import PAGE, TRIED, Row, Table, read


def pinned_version(environment: Environment) -> str:
    """The version of the framework in an environment; "" for what Debian decides."""
    requirements = [source.requirement for source in environment.sources] or environment.pinned
    return requirements[0].partition("==")[2] if requirements else ""


def test_table_has_what_every_run_tries() -> None:
    """No example of the small ones is left out, on the local runtime or in pods."""
    expected = {(case.name, "local") for case in (*SMALL, PARAMETER_SERVERS)}
    expected |= {(case.name, "cluster") for case in (TORCH, MPI4PY)}
    assert expected <= set(read(PAGE.read_text()))


def test_table_tells_of_the_pinned_versions() -> None:
    """After a change of a version the table is written anew, and of nothing else."""
    cases: dict[str, Case] = {case.name: case for case in (*SMALL, PARAMETER_SERVERS, *LARGE)}
    rows = read(PAGE.read_text())
    assert {name for name, _ in rows} <= set(cases)
    differ = {
        name: row.version
        for (name, _), row in rows.items()
        if not row.version.startswith(pinned_version(cases[name].environment))
    }
    assert differ == {}


def test_table_keeps_what_was_not_tried(tmp_path: Path) -> None:
    """A run writes its own cells, and no other."""
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n| framework | version |\n| --- | --- |\n\nAfter.\n")
    first, second = Table(), Table()
    first.rows["JAX", "local"] = Row("0.1", {"trains": "passed, 2 s", "rank killed": "FAILED, 3 s"})
    first.write(page)
    second.rows["JAX", "local"] = Row("0.2", {"rank killed": "passed, 4 s"})
    second.rows["MXNet", "cluster"] = Row("1.9", dict.fromkeys(TRIED, "passed, 5 s"))
    second.write(page)
    assert page.read_text().splitlines() == [
        "Before.",
        "",
        "| framework | version | runtime | trains | rank killed | rank raises |",
        "| --- | --- | --- | --- | --- | --- |",
        "| JAX | 0.2 | local | passed, 2 s | passed, 4 s | - |",
        "| MXNet | 1.9 | cluster | passed, 5 s | passed, 5 s | passed, 5 s |",
        "",
        "After.",
    ]
