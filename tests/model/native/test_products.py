"""Products with weights in groups, against those of the weights that `gguf` itself dequantizes, in float64."""

from __future__ import annotations

from ctypes import CDLL, c_float
from types import SimpleNamespace
from typing import Any, cast

import gguf
import pytest
import torch
import torch.nn.functional as F
from gguf import GGMLQuantizationType as Kind
from torch import Tensor

from kvscope.model.checkpoint.gguf_groups import KINDS
from kvscope.model.grouped import PLAIN, GroupedEmbedding, Groups
from kvscope.model.linear import GroupedWeight, dense, plain_product
from kvscope.model.native import Native, Unavailable
from tests.support.grouped import SCALES, in_groups, random_blocks

COUNTS = (*range(1, 15), 37)
CLOSE = 5e-7
"""Of the lengths of both factors: what adding products in float32 loses."""


def parts(*sizes: tuple[Kind, int], inputs: int = 512) -> tuple[GroupedWeight, Tensor]:
    """A weight in groups, and the same as `gguf` dequantizes it, float32 [outputs, inputs]."""
    blocks = [(kind, random_blocks(kind, outputs, inputs, seed)) for seed, (kind, outputs) in enumerate(sizes)]
    plain = [torch.from_numpy(gguf.quants.dequantize(each, kind)) for kind, each in blocks]
    return in_groups(*blocks), torch.cat(plain)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def check(native: Native, weight: GroupedWeight, plain: Tensor, bias: Tensor | None) -> None:
    product, slow = native.products(weight, bias), plain_product(weight, bias)
    for count in COUNTS:
        rows = random(count, plain.shape[1])
        exact = rows.double() @ plain.double().T
        exact = exact if bias is None else exact + bias.double()
        within = CLOSE * rows.norm(dim=1)[:, None] * plain.norm(dim=1)
        for found in (product(rows), slow(rows)):
            assert found.dtype == torch.float32
            assert found.shape == exact.shape
            assert ((found - exact).abs() <= within).all()


def test_every_kind_that_is_held_in_groups_is_tried() -> None:
    assert set(SCALES) == set(KINDS)


