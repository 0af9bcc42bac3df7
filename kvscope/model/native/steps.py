"""Computes decode steps by `block` of kernels.c: one call for each block, where torch needs forty operations.

The call writes all values to a buffer, and the step passes them to the same hook points as torch would.
"""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import CDLL, POINTER, Structure, c_float, c_int64, c_void_p
from itertools import accumulate
from math import prod

from torch import Tensor

from kvscope.model.api import ComputedBy
from kvscope.model.config import ModelConfig
from kvscope.model.hooks import hook_points
from kvscope.model.kv_cache import KVCache
from kvscope.model.native.products import Linear, function, linear, pointer
from kvscope.model.transformer import MLP, AttentionGroup, Batch, Block, Rope, Transformer

VALUES = (
    *("normed", "qkv", "qk", "rotated", "scores", "weights", "mixed", "change", "middle"),
    *("mlp_normed", "gate_up", "hidden", "mlp_change", "end"),
)
"""The values that a call writes to the buffer, in the order of `struct pass`."""


class NativeBlock(Structure):
    """`struct block`."""

    _fields_ = (
        *((name, Linear) for name in ("qkv", "out", "gate_up", "down")),
        *((name, c_void_p) for name in ("attn_norm", "mlp_norm", "q_norm", "k_norm")),
        *((name, c_int64) for name in ("heads", "kv_heads", "head_dim", "d", "d_mlp")),
        ("eps", c_float),
    )


class NativePass(Structure):
    """`struct pass`."""

    _fields_ = (
        *((name, c_void_p) for name in ("cosine", "sine", "slots", "read", "visible")),
        *((name, c_int64) for name in ("rows", "length", "pool", *VALUES)),
    )


class NativeSteps:
    """Native passes of `transformer` over `cache` with one new row of each sequence."""

    by: ComputedBy = "native"

    def __init__(self, library: CDLL, transformer: Transformer, cache: KVCache):
        self.block = function(library.block, POINTER(NativeBlock), POINTER(NativePass), *[c_void_p] * 4)
        self.transformer, self.cache = transformer, cache
        self.blocks = [block for block in transformer.blocks if isinstance(block, Block)]
        self.points = [hook_points(block) for block in self.blocks]
        in_blocks = {f"blocks.{layer}.{name}": name for layer, points in enumerate(self.points) for name in points}
        shown = {"resid_in", *_parts(transformer.config)}
        self._hidden = {name for name, point in in_blocks.items() if point not in shown}
        self.natives = [_native(block) for block in self.blocks]
        self.stored = [(keys.data_ptr(), values.data_ptr()) for keys, values in cache.by_layer]

    def for_pass(self, batch: Batch, observed: Iterable[str], written: Iterable[str]) -> NativeStep | None:
        """Returns a native step for this pass; None unless the pass has one new row of each sequence, no hook point is
        `written`, and every `observed` one is in the buffer.
        """
        group = batch.one_row_each
        if group is None or any(written) or not self._hidden.isdisjoint(observed):
            return None
        return NativeStep(self, batch, group)


class NativeStep:
    """Computes one pass in place of the transformer's blocks."""

    def __init__(self, steps: NativeSteps, batch: Batch, group: AttentionGroup):
        self._steps, self._referenced = steps, (batch, group)  # `_pass` points to their tensors
        self.blocks = [self._block] * len(steps.blocks)
        self.head = steps.transformer.decode_rows
        shapes = _shapes(steps.transformer, group)
        starts = [0, *accumulate(map(prod, shapes.values()))]
        self._size = starts.pop()
        self._places = _places(steps.transformer, shapes, dict(zip(VALUES, starts, strict=True)))
        # All layers have a window, or none has (`implements`), so the slots of one layer are those of every layer.
        own, places = (steps.cache.places(0, slots) for slots in (batch.slots, group.slots))
        visible = group.seen(steps.transformer.config.has_window(0))
        self._slots = own, places
        self._pass = NativePass(
            *(None, None, pointer(own), pointer(places), pointer(visible)),
            *(group.sequences, group.keys, steps.cache.by_layer[0].shape[2], *starts),
        )

    def _block(self, rows: Tensor, batch: Batch, rope: Rope, cache: KVCache, layer: int) -> Tensor:
        steps, native = self._steps, self._pass
        assert rope is not None
        points = steps.points[layer]
        points["resid_in"](rows)
        native.cosine, native.sine = rope[0].data_ptr(), rope[1].data_ptr()
        buffer = rows.new_empty(self._size)
        steps.block(*(steps.natives[layer], native, rows.data_ptr()), *steps.stored[layer], buffer.data_ptr())
        for name, place in self._places.items():
            if name in points and points[name].observers:
                points[name](buffer.as_strided(*place))
        return buffer.as_strided(*self._places["resid_out"])


