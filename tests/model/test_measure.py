from __future__ import annotations

import pytest

from kvscope.model.api import Refused
from kvscope.model.measure import LEAST_TAKES, MOST_TAKES, measure
from tests.support.tiny_runs import finish, request, service


def test_both_are_what_the_shortest_take_gives() -> None:
    measured = measure("cpu", read_side=256, product_side=64)
    assert measured["bandwidth"]["bytes"] == 4 * 256**2
    assert measured["peak"]["flops"] == 2 * 64**3
    for part, amount in (("bandwidth", "bytes"), ("peak", "flops")):
        found = measured[part]
        assert LEAST_TAKES <= len(found["takes_ms"]) <= MOST_TAKES
        assert found["per_second"] == pytest.approx(found[amount] / min(found["takes_ms"]) * 1000)


def test_a_run_that_goes_on_is_not_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvscope.model.service.measure", lambda device: {"device": device})
    made = service()
    assert made.measure() == {"device": "cpu"}
    made.start(request("a"))
    with pytest.raises(Refused, match="A run is being computed") as refused:
        made.measure()
    assert refused.value.status == 409
    finish(made)
    assert made.measure() == {"device": "cpu"}
