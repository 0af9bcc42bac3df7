from __future__ import annotations

from statistics import median

import pytest
import torch

from kvscope.model.api import Refused
from kvscope.model.measure import LEAST_TAKES, MOST_TAKES, measure
from tests.support.tiny_runs import finish, request, service


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_both_are_what_the_shortest_take_gives(dtype: str) -> None:
    measured = measure("cpu", getattr(torch, dtype), read_bytes=4 * 256**2, product_side=64)
    assert measured["dtype"] == dtype
    assert measured["bandwidth"]["bytes"] == pytest.approx(4 * 256**2, rel=0.01)
    assert measured["peak"]["flops"] == 2 * 64**3
    for part, amount in (("bandwidth", "bytes"), ("peak", "flops")):
        found = measured[part]
        assert LEAST_TAKES <= len(found["takes_ms"]) <= MOST_TAKES
        assert found["per_second"] == pytest.approx(found[amount] / median(found["takes_ms"]) * 1000)
        assert found["spread"][0] <= found["per_second"] <= found["spread"][1]


def test_a_run_that_goes_on_is_not_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvscope.model.service.service.measure", lambda device, dtype: {"measured": (device, dtype)})
    for dtype in (torch.bfloat16, torch.float32):
        made = service(dtype=dtype)
        assert made.measure() == {"measured": ("cpu", dtype)}
    made.start(request("a"))
    with pytest.raises(Refused, match="A run is being computed") as refused:
        made.measure()
    assert refused.value.status == 409
    finish(made)
    assert made.measure() == {"measured": ("cpu", torch.float32)}
