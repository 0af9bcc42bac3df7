"""A GGUF file as configuration, fp32 weights and tokenizer metadata."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf.quants import dequantize

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint.gguf_groups import groups_of
from kvscope.model.checkpoint.gguf_header import Header, Malformed, TensorInfo, mapped, read_header
from kvscope.model.checkpoint.layout import fill, slots
from kvscope.model.config import ModelConfig
from kvscope.model.grouped import Groups

_MODULES = {
    "embed": "token_embd",
    "positions": "position_embd",
    "norm": "output_norm",
    "lm_head": "output",
    "attn.norm": "attn_norm",
    "attn.q": "attn_q",
    "attn.k": "attn_k",
    "attn.v": "attn_v",
    "attn.qkv": "attn_qkv",
    "attn.q_norm": "attn_q_norm",
    "attn.k_norm": "attn_k_norm",
    "attn.out": "attn_output",
    "mlp.norm": "ffn_norm",
    "mlp.gate": "ffn_gate",
    "mlp.up": "ffn_up",
    "mlp.down": "ffn_down",
}
_ARCHS = ("llama", "qwen2", "qwen3", "gpt2")
_ROPE_FACTORS = "rope_freqs.weight"
_CHUNK_ELEMENTS = 1 << 19
"""How much is dequantized at a time: enough to be worth a call, not so much that temporaries fill the memory."""


@dataclass(frozen=True, slots=True)
class GgufModel:
    """What a GGUF file holds: `metadata` is its whole key–value table, the tokenizer's part included.

    `groups` reads the weights of linear layers once more, as they are there.
    """

    config: ModelConfig
    weights: dict[str, torch.Tensor]
    groups: Callable[[], dict[str, Groups]]
    metadata: dict[str, Any]
    stored: dict[str, int]
    """Bytes of all its tensors by what it stores them as."""


def read_gguf(path: Path, progress: Callable[[Progress], None], dtype: torch.dtype = torch.float32) -> GgufModel:
    """Read a whole GGUF file, dequantized to fp32, matrices then rounded to `dtype`.

    Raises Refused("model"), naming the file and the fault.
    """
    try:
        data = mapped(path)
        header = read_header(data)
        config = _config(header, data)
        _check_tensors(header, config)
        reader = _Reader(header, data, config)
        weights = fill(config, reader.read, path.name, progress, dtype)
    except Malformed as error:
        raise Refused("model", f"{path.name} {error}.") from None
    except OSError as error:
        raise Refused("model", f"{path.name} cannot be read: {error.strerror or error}.") from None
    reader.let_go()
    return GgufModel(config, weights, reader.groups, header.metadata, header.stored)


def file_name(part: str) -> str:
    """GGUF's name of a part, e.g. `blocks.3.attn.q.weight` → `blk.3.attn_q.weight`."""
    module, kind = part.rsplit(".", 1)
    if module.startswith("blocks."):
        _, layer, inner = module.split(".", 2)
        return f"blk.{layer}.{_MODULES[inner]}.{kind}"
    return f"{_MODULES[module]}.{kind}"


