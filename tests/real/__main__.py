"""Make the environments of the real frameworks: ``python -m tests.real [--large]``."""

import argparse
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # as pytest does
from .environments import LARGE, SMALL


def main() -> None:
    """Make what is missing, and say where each environment is."""
    parser = argparse.ArgumentParser(prog="python -m tests.real", description=__doc__)
    parser.add_argument("--large", action="store_true", help="the large ones, too")
    arguments = parser.parse_args()
    for environment in (*SMALL, *(LARGE if arguments.large else ())):
        begin = time.monotonic()
        home = environment.build()
        print(f"{time.monotonic() - begin:6.1f} s  {home}", flush=True)


main()
