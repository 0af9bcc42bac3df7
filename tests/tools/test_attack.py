"""The quick attacks of `python -m tools.faults.attack`, which makes all of them."""

import pytest

from tools.faults.attack import QUICK, attacked

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("name", QUICK)
def test_an_attack_stays_within_its_limit(name: str) -> None:
    result = attacked(name)
    assert result.held, result.measured
