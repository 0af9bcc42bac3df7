"""Read a GGUF file: configuration, weights and metadata."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf.quants import dequantize

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint.gguf_groups import groups_of
from kvscope.model.checkpoint.layout import Slot, fill, qkv_rows, slots
from kvscope.model.config import ModelConfig
from kvscope.model.families import COMPUTED, FAMILIES, fixed_parts
from kvscope.model.gguf_header import Header, Malformed, TensorInfo
from kvscope.model.gguf_parts import read_whole
from kvscope.model.linear import GroupedWeight
from kvscope.model.rope import Scaling
from kvscope.model.transformer import Weight

MODULES = {
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
    "attn.post_norm": "post_attention_norm",
    "mlp.norm": "ffn_norm",
    "mlp.gate": "ffn_gate",
    "mlp.up": "ffn_up",
    "mlp.down": "ffn_down",
    "mlp.post_norm": "post_ffw_norm",
}
ARCHS: dict[str, str] = {
    FAMILIES[name]["computed"]["gguf"]: name for name in COMPUTED if "gguf" in FAMILIES[name]["computed"]
}
"""GGUF's name → KVScope's name of each architecture that can be read."""


@dataclass(frozen=True, slots=True)
class _Gemma:
    """Values that a file leaves out, from llama.cpp (src/models/gemma2.cpp, gemma3.cpp)."""

    period: int
    """One layer in this many has no window."""
    layers_of_27b: int
    """The number by which the 27B model is recognized; only this one divides scores by the root of width ÷ heads."""
    window: int | None = None
    """The window in tokens; None: the file says it, or there is none."""
    local_theta: float | None = None
    """The base of the rotary angles in layers with a window; None: as in the others."""
    score_cap: float | None = None
    logit_cap: float | None = None


_GEMMAS = {
    "gemma2": _Gemma(period=2, layers_of_27b=46, window=4096, score_cap=50.0, logit_cap=30.0),
    "gemma3": _Gemma(period=6, layers_of_27b=62, local_theta=10_000.0),
}
PAIRED = ("llama",)
"""Architectures whose rows of Q and K llama.cpp stores in another order (`unpermuted`)."""
DIVISORS = "rope_freqs.weight"
_SHORT, _LONG = "rope_factors_short.weight", "rope_factors_long.weight"
"""LongRoPE's divisors for texts within the first context, to which runs are limited here, and for longer texts."""
USED = frozenset(
    (
        *("block_count", "context_length", "embedding_length", "feed_forward_length", "expert_count"),
        *("attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"),
        *("attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon", "attention.sliding_window"),
        *("rope.dimension_count", "rope.freq_base", "rope.scale_linear", "rope.scaling.type", "rope.scaling.factor"),
        *("rope.scaling.original_context_length", "rope.scaling.attn_factor", "rope.scaling.yarn_attn_factor"),
        *("rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"),
        *("vocab_size", "rope.scaling.finetuned", "tensor_data_layout", "expert_used_count"),  # change nothing
    )
)
"""The architecture's settings that are read here, or that change nothing …"""
_USED_OF = {
    "gemma2": ("attn_logit_softcapping", "final_logit_softcapping"),
    "gemma3": ("attention.sliding_window_pattern", "rope.freq_base_swa"),
    "gptneox": ("use_parallel_residual",),
}
"""… and those that are read only for some architectures."""
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "attention.causal": (True,),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attention.scale": (0.0,),
    "attn_logit_softcapping": (0.0,),
    "embedding_scale": (0.0, 1.0),
    "final_logit_softcapping": (0.0,),
    "leading_dense_block_count": (0,),
    "logit_scale": (0.0, 1.0),
    "nextn_predict_layers": (0,),
    "pooling_type": (0,),
    "residual_scale": (0.0, 1.0),
    "rope.scaling.yarn_ext_factor": (1.0,),
    "rope.scaling.yarn_log_multiplier": (0.0,),
    "use_parallel_residual": (False,),
}
"""Settings that KVScope does not compute, and their values that change nothing. Any other value is refused, and any
setting that is not in these tables, because its effect is unknown.
"""
_CHUNK_ELEMENTS = 1 << 19
"""Elements that are dequantized per call: enough to outweigh the call, few enough to limit the temporary memory."""


@dataclass(frozen=True, slots=True)
class GgufModel:
    """The contents of a GGUF file. `metadata`: its whole key–value table, with the tokenizer's part."""

    config: ModelConfig
    weights: dict[str, Weight]
    metadata: dict[str, Any]
    stored: dict[str, int]
    """Bytes of all its tensors by format."""
    files: tuple[Path, ...]
    """The file, or all parts of a split model, in order."""


