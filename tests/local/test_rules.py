"""When a job is over."""

import pytest

from dlf.local.rules import OperatorRules, has_succeeded

MASTER = OperatorRules(succeed=(frozenset({"m"}),), fatal=frozenset({"m", "w"}))
ALL = OperatorRules(succeed=(frozenset({"m", "w"}),), fatal=frozenset())


@pytest.mark.parametrize(
    ("rules", "codes", "decision"),
    [
        pytest.param(MASTER, {}, None, id="all run"),
        pytest.param(MASTER, {"w": 0}, None, id="the deciding pod runs"),
        pytest.param(MASTER, {"m": 0}, True, id="the deciding pod succeeded"),
        pytest.param(MASTER, {"w": 1}, False, id="any pod failed"),
        pytest.param(MASTER, {"m": 0, "w": 1}, False, id="failure wins"),
        pytest.param(ALL, {"w": 1}, None, id="a failure that is not fatal"),
        pytest.param(ALL, {"w": 1, "m": 0}, False, id="all ended, not all succeeded"),
        pytest.param(ALL, {"w": 0, "m": 0}, True, id="all succeeded"),
    ],
)
def test_decide_is_the_operators_decision(
    rules: OperatorRules, codes: dict[str, int], decision: bool | None
) -> None:
    """From the exit codes of those that have ended, whatever the order was."""
    assert decision is has_succeeded(rules, codes, 2)
