"""The benchmark of log following, one command: prints tables of dlf against stern and kubectl.

    PYTHONPATH=tests python -m bench --real [--dlf COMMAND] [--before COMMAND] [--only NAME ...]
    PYTHONPATH=tests python -m bench [--dlf COMMAND] [--only NAME ...]

With `--real` it measures on the project's test cluster, else on the scripted server, which models
loads that the cluster cannot give. `--fast` takes small loads, to try it.
"""

import argparse
import sys

from bench import followers, real
from bench.measure import Result, measure
from bench.report import REAL, Row, table
from bench.server import Load
from cluster.toolchain import STERN

SPEED = [
    Row("lines per CPU-second", lambda r: r.lines / r.cpu, "{:,.0f}", more=True),
    Row("lines per second", lambda r: r.lines / r.wall, "{:,.0f}", more=True),
    Row("peak memory, MB", lambda r: r.memory, "{:.0f}"),
]
LIVE = [
    Row("CPU per line, µs", lambda r: 1e6 * r.cpu / r.lines, "{:.1f}"),
    Row("CPU to open a log, ms", lambda r: 1e3 * r.opening / r.pods, "{:.1f}"),
    Row("delay p50, ms", lambda r: r.delay(0.5), "{:.1f}"),
    Row("delay p99, ms", lambda r: r.delay(0.99), "{:.1f}"),
    Row("peak memory, MB", lambda r: r.memory, "{:.0f}"),
]
FIRST = [Row("seconds to a line of every pod", lambda r: r.first, "{:.2f}")]
FLAT = [
    Row("peak memory, MB", lambda r: r.memory, "{:.0f}"),
    Row("growth in the second half, MB", lambda r: r.growth, "{:.1f}"),
]

SCRIPTED: dict[str, tuple[str, Load, Load, list[Row]]] = {
    "old": (
        "20 pods x 500,000 old lines of 120 bytes",
        Load(pods=20, lines=500_000),
        Load(pods=20, lines=20_000),
        SPEED,
    ),
    "busy": (
        "1,000 pods x 10 lines/s live, for 30 s",
        Load(pods=1000, rate=10, seconds=30),
        Load(pods=100, rate=10, seconds=6),
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

TOOLS = ["stern", "kubectl"]


def main() -> None:
    """Run the cases that were asked for."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--real", action="store_true", help="measure on the test cluster")
    parser.add_argument("--dlf", default=f"{sys.executable} -m dlf", help="command that is dlf")
    parser.add_argument("--before", default="", help="an older dlf, with --real")
    parser.add_argument(
        "--tools", choices=TOOLS, nargs="+", default=TOOLS, help="those besides dlf"
    )
    parser.add_argument("--alone", dest="tools", action="store_const", const=[], help="dlf only")
    parser.add_argument("--only", choices=[*REAL, *SCRIPTED], nargs="+")
    parser.add_argument("--rounds", type=int, help="runs of each; 3 with --real, else 1")
    parser.add_argument("--fast", action="store_true", help="small loads, to try the benchmark")
    options = parser.parse_args()
    if options.real:
        for case, results in real.run(
            options.only or list(REAL),
            fast=options.fast,
            rounds=options.rounds or 3,
            dlf=options.dlf,
            before=options.before,
            tools=options.tools,
        ):
            print(table(case.title + " (fast)" * options.fast, case.rows, results), flush=True)
        return
    for name in options.only or list(SCRIPTED):
        title, full, small, rows = SCRIPTED[name]
        load = small if options.fast else full
        runs: dict[str, list[Result]] = {}
        for _ in range(options.rounds or 1):
            for tool, command in commands(name, options.dlf, options.tools).items():
                runs.setdefault(tool, []).append(measure(command, load, first=name == "first"))
        print(table(title + " (fast)" * options.fast, rows, runs), flush=True)


def commands(case: str, dlf: str, tools: list[str]) -> dict[str, list[str]]:
    """The followers of a case on the scripted server; `{}` is the kubeconfig."""
    found = {"dlf": followers.dlf(dlf, "{}")}
    if "stern" not in tools or case == "flat":
        return found
    if case == "first":
        found["stern, defaults"] = followers.stern(str(STERN.build()), "{}", limit="")
    return found | {"stern": followers.stern(str(STERN.build()), "{}")}


if __name__ == "__main__":
    main()