def read_gguf(
    path: Path, progress: Callable[[Progress], None], dtype: torch.dtype = torch.float32, grouped: bool = False
) -> GgufModel:
    """Reads a whole GGUF file: dequantized to fp32, matrices rounded to `dtype` or, if `grouped`, kept in their groups.

    Raises Refused("model"), which names the file and the fault.
    """
    try:
        header, files = read_whole(path)
        config = _config(header, _numbers)
        _check_tensors(header, config)
        reader = _Reader(header, config)
        weights = fill(config, reader.read, path.name, progress, dtype, reader.groups if grouped else None)
    except Malformed as error:
        raise Refused("model", f"{path.name} {error}.") from None
    except OSError as error:
        raise Refused("model", f"{path.name} cannot be read: {error.strerror or error}.") from None
    reader.release_pages()
    return GgufModel(config, weights, header.metadata, header.stored, files)


def file_name(part: str) -> str:
    """Returns GGUF's name of a part, e.g. `blocks.3.attn.q.weight` → `blk.3.attn_q.weight`."""
    module, kind = part.rsplit(".", 1)
    if module.startswith("blocks."):
        _, layer, inner = module.split(".", 2)
        return f"blk.{layer}.{MODULES[inner]}.{kind}"
    return f"{MODULES[module]}.{kind}"


