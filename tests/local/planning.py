"""Plans of rendered jobs, with ports that can be told in advance."""

import itertools
from collections.abc import Callable
from typing import Any

from dlf.frameworks import load_framework
from dlf.local.job import LocalJob, local_job
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.manifest import Manifest


def rendered(name: str, *, volcano: bool = False, **flags: Any) -> Manifest:
    framework = load_framework(name)
    kind = VOLCANO_JOB if volcano else framework.kinds[0]
    return framework.manifest(framework.settings(**{"command": "run me"} | flags), kind, "1f2e")


def hosts() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"127.64.0.{next(numbers)}"


def ports() -> Callable[[int], int]:
    given: set[int] = set()
    spare = itertools.count(20000)

    def port(wanted: int) -> int:
        port = next(spare) if wanted in given else wanted
        given.add(port)
        return port

    return port


def planned(manifest: Manifest, leader: str = "") -> LocalJob:
    """The plan; pods are 127.64.0.1, ...; a port that was given before is 20000, 20001, ..."""
    return local_job(
        manifest, leader=leader, new_host=hosts(), new_port=ports(), scratch="/scratch"
    )