def _config(header: Header, data: mmap.mmap) -> ModelConfig:
    meta, tensors = header.metadata, header.tensors
    arch = meta.get("general.architecture")
    if arch not in _ARCHS:
        raise Malformed(f"has the architecture {arch!r}; {', '.join(_ARCHS)} can be read")

    def whole(key: str, default: int | None = None) -> int:
        value = meta.get(f"{arch}.{key}", default)
        if type(value) is not int or value < 1:
            raise Malformed(f"is corrupted: its {arch}.{key} is {value!r}, not a positive whole number")
        return value

    def real(key: str, default: float | None = None) -> float:
        value = meta.get(f"{arch}.{key}", default)
        if not isinstance(value, float) or not 0 < value < math.inf:
            raise Malformed(f"is corrupted: its {arch}.{key} is {value!r}, not a positive number")
        return value

    if meta.get(f"{arch}.expert_count", 0):
        raise Malformed("is a mixture of experts, which is not supported")
    rms = arch != "gpt2"
    heads, d = whole("attention.head_count"), whole("embedding_length")
    head_dim = whole("attention.key_length", d // heads or None)
    if whole("rope.dimension_count", head_dim) != head_dim or whole("attention.value_length", head_dim) != head_dim:
        raise Malformed("rotates only a part of each head or has values of another width, which is not supported")
    kv_heads = whole("attention.head_count_kv", heads)
    if heads % kv_heads or head_dim % 2:
        raise Malformed(f"is corrupted: {heads} heads of width {head_dim} cannot share {kv_heads} K/V heads")
    embed = tensors.get("token_embd.weight")
    if embed is None or len(embed.shape) != 2:
        raise Malformed("is incomplete: it has no token embedding (token_embd.weight)")
    layers, context = whole("block_count"), whole("context_length")
    if f"blk.{layers - 1}.attn_norm.weight" not in tensors:
        raise Malformed(f"is incomplete: it announces {layers} layers, but has no tensors for layer {layers - 1}")
    window = meta.get(f"{arch}.attention.sliding_window") or None
    theta = real("rope.freq_base", 10000.0)
    return ModelConfig(
        arch=arch,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        d=d,
        d_mlp=whole("feed_forward_length"),
        vocab=embed.shape[0],
        context=context,
        norm="rms" if rms else "layer",
        norm_eps=real("attention.layer_norm_rms_epsilon" if rms else "attention.layer_norm_epsilon"),
        mlp="swiglu" if rms else "gelu",
        positions="rotary" if rms else "learned",
        rope_theta=theta,
        rope_scaling=_rope_scaling(header, data, arch, theta, head_dim) if rms else None,
        qkv_bias="blk.0.attn_qkv.bias" in tensors or "blk.0.attn_q.bias" in tensors,
        out_bias="blk.0.attn_output.bias" in tensors,
        mlp_bias="blk.0.ffn_down.bias" in tensors,
        qk_norm="blk.0.attn_q_norm.weight" in tensors,
        tied="output.weight" not in tensors,
        window=window,
    )


def _rope_scaling(header: Header, data: mmap.mmap, arch: str, theta: float, head_dim: int) -> dict[str, Any] | None:
    """The `llama3` scaling behind the frequency divisors that GGUF stores instead of its four parameters.

    Llama 3.1 and later share three of the parameters and differ in `factor`, which is the largest divisor. The
    divisors that these give must be the ones stored; other scalings are refused.
    """
    kind = header.metadata.get(f"{arch}.rope.scaling.type", "none")
    if kind not in ("none", "llama3"):
        raise Malformed(f"scales its positions by {kind!r}, which is not supported")
    info = header.tensors.get(_ROPE_FACTORS)
    if info is None:
        return None
    stored = np.empty(math.prod(info.shape), dtype=np.float32)
    _decode(info, data, stored.reshape(1, -1))
    scaling = {
        "rope_type": "llama3",
        "factor": float(stored.max()),
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    expected = _llama3_divisors(scaling, theta, head_dim)
    if stored.shape != expected.shape or not np.allclose(stored, expected, rtol=1e-4):
        raise Malformed(
            f"scales its positions by factors ({_ROPE_FACTORS}) that are not Llama 3's, which is not supported"
        )
    return scaling


def _llama3_divisors(scaling: dict[str, Any], theta: float, head_dim: int) -> np.ndarray:
    """What each of the head_dim/2 rotation frequencies is divided by: Llama 3.1 stretches long waves only."""
    wavelength = 2 * np.pi * theta ** (np.arange(0, head_dim, 2) / head_dim)
    turns = scaling["original_max_position_embeddings"] / wavelength
    low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return np.asarray(1 / ((1 - smooth) / factor + smooth))


def _check_tensors(header: Header, config: ModelConfig) -> None:
    """Every part there with its shape, and no tensor that would be silently ignored. Raises Malformed."""
    known = {_ROPE_FACTORS}
    for slot in slots(config):
        for part, rows in slot.parts:
            name = file_name(part)
            known.add(name)
            info = header.tensors.get(name)
            if info is None:
                raise Malformed(f"is incomplete: the tensor {name!r} is missing")
            if info.shape != (rows, *slot.shape[1:]):
                raise Malformed(
                    f"is corrupted: the tensor {name!r} has shape {list(info.shape)}, not {[rows, *slot.shape[1:]]}"
                )
    if unknown := sorted(header.tensors.keys() - known):
        raise Malformed(
            f"holds tensors that its architecture {config.arch!r} does not have here, such as {unknown[0]!r}"
        )


class _Reader:
    """Decodes parts out of the mapped file."""

    def __init__(self, header: Header, data: mmap.mmap, config: ModelConfig):
        self._tensors, self._data, self._config = header.tensors, data, config

    def read(self, part: str, out: torch.Tensor) -> None:
        info = self._tensors[file_name(part)]
        target = out.numpy()
        _decode(info, self._data, target.reshape(len(target), -1))
        if (ordered := self._in_order(part, target)) is not target:
            target[:] = ordered

    def groups(self) -> dict[str, Groups]:
        """As `GgufModel.groups`."""
        found = groups_of(self._config, self._raw)
        self.let_go()
        return found

    def let_go(self) -> None:
        """What was read of the file is memory of this process no more; the file stays open, to be read once more."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._data.madvise(mmap.MADV_DONTNEED)

    def _raw(self, part: str) -> tuple[TensorInfo, np.ndarray]:
        info = self._tensors[file_name(part)]
        return info, self._in_order(part, _bytes_of(info, self._data, info.shape[0]))

    def _in_order(self, part: str, rows: np.ndarray) -> np.ndarray:
        """The rows of a part as the transformer has them."""
        module = part.rsplit(".", 2)[-2]
        if self._config.arch != "llama" or module not in ("q", "k"):
            return rows
        return unpermuted(rows, self._config.heads if module == "q" else self._config.kv_heads)


def unpermuted(rows: np.ndarray, heads: int) -> np.ndarray:
    """Undo llama.cpp's order of Q and K rows [heads·head_dim, …]: it made the pairs (i, i + head_dim/2) adjacent."""
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _bytes_of(info: TensorInfo, data: mmap.mmap, rows: int) -> np.ndarray:
    return np.frombuffer(data, dtype=np.uint8, count=info.bytes, offset=info.start).reshape(rows, -1)


def _decode(info: TensorInfo, data: mmap.mmap, out: np.ndarray) -> None:
    """Dequantize a tensor into `out` [rows, columns], fp32, in pieces. Raises Malformed for an unknown type."""
    raw = _bytes_of(info, data, len(out))
    rows = max(1, _CHUNK_ELEMENTS // out.shape[1])
    try:
        for start in range(0, len(out), rows):
            chunk = raw[start : start + rows]
            # As one long row: the library works on 16 rows at a time, whatever their length.
            out[start : start + rows] = dequantize(chunk.reshape(1, -1), info.kind).reshape(len(chunk), -1)
    except NotImplementedError:
        raise Malformed(f"stores the tensor {info.name!r} as {info.kind.name}, which is not supported") from None