def _config(header: Header, decode: Callable[[TensorInfo], np.ndarray]) -> ModelConfig:
    """Returns the configuration. `decode` returns a tensor's numbers. Raises Malformed."""
    meta, tensors = header.metadata, header.tensors
    arch = meta.get("general.architecture")
    if arch not in ARCHS:
        raise Malformed(f"has the architecture {arch!r}; {', '.join(ARCHS)} can be read")
    own = {key.removeprefix(f"{arch}."): _uniform(key, meta[key]) for key in meta if key.startswith(f"{arch}.")}

    def whole(key: str, default: int | None = None) -> int:
        value = own.get(key, default)
        if type(value) is not int or value < 1:
            raise Malformed(f"is corrupted: its {arch}.{key} is {value!r}, not a positive whole number")
        return value

    def real(key: str, default: float | None = None) -> float:
        value = own.get(key, default)
        if not isinstance(value, float) or not 0 < value < math.inf:
            raise Malformed(f"is corrupted: its {arch}.{key} is {value!r}, not a positive number of a float type")
        return value

    def flag(key: str) -> bool:
        if not isinstance(value := own.get(key), bool):
            raise Malformed(f"is incomplete: its {arch}.{key} is {value!r}, neither true nor false")
        return value

    parts, gemma = fixed_parts(ARCHS[arch]), _GEMMAS.get(arch)
    rms = parts["norm"] == "rms"
    if own.get("expert_count"):
        raise Malformed("is a mixture of experts, which is not supported")
    for key, value in own.items():
        used = key in USED or key in _USED_OF.get(arch, ())
        if not used and (key not in NEUTRAL or value not in NEUTRAL[key]):
            raise Malformed(f"sets {arch}.{key} to {value!r}, which may change what it computes and is not supported")
    heads, d = whole("attention.head_count"), whole("embedding_length")
    if heads > d:
        raise Malformed(f"is corrupted: its {arch}.attention.head_count is {heads}, for a width of {d}")
    head_dim = whole("attention.key_length", d // heads)
    partial = "rotates_a_part" in FAMILIES[ARCHS[arch]]["computed"]
    for key in ("attention.value_length", *(() if partial else ("rope.dimension_count",))):
        if (width := whole(key, head_dim)) != head_dim:
            raise Malformed(f"sets {arch}.{key} to {width}; only the width of a head, {head_dim}, is supported")
    rotated = whole("rope.dimension_count", head_dim)
    if rotated > head_dim or rotated % 2:
        raise Malformed(f"is corrupted: its {arch}.rope.dimension_count is {rotated}, for heads of width {head_dim}")
    kv_heads = whole("attention.head_count_kv", heads)
    if heads % kv_heads or head_dim % 2:
        raise Malformed(f"is corrupted: {heads} heads of width {head_dim} cannot share {kv_heads} K/V heads")
    embed = tensors.get("token_embd.weight")
    if embed is None or len(embed.shape) != 2:
        raise Malformed("is incomplete: it has no token embedding (token_embd.weight)")
    if isinstance(tokens := meta.get("tokenizer.ggml.tokens"), list) and len(tokens) != embed.shape[0]:
        raise Malformed(
            f"contradicts itself: it has {len(tokens):,} tokens (tokenizer.ggml.tokens) and an embedding"
            f" (token_embd.weight) of {embed.shape[0]:,} rows"
        )
    layers, context = whole("block_count"), whole("context_length")
    if f"blk.{layers - 1}.attn_norm.weight" not in tensors:
        raise Malformed(f"is incomplete: it announces {layers} layers, but has no tensors for layer {layers - 1}")
    rotary = parts["positions"] == "rotary"
    scaling = _rope_scaling(own, tensors, decode, real, whole, rotated) if rotary else None
    window = own.get("attention.sliding_window", gemma.window if gemma else None) or None  # 0 means none
    if window is not None:
        window = whole("attention.sliding_window", window)
    if _SHORT in tensors:
        context = min(context, whole("rope.scaling.original_context_length", context))
    every = whole("attention.sliding_window_pattern", gemma.period) if gemma else layers + 1
    return ModelConfig(
        arch=ARCHS[arch],
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        d=d,
        d_mlp=whole("feed_forward_length"),
        vocab=embed.shape[0],
        context=context,
        norm_eps=real("attention.layer_norm_rms_epsilon" if rms else "attention.layer_norm_epsilon"),
        rope_theta=real("rope.freq_base", 10000.0),
        rope_scaling=scaling,
        rotary_dim=rotated if rotary and rotated != head_dim else None,
        # Models with LayerNorm always have biases; others have a bias if its tensor is in the file, as in llama.cpp.
        qkv_bias=not rms or "blk.0.attn_q.bias" in tensors,
        out_bias=not rms or "blk.0.attn_output.bias" in tensors,
        mlp_bias=not rms or "blk.0.ffn_down.bias" in tensors,
        **parts,
        **(_of_gemma(gemma, real, layers, d, heads) if gemma else {}),
        parallel=flag("use_parallel_residual") if "parallel" in FAMILIES[ARCHS[arch]]["layer"] else False,
        tied="output.weight" not in tensors,
        window=window,
        global_layers=() if window is None else tuple(range(every - 1, layers, every)),
    )


def _of_gemma(
    gemma: _Gemma, real: Callable[[str, float | None], float], layers: int, d: int, heads: int
) -> dict[str, Any]:
    """Returns the arguments of `ModelConfig` that only a Gemma model has."""

    def own(key: str, default: float | None) -> float | None:
        return None if default is None else real(key, default)

    return {
        "local_rope_theta": own("rope.freq_base_swa", gemma.local_theta),
        "embedding_scale": math.sqrt(d),
        "score_width": d // heads if layers == gemma.layers_of_27b else None,
        "score_cap": own("attn_logit_softcapping", gemma.score_cap),
        "logit_cap": own("final_logit_softcapping", gemma.logit_cap),
    }


def _uniform(key: str, value: Any) -> Any:
    """Returns the common value of a setting that a file may list for each layer. Raises Malformed if layers differ."""
    if not isinstance(value, list):
        return value
    if not value or any(each != value[0] for each in value):
        raise Malformed(f"has another {key} from layer to layer, which is not supported")
    return value[0]


def _rope_scaling(
    own: dict[str, Any],
    tensors: dict[str, TensorInfo],
    decode: Callable[[TensorInfo], np.ndarray],
    real: Callable[[str, float | None], float],
    whole: Callable[[str, int | None], int],
    head_dim: int,
) -> Scaling | None:
    """Returns the scaling as llama.cpp reads it: a factor without a type is linear; divisors are in a tensor."""
    kind = own.get("rope.scaling.type", "linear")
    key = "rope.scaling.factor" if own.get("rope.scaling.factor") else "rope.scale_linear"
    factor = real(key, 1.0) if own.get(key) else 1.0  # 0 means none, too
    if kind not in ("none", "linear", "yarn", "longrope"):
        raise Malformed(f"scales its positions by {kind!r}, which is not supported")
    attention = real("rope.scaling.attn_factor", real("rope.scaling.yarn_attn_factor", 1.0))
    present = [name for name in (_SHORT, _LONG, DIVISORS) if name in tensors]
    for name in present:
        if tensors[name].shape != (head_dim // 2,):
            raise Malformed(
                f"is corrupted: the tensor {name!r} has shape {list(tensors[name].shape)}, not {[head_dim // 2]}"
            )
        if name != DIVISORS and kind != "longrope":
            raise Malformed(f"has the tensor {name!r}, but its rope.scaling.type is {kind!r} and not 'longrope'")
    if present and present[0] != _LONG:
        stored = tensors[present[0]]
        divisors = decode(stored)
        if not (np.isfinite(divisors).all() and divisors.all()):
            raise Malformed(f"is corrupted: the tensor {stored.name!r} holds values that are zero, NaN or infinite")
        if kind == "yarn" or (kind == "linear" and factor != 1):
            raise Malformed(
                f"scales its positions by {kind!r} and by the tensor {stored.name!r}: which of them counts?"
            )
        return {"rope_type": "divisors", "divisors": divisors.tolist(), "attention_factor": attention}
    if kind == "longrope":
        raise Malformed(f"is incomplete: it scales its positions by 'longrope', but has no tensor {_SHORT!r}")
    if kind == "yarn" and factor < 1:
        raise Malformed(f"scales its positions by 'yarn' and a factor of {factor}; only 1 and more is supported")
    if kind == "yarn" and factor > 1:
        return {
            "rope_type": "yarn",
            "factor": factor,
            "original_max_position_embeddings": whole("rope.scaling.original_context_length", own["context_length"]),
            "beta_fast": real("rope.scaling.yarn_beta_fast", 32.0),
            "beta_slow": real("rope.scaling.yarn_beta_slow", 1.0),
            "truncate": True,
            "attention_factor": attention * (0.1 * math.log(factor) + 1.0),
        }
    return {"rope_type": "linear", "factor": factor} if kind == "linear" and factor != 1 else None


def _check_tensors(header: Header, config: ModelConfig) -> None:
    """Checks that every part exists with its shape, and that no tensor would be ignored. Raises Malformed."""
    known = {DIVISORS, _SHORT, _LONG} if config.arch == "llama" else set()  # llama.cpp reads them only there
    for slot in slots(config):
        for part, rows in slot.parts:
            name = file_name(part)
            known.add(name)
            info = header.tensors.get(name)
            if info is None:
                raise Malformed(f"is incomplete: the tensor {name!r} is missing")
            shape = (rows, *slot.shape[1:])
            if info.shape[-len(shape) :] == shape and set(info.shape[: -len(shape)]) == {1}:
                header.tensors[name] = info = replace(info, shape=shape)  # a file may pad shapes with ones
            if info.shape != shape:
                raise Malformed(f"is corrupted: the tensor {name!r} has shape {list(info.shape)}, not {list(shape)}")
    if unknown := sorted(header.tensors.keys() - known):
        raise Malformed(
            f"holds tensors that its architecture {config.arch!r} does not have here, such as {unknown[0]!r}"
        )


class _Reader:
    """Decodes parts from the mapped file."""

    def __init__(self, header: Header, config: ModelConfig):
        self._tensors, self._config = header.tensors, config

    def read(self, part: str, out: torch.Tensor) -> None:
        info = self._tensors[file_name(part)]
        target = out.numpy()
        _decode(info, target.reshape(-1, target.shape[-1]))
        if (ordered := self._in_order(part, target)) is not target:
            target[:] = ordered

    def groups(self, slot: Slot) -> GroupedWeight | None:
        """Returns a matrix in groups; None if the file stores it in a type that is not kept in groups."""
        return groups_of(slot, self._raw)

    def release_pages(self) -> None:
        """Releases the memory pages of the mapped file."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for data in {id(info.data): info.data for info in self._tensors.values()}.values():
                assert isinstance(data, mmap.mmap)
                data.madvise(mmap.MADV_DONTNEED)

    def _raw(self, part: str) -> tuple[TensorInfo, np.ndarray]:
        info = self._tensors[file_name(part)]
        return info, self._in_order(part, _bytes_of(info, info.shape[0]))

    def _in_order(self, part: str, rows: np.ndarray) -> np.ndarray:
        """Returns the rows of a part in the transformer's order."""
        module = part.rsplit(".", 2)[-2]
        if self._config.rotary_dim is not None and module == "qkv":
            return rows[qkv_rows(self._config)]
        if self._config.arch not in PAIRED or module not in ("q", "k"):
            return rows
        return unpermuted(rows, self._config.heads if module == "q" else self._config.kv_heads)


def unpermuted(rows: np.ndarray, heads: int) -> np.ndarray:
    """Undoes llama.cpp's order of Q and K rows [heads·head_dim, …], where pairs (i, i + head_dim/2) are adjacent."""
    return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _bytes_of(info: TensorInfo, rows: int) -> np.ndarray:
    return np.frombuffer(info.data, dtype=np.uint8, count=info.bytes, offset=info.start).reshape(rows, -1)


def _numbers(info: TensorInfo) -> np.ndarray:
    """Returns the numbers of a small tensor, fp32 [elements]."""
    out = np.empty((1, math.prod(info.shape)), dtype=np.float32)
    _decode(info, out)
    return out[0]


def _decode(info: TensorInfo, out: np.ndarray) -> None:
    """Dequantizes a tensor into `out` [rows, columns], fp32, in pieces. Raises Malformed for an unknown type."""
    raw = _bytes_of(info, len(out))
    rows = max(1, _CHUNK_ELEMENTS // out.shape[1])
    try:
        for start in range(0, len(out), rows):
            chunk = raw[start : start + rows]
            # Passed as one long row, because the library processes only 16 rows at a time.
            out[start : start + rows] = dequantize(chunk.reshape(1, -1), info.kind).reshape(len(chunk), -1)
    except NotImplementedError:
        raise Malformed(f"stores the tensor {info.name!r} as {info.kind.name}, which is not supported") from None
