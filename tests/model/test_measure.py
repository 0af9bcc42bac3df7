from __future__ import annotations

from statistics import median

import pytest
import torch

from kvscope.model.api import Refused
from kvscope.model.grouped import Groups
from kvscope.model.linear import Linear, plain_product
from kvscope.model.measure import LEAST_TAKES, MOST_TAKES, measure
from kvscope.model.weights import weights_read
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


@pytest.mark.parametrize("grouped", [False, True])
def test_the_weights_are_read_as_the_engine_holds_them(grouped: bool) -> None:
    layers = [Linear(64, 32, bias=False), Linear(32, 64, bias=False)]
    for layer in layers:
        torch.nn.init.normal_(layer.weight)
        if grouped:
            outputs, inputs = layer.weight.shape
            q = torch.randint(0, 256, (outputs, inputs // 32, 16), dtype=torch.uint8)
            layer.hold((Groups.of(q, torch.ones(outputs, inputs // 32), None, 4),))
            layer.use(plain_product)
    read = measure("cpu", weights=layers, read_bytes=4 * 64**2, product_side=8)["weights"]
    assert read["formats"] == weights_read(layers)
    assert read["bytes"] == sum(read["formats"].values())
    assert read["bytes"] < 2 * 4 * 64 * 32 if grouped else read["bytes"] == 2 * 4 * 64 * 32
    assert read["per_second"] == pytest.approx(read["bytes"] / median(read["takes_ms"]) * 1000)


def test_a_run_that_goes_on_is_not_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvscope.model.service.service.measure", lambda device, dtype, _: {"measured": (device, dtype)})
    for dtype in (torch.bfloat16, torch.float32):
        made = service(dtype=dtype)
        assert made.measure() == {"measured": ("cpu", dtype)}
    made.start(request("a"))
    with pytest.raises(Refused, match="A run is being computed") as refused:
        made.measure()
    assert refused.value.status == 409
    finish(made)
    assert made.measure() == {"measured": ("cpu", torch.float32)}
