"""Ranks are counted as the framework counts them."""

from typing import Any

import msgspec
import pytest
from local.planning import planned, rendered

from dlf.diagnose.roles import roles_of
from dlf.frameworks import kind_of
from dlf.manifest.manifest import to_json
from dlf.manifest.observed import Job, Meta, Pod


@pytest.mark.parametrize(
    ("name", "volcano", "flags", "expected"),
    [
        pytest.param(
            "mxnet",
            volcano,
            {"num_ps": 1, "num_worker": 2},
            {"scheduler-0": None, "server-0": None, "worker-0": 0, "worker-1": 1},
            id="mxnet" + "-volcano" * volcano,
        )
        for volcano in (False, True)
    ]
    + [
        pytest.param(
            "paddle",
            False,
            {"num_ps": 1, "num_worker": 2},
            {"master-0": None, "worker-0": 0, "worker-1": 1},
            id="paddle",
        ),
        pytest.param(
            "pytorch", False, {"num_worker": 2}, {"master-0": 0, "worker-0": 1}, id="pytorch"
        ),
        pytest.param(
            "megatron",
            True,
            {"cluster": (("server", 1), ("worker", 2))},
            {"server-0": 0, "worker-0": 1, "worker-1": 2},
            id="megatron",
        ),
    ],
)
def test_ranks_are_those_of_the_framework(
    name: str, volcano: bool, flags: dict[str, Any], expected: dict[str, int | None]
) -> None:
    """In a cluster, by labels, as on this machine; the number of ranks leaves servers out."""
    manifest = rendered(name, volcano=volcano, **flags)
    kind = kind_of(manifest)
    local = {
        each.pod.removeprefix(f"{manifest.metadata.name}-"): each.rank
        for each in planned(manifest).processes
    }
    roles = roles_of(msgspec.json.decode(to_json(manifest), type=Job))
    found = {}
    for pod in expected:
        role, _, index = pod.rpartition("-")
        labels = {kind.role_label: role, kind.index_label: index}
        found[pod] = roles.identify(Pod(metadata=Meta(name=pod, labels=labels))).rank
    assert (expected, expected) == (local, found)
    assert len([rank for rank in expected.values() if rank is not None]) == roles.ranks
