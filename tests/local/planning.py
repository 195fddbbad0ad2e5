"""Plans of rendered jobs, with ports that can be told in advance."""

import itertools
from typing import Any

from dlf.frameworks import BY_NAME
from dlf.local.job import LocalJob, local_job
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.manifest import Manifest


def rendered(name: str, *, volcano: bool = False, **flags: Any) -> Manifest:
    framework = BY_NAME[name]
    kind = VOLCANO_JOB if volcano else framework.kinds[0]
    return framework.render(framework.settings(**{"command": "run me"} | flags), kind, "1f2e")


def planned(manifest: Manifest, leader: str = "") -> LocalJob:
    """The plan, where free ports are 20000, 20001, ... in the order in which they are asked for."""
    ports = itertools.count(20000)
    return local_job(manifest, leader=leader, allocate=lambda: next(ports), scratch="/scratch")
