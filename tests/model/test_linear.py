"""Products with weights in float32 and in bfloat16."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from gguf import GGMLQuantizationType as Kind
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from kvscope.model.linear import Linear, dense, plain_product, times_rounded
from tests.support.grouped import in_groups, random_blocks


def layer(inputs: int, outputs: int, dtype: torch.dtype) -> tuple[Linear, Tensor, Tensor]:
    """A layer with its weight and bias. No number of the bias is one in bfloat16."""
    weight = torch.randn(outputs, inputs, generator=torch.Generator().manual_seed(1)).to(dtype)
    bias = torch.full((outputs,), 1 + 2**-12)
    made = Linear(inputs, outputs)
    made.load_state_dict({"weight": weight, "bias": bias}, assign=True)
    return made.requires_grad_(False), weight, bias


class Products(TorchDispatchMode):
    """Which products torch is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.called: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Notes those of matrices, and has everything done."""
        if "mm" in func.__name__:
            self.called.append(func)
        return func(*args, **(kwargs or {}))


def rows_of(count: int, width: int) -> Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("count", [1, 2, 37])
def test_a_float32_weight_that_is_not_packed_gives_torchs_product(count: int) -> None:
    made, weight, bias = layer(96, 48, torch.float32)
    rows = rows_of(count, 96)
    assert torch.equal(made(rows), F.linear(rows, weight, bias))


@pytest.mark.parametrize("count", [1, 2, 37])
@pytest.mark.parametrize(("inputs", "outputs"), [(32, 33), (576, 960), (1536, 576)])
def test_with_a_bfloat16_weight_only_what_goes_in_is_rounded(inputs: int, outputs: int, count: int) -> None:
    made, weight, bias = layer(inputs, outputs, torch.bfloat16)
    rows = rows_of(count, inputs)
    found = made(rows)
    product = rows.bfloat16().double() @ weight.double().T
    assert found.dtype == torch.float32
    # 17 bits of what is rounded, and what adding so many numbers in float32 loses.
    within = product.abs() * 2.0**-17 + 1e-5 * inputs**0.5
    assert ((found.double() - (product + bias)).abs() <= within).all()


def test_on_a_gpu_one_product_gives_float32() -> None:
    with FakeTensorMode():  # shapes, dtypes and devices as on a GPU, without one
        rows = torch.empty(3, 32, device="cuda")
        weight = torch.empty(48, 32, device="cuda", dtype=torch.bfloat16)
        with Products() as products:
            found = times_rounded(rows, weight)
    assert (found.dtype, tuple(found.shape), found.device.type) == (torch.float32, (3, 48), "cuda")
    assert products.called == [torch.ops.aten.mm.dtype]


@pytest.mark.parametrize("biased", [True, False])
def test_a_weight_in_groups_takes_the_place_of_a_dense_one(biased: bool) -> None:
    weight = in_groups((Kind.Q4_0, random_blocks(Kind.Q4_0, 20, 64)), (Kind.Q8_0, random_blocks(Kind.Q8_0, 12, 64)))
    made = Linear(64, 32, bias=biased).requires_grad_(False)
    made.hold(weight)
    made.use(plain_product)
    rows = rows_of(3, 64)
    assert [name for name, _ in made.named_parameters()] == (["bias"] if biased else [])
    assert torch.equal(made.dense(), dense(weight))
    assert torch.equal(made(rows), F.linear(rows, dense(weight), made.bias))
    assert made.bytes_by_format == {"4-bit groups": 32 * 2 * 18, "8-bit groups": 16 * 2 * 34}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_dense_weight_is_read_as_it_is(dtype: torch.dtype) -> None:
    made, weight, _ = layer(32, 48, dtype)
    assert made.dense() is made.weight
    assert made.bytes_by_format == {str(dtype).removeprefix("torch."): weight.nbytes}
