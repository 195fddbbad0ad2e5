"""What is measured in each case, and the tables: medians with ranges, beside the targets."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.measure import Result


@dataclass(frozen=True)
class Row:
    """One number of a case.

    Attributes:
        label: what it is, and its unit.
        value: gives it.
        format: of one value.
        more: more is better.
        targets: name of a follower, and how many times its number dlf's may be; must be, if more
            is better.
        limit: what dlf's number may be, whatever the others need.
    """

    label: str
    value: Callable[[Result], float]
    format: str
    more: bool = False
    targets: dict[str, float] = field(default_factory=dict)
    limit: float | None = None


@dataclass(frozen=True)
class Case:
    """A load on the real server.

    Attributes:
        title: what it is.
        rows: what is measured.
        pods: how many, one container each.
        lines: that each has written before.
        rate: lines that each writes in a second.
        played: the pods are too many for a node; `bench.kubelet` plays them.
    """

    title: str
    rows: list[Row]
    pods: int
    fast_pods: int
    lines: int = 0
    fast_lines: int = 0
    rate: float = 0.0
    played: bool = False


MEMORY = Row("peak memory, MB", lambda r: r.memory, "{:.0f}")
LIVE = [
    Row("delay p50, ms", lambda r: r.delay(0.5), "{:.2f}", limit=1.0),
    Row("delay p99, ms", lambda r: r.delay(0.99), "{:.1f}", targets={"stern": 1.0}),
    Row("CPU per line, µs", lambda r: 1e6 * r.cpu / r.lines, "{:.0f}", targets={"stern": 1.0}),
    Row("API server, % of a CPU", lambda r: _share(r, "kube-apiserver"), "{:.0f}"),
]
REAL: dict[str, Case] = {
    "catch-up": Case(
        "20 pods x 50,000 lines of 107 bytes, all written before",
        [
            Row(
                "lines per CPU-second",
                lambda r: r.lines / r.cpu,
                "{:,.0f}",
                more=True,
                targets={"stern": 2.0, "kubectl": 1.5},
            ),
            Row("of its CPU in the kernel, %", lambda r: 100 * r.kernel / r.cpu, "{:.0f}"),
            Row("wall, s", lambda r: r.wall, "{:.1f}", targets={"stern": 0.8, "kubectl": 1.0}),
            Row(
                "API server + kubelet, CPU-s",
                lambda r: sum(r.servers.values()),
                "{:.1f}",
                targets={"stern": 0.6},
            ),
            Row("API server, CPU-s", lambda r: r.servers["kube-apiserver"], "{:.1f}"),
            Row("kubelet, CPU-s", lambda r: r.servers["kubelet"], "{:.1f}"),
            MEMORY,
        ],
        pods=20,
        fast_pods=3,
        lines=50_000,
        fast_lines=5_000,
    ),
    "live": Case(
        "100 pods x 10 lines/s live",
        [*LIVE, Row("kubelet, % of a CPU", lambda r: _share(r, "kubelet"), "{:.0f}"), MEMORY],
        pods=100,
        fast_pods=5,
        rate=10.0,
    ),
    "many": Case(
        "1,000 pods x 1 line/s live, played behind the real API server",
        [
            *LIVE,
            Row(
                "CPU to open a log, ms",
                lambda r: 1e3 * r.opening / r.pods,
                "{:.2f}",
                targets={"stern": 1.0},
            ),
            Row("all logs open after, s", lambda r: r.first, "{:.1f}"),
            Row("peak memory, MB", lambda r: r.memory, "{:.0f}", targets={"stern": 0.5}),
        ],
        pods=1000,
        fast_pods=60,
        rate=1.0,
        played=True,
    ),
}


def _share(result: Result, server: str) -> float:
    """Percent of a CPU that a server used in the window of live lines."""
    return 100 * result.servers[server] / result.window


def table(title: str, rows: list[Row], results: dict[str, list[Result]]) -> str:
    """Markdown: one row a number, one column a follower, then the targets and what is reached."""
    names = list(results)
    text = [f"### {title}", "", f"| | {' | '.join(names)} | target | reached |"]
    text.append("|---" * (len(names) + 3) + "|")
    for row in rows:
        values = {
            name: [row.value(each) for each in runs]
            for name, runs in results.items()
            if all(each.finished for each in runs)
        }
        cells = [_cell(row, values[n]) if n in values else "did not finish" for n in names]
        middle = {name: statistics.median(numbers) for name, numbers in values.items()}
        targets, reached = _targets(row, middle)
        text.append(f"| {row.label} | {' | '.join(cells)} | {targets} | {reached} |")
    return "\n".join(text) + "\n"


def _cell(row: Row, values: list[float]) -> str:
    middle = row.format.format(statistics.median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({row.format.format(min(values))} - {row.format.format(max(values))})"


def _targets(row: Row, middle: dict[str, float]) -> tuple[str, str]:
    """The targets of a row in words, and what dlf reaches of each."""
    if "dlf" not in middle:
        return "", ""
    sign = "≥" if row.more else "≤"
    targets, reached = [], []
    if row.limit is not None:
        targets.append(f"{sign} {row.limit:g}")
        reached.append(_verdict(middle["dlf"] <= row.limit, row.format.format(middle["dlf"])))
    for name, factor in row.targets.items():
        if name in middle:
            ratio = middle["dlf"] / middle[name]
            holds = ratio >= factor if row.more else ratio <= factor
            targets.append(f"{sign} {factor:g} x {name}")
            reached.append(_verdict(holds, f"{ratio:.2f} x"))
    return ", ".join(targets), ", ".join(reached)


def _verdict(holds: bool, number: str) -> str:
    return number if holds else f"**{number}**"