@pytest.mark.parametrize("outputs", [1, 16, 37, 80])
@pytest.mark.parametrize("kind", KINDS)
def test_they_are_those_of_the_dequantized_weight(kind: Kind, outputs: int, native: Native) -> None:
    check(native, *parts((kind, outputs)), None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bias_is_added(kind: Kind, native: Native) -> None:
    check(native, *parts((kind, 37)), random(37))


@pytest.mark.parametrize(
    "sizes",
    [
        [(Kind.Q4_K, 37), (Kind.Q6_K, 21)],
        [(Kind.Q4_K, 16), (Kind.Q5_K, 5), (Kind.Q4_K, 32)],
        [(Kind.Q5_0, 48), (Kind.Q8_0, 7)],
        [(Kind.Q4_1, 3), (Kind.Q4_0, 3), (Kind.Q5_1, 3)],
    ],
    ids=lambda sizes: "+".join(kind.name for kind, _ in sizes),
)
@pytest.mark.parametrize("biased", [False, True])
def test_parts_of_other_kinds_give_their_outputs_one_after_another(
    sizes: list[tuple[Kind, int]], biased: bool, native: Native
) -> None:
    """Files called Q4_K_M have V, unlike Q and K, in Q6_K."""
    weight, plain = parts(*sizes)
    assert len(weight) == len(sizes)
    check(native, weight, plain, random(len(plain)) if biased else None)


def test_parts_of_one_kind_are_one() -> None:
    weight, plain = parts((Kind.Q4_0, 5), (Kind.Q4_0, 18))
    assert len(weight) == 1
    assert torch.equal(dense(weight), plain)


@pytest.mark.parametrize("inputs", [32, 96])
@pytest.mark.parametrize("kind", [Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q8_0])
def test_a_row_may_be_a_few_groups(kind: Kind, inputs: int, native: Native) -> None:
    check(native, *parts((kind, 37), inputs=inputs), None)


def test_rows_may_lie_anywhere(native: Native) -> None:
    weight, plain = parts((Kind.Q4_1, 37))
    product, wide = native.products(weight, None), random(6, 1024)
    for rows in (wide[:, 3:515], wide[:, ::2], wide[1:2, :512], random(512, 3).T):
        assert torch.equal(product(rows), product(rows.contiguous()))
    assert product(random(0, 512)).shape == (0, len(plain))


def test_any_number_of_threads_gives_the_same(native: Native) -> None:
    weight, plain = parts((Kind.Q4_1, 130), (Kind.Q8_0, 33))
    product = native.products(weight, random(len(plain)))
    for count in (1, 8, 37):
        rows = random(count, 512)
        found = []
        for threads in (1, 2, 3):  # the fixture of all tests of the model puts the number back
            torch.set_num_threads(threads)
            found.append(product(rows))
        assert torch.equal(found[0], found[1])
        assert torch.equal(found[0], found[2])


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_the_same_bits_among_any_others(kind: Kind, native: Native) -> None:
    weight, _ = parts((kind, 150))
    product, rows = native.products(weight, None), random(40, 512)
    whole = product(rows)
    for first, end in ((0, 1), (3, 5), (5, 8), (8, 12), (0, 7), (11, 24), (1, 40)):
        assert torch.equal(product(rows[first:end]), whole[first:end])


@pytest.mark.parametrize("dtype", PLAIN, ids=str)
@pytest.mark.parametrize(("outputs", "inputs"), [(1, 32), (37, 40), (150, 512), (16, 6)])
def test_plain_weights_are_multiplied_as_they_are(
    dtype: torch.dtype, outputs: int, inputs: int, native: Native
) -> None:
    plain = random(outputs, inputs).to(dtype)
    groups = Groups.plain(plain)
    assert groups is not None
    assert groups.format in str(dtype)
    assert torch.equal(groups.dense(), plain.float())
    assert torch.equal(groups.rows(torch.tensor([outputs - 1, 0])), plain[[outputs - 1, 0]].float())
    check(native, (groups,), plain.float(), random(outputs))


@pytest.mark.parametrize("kind", KINDS)
def test_the_dequantized_weight_is_that_of_gguf_to_the_bit(kind: Kind) -> None:
    weight, plain = parts((kind, 37))
    assert torch.equal(dense(weight), plain)
    ids = torch.tensor([5, 0, 36, 5, 16, 15])
    assert torch.equal(GroupedEmbedding(*weight)(ids), F.embedding(ids, plain))
    assert torch.equal(GroupedEmbedding(*weight).weight, plain)


class TestComparison:
    """At each start, with what torch gives."""

    @pytest.mark.parametrize("off", [1e-3, float("nan"), float("inf")])
    @pytest.mark.parametrize("miscompiled", ["one row", "many rows", "the last output"])
    def test_a_library_that_computes_otherwise_is_refused(self, miscompiled: str, off: float, native: Native) -> None:
        right = native._library.product

        def wrong(weight: Any, rows: int, count: int, sums: int, out: int, threads: int) -> None:
            right(weight, rows, count, sums, out, threads)
            last = count * weight.outputs - 1
            if miscompiled == "the last output" or (count == 1) == (miscompiled == "one row"):
                numbers = (c_float * (last + 1)).from_address(out)
                numbers[last] += off * max(map(abs, numbers))

        with pytest.raises(Unavailable, match=r"^its products with [48]-bit groups are not torch's$"):
            Native(cast(CDLL, SimpleNamespace(product=wrong, step=None)))

    def test_one_that_rounds_otherwise_is_not(self, native: Native) -> None:
        right = native._library.product

        def rounded(weight: Any, rows: int, count: int, sums: int, out: int, threads: int) -> None:
            right(weight, rows, count, sums, out, threads)
            numbers = (c_float * (count * weight.outputs)).from_address(out)
            numbers[0] *= 1 + 1e-6

        Native(cast(CDLL, SimpleNamespace(product=rounded, step=native._library.step)))
