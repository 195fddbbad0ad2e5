"""Counts the instructions of fixed runs of dlf, and prints the change against `instructions.json`.

    PYTHONPATH=tests python -m bench.instructions [--dlf dist/dlf-linux-amd64] [--update]

A count hardly depends on what else the machine does, so a change of one percent is seen where
seconds show nothing. It does depend on the executable: the numbers are of the one for amd64 that
build/binary.py makes. valgrind counts; processors in virtual machines often do not. It is a job to
look at, not a test: it fails only when a run does not reach its end.
"""

import argparse
import json
import re
import select
import subprocess
import tempfile
from pathlib import Path

from bench import followers
from bench.measure import environment, scripted_server
from bench.server import Load

NUMBERS = Path(__file__).with_name("instructions.json")
RUNS = {
    "catch-up": Load(pods=5, lines=10_000),
    # Far enough apart that each line wakes dlf on its own, also at valgrind's pace.
    "live": Load(pods=10, rate=2, seconds=10),
    "open": Load(pods=100, lines=1),
}
"""What is run: `dlf logs` of these, until the last line has come."""
PATIENCE = 120.0  # seconds without a line
_REFERENCES = re.compile(rb"I\s+refs:\s+([\d,]+)")


def count(dlf: str, load: Load) -> int:
    """Instructions of one run, from the start of the process to its end.

    Raises:
        RuntimeError: not all lines came, or valgrind did not count.
    """
    with scripted_server(load) as kubeconfig, tempfile.TemporaryDirectory() as folder:
        out = f"--cachegrind-out-file={folder}/out"
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", out]
        command = [*valgrind, *followers.dlf(dlf, str(kubeconfig))]
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, env=environment(), bufsize=0
            ) as process,
        ):
            assert process.stdout is not None
            lines = 0
            while lines < load.total and select.select([process.stdout], [], [], PATIENCE)[0]:
                data = process.stdout.read(1 << 20)
                if not data:
                    break
                lines += data.count(b"\n")
            process.terminate()
            process.stdout.read()
            process.wait()
            errors.seek(0)
            said = errors.read()
    found = _REFERENCES.search(said)
    if lines < load.total or found is None:
        raise RuntimeError(f"{lines} of {load.total} lines; it said: {said[-2000:].decode()}")
    return int(found[1].replace(b",", b""))


def main() -> None:
    """Count each run and print what has changed."""
    parser = argparse.ArgumentParser(prog="bench.instructions")
    parser.add_argument("--dlf", default="dist/dlf-linux-amd64", help="the executable")
    parser.add_argument("--update", action="store_true", help="write the numbers down")
    options = parser.parse_args()
    before = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    now = {name: count(options.dlf, load) for name, load in RUNS.items()}
    for name, number in now.items():
        change = f"{100 * (number / before[name] - 1):+.1f} %" if name in before else "new"
        print(f"{name:10} {number / 1e6:10,.1f} million instructions  {change}")
    if options.update:
        version = subprocess.check_output([options.dlf, "--version"], text=True).strip()
        NUMBERS.write_text(json.dumps({"executable": version, **now}, indent=1) + "\n")


if __name__ == "__main__":
    main()