def _native(block: Block) -> NativeBlock:
    """Returns the block as a `struct block`, which points to its weights."""
    config, attn, mlp = block.attn.config, block.attn, block.mlp
    assert isinstance(mlp, MLP)
    norms = [attn.norm, mlp.norm, *((attn.q_norm, attn.k_norm) if config.qk_norm else ())]
    weights = [norm.get_parameter("weight").data_ptr() for norm in norms]
    return NativeBlock(
        *(linear(each.groups, each.bias) for each in (attn.qkv, attn.out, mlp.gate_up, mlp.down)),
        *(*weights, None, None)[:4],
        *(config.heads, config.kv_heads, config.head_dim, config.d, config.d_mlp, config.norm_eps),
    )


def _shapes(transformer: Transformer, group: AttentionGroup) -> dict[str, tuple[int, ...]]:
    """Returns the shape of each of `VALUES`."""
    config, T, K = transformer.config, group.sequences, group.keys
    H, Hkv, Dh, D, F = config.heads, config.kv_heads, config.head_dim, config.d, config.d_mlp
    rows, attention = (T, D), (T, Hkv, H // Hkv, 1, K)
    shapes = (
        *(rows, (T, H + 2 * Hkv, Dh), (T, H + Hkv if config.qk_norm else 0, Dh), (T, H + Hkv, Dh)),
        *(attention, attention, (T, H, Dh), rows, rows, rows, (T, 2 * F), (T, F), rows, rows),
    )
    return dict(zip(VALUES, shapes, strict=True))


Place = tuple[tuple[int, ...], tuple[int, ...], int]
"""Size, stride and offset of a tensor in the buffer."""


def _places(transformer: Transformer, shapes: dict[str, tuple[int, ...]], starts: dict[str, int]) -> dict[str, Place]:
    """Returns the place of each hook point's value in the buffer: some or all columns or heads of one of `VALUES`."""
    places = {}
    for name, (value, first, end) in _parts(transformer.config).items():
        T, width, *rest = shapes[value]
        stride = tuple(prod(shapes[value][axis + 1 :]) for axis in range(len(shapes[value])))
        places[name] = ((T, (width if end is None else end) - first, *rest), stride, starts[value] + first * stride[1])
    return places


def _parts(config: ModelConfig) -> dict[str, tuple[str, int, int | None]]:
    """Returns by hook point the name of its value in `VALUES`, the first of its columns or heads, and the one after the
    last; None for all the rest.
    """
    H, both, F = config.heads, config.heads + config.kv_heads, config.d_mlp
    qk = "qk" if config.qk_norm else "qkv"
    return {
        **{name: (value, 0, None) for name, value in WHOLE.items()},
        "attn.q_raw": ("qkv", 0, H),
        "attn.k_raw": ("qkv", H, both),
        "attn.v": ("qkv", both, None),
        "attn.q": (qk, 0, H),
        "attn.k": (qk, H, both),
        "attn.q_rot": ("rotated", 0, H),
        "attn.k_rot": ("rotated", H, both),
        "mlp.gate": ("gate_up", 0, F),
        "mlp.raised": ("gate_up", F, None),
    }


WHOLE = {
    "attn.normed": "normed",
    "attn.scores": "scores",
    "attn.weights": "weights",
    "attn.mixed": "mixed",
    "attn.change": "change",
    "resid_mid": "middle",
    "mlp.normed": "mlp_normed",
    "mlp.hidden": "hidden",
    "mlp.change": "mlp_change",
    "resid_out": "end",
}
"""The whole value in `VALUES` of a hook point, by the hook point's name."""
