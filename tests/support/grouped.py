"""Weights in GGUF's groups: random ones of every kind, and tiny models that have all their matrices in groups."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind
from torch import Tensor

from kvscope.model.checkpoint import Checkpoint, load
from kvscope.model.checkpoint.gguf_groups import groups_of
from kvscope.model.checkpoint.layout import Slot, slots
from kvscope.model.config import ModelConfig
from kvscope.model.linear import GroupedWeight, dense
from kvscope.model.transformer import Weight
from tests.support.tiny import random_weights
from tests.support.tiny_files import gguf_tensors, write_gguf

SCALES: dict[Kind, tuple[int, ...]] = {
    Kind.Q4_0: (0,),
    Kind.Q4_1: (0, 2),
    Kind.Q5_0: (0,),
    Kind.Q5_1: (0, 2),
    Kind.Q8_0: (0,),
    Kind.Q4_K: (0, 2),
    Kind.Q5_K: (0, 2),
    Kind.Q6_K: (208,),
}
"""Where a block of each kind has its float16 numbers (ggml-common.h)."""
CODES = {"llama": Kind.Q4_1, "qwen2": Kind.Q5_1, "qwen3": Kind.Q4_0, "gpt2": Kind.Q8_0}
"""Another way to store a weight in the tiny file of each architecture."""


Q4_K_M = {"token_embd": Kind.Q6_K, "attn_v": Kind.Q6_K, "ffn_down": Kind.Q5_K}
"""Which matrices files called so have in finer kinds than Q4_K, by a word of their names; nearly."""


def random_blocks(kind: Kind, outputs: int, inputs: int, seed: int = 0) -> np.ndarray:
    """Bytes [outputs, bytes of a row] as a file has them: every number that a kind can have, and small scales."""
    rng = np.random.default_rng(seed)
    weights, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(256, size=(outputs, inputs // weights, size), dtype=np.uint8)
    for at in SCALES[kind]:
        scales = rng.uniform(-0.05, 0.05, blocks.shape[:2]).astype(np.float16)
        blocks[..., at : at + 2] = scales[..., None].view(np.uint8)
    return blocks.reshape(outputs, -1)


def in_groups(*parts: tuple[Kind, np.ndarray]) -> GroupedWeight:
    """A weight of parts that a file has in these kinds of blocks."""
    named = {str(number): part for number, part in enumerate(parts)}
    slot = Slot("weight", (), tuple((name, len(blocks)) for name, (_, blocks) in named.items()), matrix=True)
    found = groups_of(slot, lambda name: (SimpleNamespace(kind=named[name][0]), named[name][1]))  # type: ignore[arg-type,return-value]
    assert found is not None
    return found


def grouped_weights(config: ModelConfig, kind: Kind = Kind.Q4_1) -> dict[str, Weight]:
    """As `random_weights`, with every matrix but those that `kind` has no whole blocks for in groups."""
    found: dict[str, Weight] = dict(random_weights(config))
    for slot in slots(config):
        weight = found[slot.name]
        if slot.matrix and isinstance(weight, Tensor) and weight.shape[1] % gguf.GGML_QUANT_SIZES[kind][0] == 0:
            found[slot.name] = in_groups((kind, gguf.quants.quantize(weight.numpy(), kind)))
    return found


def plainly(weights: dict[str, Weight]) -> dict[str, Weight]:
    """The same weights, dense."""
    return {name: weight if isinstance(weight, Tensor) else dense(weight) for name, weight in weights.items()}


def write_grouped(path: Path, arch: str = "llama", tied: bool = True, **kinds: Kind) -> None:
    """A tiny file with all matrices in groups. `kinds`: of tensors whose names have that word in them."""
    tensors = gguf_tensors(arch)
    if not tied:
        tensors["output.weight"] = tensors["token_embd.weight"][::-1].copy()
    matrices = [name for name, value in tensors.items() if value.ndim == 2 and name != "position_embd.weight"]
    stored = {name: next((kind for word, kind in kinds.items() if word in name), CODES[arch]) for name in matrices}
    keys: dict[str, Any] = {"attention__key_length": 8} if arch == "qwen3" else {}
    write_gguf(path, arch, tensors=tensors, kinds=stored, **keys)


def write_k_quants(path: Path) -> None:
    """A model 256 wide whose matrices are in kinds of blocks that `gguf` does not quantize to."""
    tensors, kinds = dict[str, np.ndarray](), dict[str, Kind]()
    for name, value in gguf_tensors().items():
        if value.ndim == 1:
            tensors[name] = np.tile(value, 8) * np.float32(0.3)
            continue
        kind = next((kind for word, kind in Q4_K_M.items() if word in name), Kind.Q4_K)
        outputs = len(value) if name == "token_embd.weight" else {16: 128, 32: 256, 64: 512}[len(value)]
        tensors[name] = random_blocks(kind, outputs, 512 if "ffn_down" in name else 256, seed=len(tensors))
        kinds[name] = kind
    write_gguf(path, tensors=tensors, kinds=kinds, embedding_length=256, feed_forward_length=512)


def checkpoint_of(path: Path, *, grouped: bool) -> Checkpoint:
    return load(str(path), lambda progress: None, grouped=grouped)
