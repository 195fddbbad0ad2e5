"""The benchmark of log following, one command: prints a table of dlf against stern.

    PYTHONPATH=tests python -m bench [--stern PATH] [--dlf COMMAND] [--only NAME] [--fast]

stern is looked for among the tools that the cluster tests build.
"""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from bench.measure import Result, measure
from bench.server import Load

TEMPLATE = r'{{.PodName}} {{.Message}}{{"\n"}}'
LOGS = "logs bench --kind PyTorchJob --namespace bench --kubeconfig {}"

Row = tuple[str, Callable[[Result], float], str, bool]
"""What is measured, how to get it, its format, whether more is better."""

SPEED: list[Row] = [
    ("lines per CPU-second", lambda r: r.lines / r.cpu, "{:,.0f}", True),
    ("lines per second", lambda r: r.lines / r.wall, "{:,.0f}", True),
    ("peak memory, MB", lambda r: r.memory, "{:.0f}", False),
]
LIVE: list[Row] = [
    ("CPU per line, µs", lambda r: 1e6 * (r.cpu - r.opening) / r.lines, "{:.1f}", False),
    ("CPU to open a log, ms", lambda r: 1e3 * r.opening / r.pods, "{:.1f}", False),
    ("delay p50, ms", lambda r: r.delay(0.5), "{:.1f}", False),
    ("delay p99, ms", lambda r: r.delay(0.99), "{:.1f}", False),
    ("peak memory, MB", lambda r: r.memory, "{:.0f}", False),
]
FIRST: list[Row] = [("seconds to a line of every pod", lambda r: r.first, "{:.2f}", False)]
FLAT: list[Row] = [
    ("peak memory, MB", lambda r: r.memory, "{:.0f}", False),
    ("growth in the second half, MB", lambda r: r.growth, "{:.1f}", False),
]

CASES: dict[str, tuple[str, Load, Load, list[Row]]] = {
    "catch-up": (
        "20 pods x 500,000 old lines of 120 bytes",
        Load(pods=20, lines=500_000),
        Load(pods=20, lines=20_000),
        SPEED,
    ),
    "chunks": (
        "the same, each line an HTTP chunk of its own",
        Load(pods=20, lines=100_000, chunk=0),
        Load(pods=20, lines=10_000, chunk=0),
        SPEED,
    ),
    "live": (
        "1,000 pods x 10 lines/s live, for 30 s",
        Load(pods=1000, rate=10, seconds=30),
        Load(pods=100, rate=10, seconds=5),
        LIVE,
    ),
    "first": ("first lines of 300 pods", Load(pods=300, lines=1), Load(pods=40, lines=1), FIRST),
    "flat": (
        "10 GB from 20 pods",
        Load(pods=20, lines=4_200_000),
        Load(pods=20, lines=50_000),
        FLAT,
    ),
}


def find_stern() -> str:
    """The stern that tests/cluster/tools has built, or "" when there is none."""
    found = sorted(Path("~/.cache/dlf/tools").expanduser().glob("*/bin/stern"))
    return str(found[-1]) if found else ""


def stern(path: str, *flags: str) -> list[str]:
    """stern as the old launchers ran it: `POD MESSAGE`."""
    base = [path, ".", "-n", "bench", "--kubeconfig", "{}", "--color", "never"]
    return [*base, "--template", TEMPLATE.replace("{", "{{").replace("}", "}}"), *flags]


def table(title: str, rows: list[Row], results: dict[str, Result]) -> str:
    """Markdown: one row a number, one column a tool, and how many times better dlf is."""
    names = list(results)
    text = [f"### {title}", "", f"| | {' | '.join(names)} | dlf is better by |"]
    text.append("|---" * (len(names) + 2) + "|")
    for label, value, form, more in rows:
        values = {name: value(result) for name, result in results.items() if result.finished}
        cells = [form.format(values[n]) if n in values else "did not finish" for n in names]
        ratio = ""
        if {"dlf", "stern"} <= values.keys():
            ours, theirs = values["dlf"], values["stern"]
            ratio = f"{ours / theirs if more else theirs / ours:.2f} x"
        text.append(f"| {label} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(text) + "\n"


def main() -> None:
    """Run the cases that were asked for."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--stern", default=find_stern(), help="path of stern; empty for none")
    parser.add_argument("--dlf", default=f"{sys.executable} -m dlf", help="command that is dlf")
    parser.add_argument("--only", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--fast", action="store_true", help="small loads, to try the benchmark")
    options = parser.parse_args()
    for name in options.only:
        title, full, small, rows = CASES[name]
        load = small if options.fast else full
        results = {"dlf": measure(shlex.split(f"{options.dlf} {LOGS}"), load)}
        if options.stern and name == "first":
            results["stern, defaults"] = measure(stern(options.stern), load)
        if options.stern and name != "flat":
            many = ["--max-log-requests", "5000"]
            results["stern"] = measure(stern(options.stern, *many), load)
        sys.stdout.write(table(title, rows, results) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
