"""Which pod sees which accelerator."""

import pytest

from dlf.local.accelerators import Accelerators, assign, present

CUDA, ASCEND = "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("devices", "env", "accelerators"),
    [
        pytest.param(["null", "nvidiactl", "nvidia-uvm"], {}, None, id="no accelerator"),
        pytest.param(["nvidia10", "nvidia2"], {}, Accelerators(CUDA, ("2", "10")), id="NVIDIA"),
        pytest.param(
            ["davinci0", "davinci_manager"], {}, Accelerators(ASCEND, ("0",)), id="Ascend"
        ),
        pytest.param(
            ["nvidia0", "nvidia1"],
            {CUDA: "1, GPU-5f"},
            Accelerators(CUDA, ("1", "GPU-5f")),
            id="chosen",
        ),
        pytest.param(["nvidia0"], {CUDA: ""}, None, id="hidden"),
        pytest.param(["null"], {CUDA: "0"}, None, id="chosen, but not there"),
    ],
)
def test_accelerators_present_are_the_device_files(
    devices: list[str], env: dict[str, str], accelerators: Accelerators | None
) -> None:
    """One file a card; an environment that selects accelerators already leaves no others."""
    assert accelerators == present(devices, env)


@pytest.mark.parametrize(
    ("wanted", "seen"),
    [
        pytest.param([1, 1], ["0", "1"], id="one each"),
        pytest.param([2, 2], ["0,1", "2,3"], id="two each"),
        pytest.param([3, 3], ["0,1,2", "3,0,1"], id="too few are shared"),
        pytest.param([9], ["0,1,2,3"], id="more than there are"),
        pytest.param([-1, -1], ["0,1,2,3", "0,1,2,3"], id="all for everyone"),
        pytest.param([0, 1], [None, "0"], id="none asked for"),
    ],
)
def test_cards_are_assigned_to_one_pod_each(wanted: list[int], seen: list[str | None]) -> None:
    """In the order of ranks, as long as there are enough."""
    accelerators = Accelerators(CUDA, ("0", "1", "2", "3"))
    assert seen == [variables.get(CUDA) for variables in assign(accelerators, wanted)]
