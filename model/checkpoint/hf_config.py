"""Hugging Face's config.json as a `ModelConfig`.

Keys and their defaults are those of `transformers`' configuration classes; a setting that the transformer here would
not honour is refused, not ignored.
"""

from __future__ import annotations

import math
from typing import Any

from kvscope.model.api import Refused
from kvscope.model.config import ModelConfig

_FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
_LLAMA3_KEYS = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
_MISTRAL_WINDOW = 4096
_QWEN3_HEAD_DIM = 128


def config_from_hf(raw: dict[str, Any], source: str) -> ModelConfig:
    """Raises Refused("model"), naming `source`, for what is unsupported, missing or absurd."""
    arch = raw.get("model_type")
    settings = _Settings(raw, source)
    if raw.get("quantization_config") is not None:
        raise settings.refused("is quantized, which only GGUF files may be here")
    try:
        if arch == "gpt2":
            return _gpt2(settings)
        if arch in _FAMILIES:
            return _llama_family(arch, settings)
    except ValueError as error:
        if isinstance(error, Refused):
            raise
        raise settings.refused(f"contradicts itself: {error}") from None
    raise settings.refused(f"has the architecture {arch!r}; {', '.join((*_FAMILIES, 'gpt2'))} can be read")


class _Settings:
    """Checked access to config.json."""

    def __init__(self, raw: dict[str, Any], source: str):
        self.raw, self.source = raw, source

    def refused(self, fault: str) -> Refused:
        return Refused("model", f"The config.json of {self.source} {fault}.")

    def whole(self, key: str, default: int | None = None) -> int:
        value = self.raw.get(key)
        value = default if value is None else value
        if type(value) is not int or value < 1:
            raise self.refused(f"has {key} = {value!r}, not a positive whole number")
        return value

    def real(self, key: str, default: float, table: dict[str, Any] | None = None) -> float:
        value = (self.raw if table is None else table).get(key)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
            raise self.refused(f"has {key} = {value!r}, not a positive number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.raw.get(key)
        return default if value is None else bool(value)

    def must_be(self, key: str, wanted: Any) -> None:
        """Refuse a setting whose other values would need other code."""
        if (value := self.raw.get(key, wanted)) != wanted:
            raise self.refused(f"has {key} = {value!r}; only {wanted!r} is supported")


def _gpt2(settings: _Settings) -> ModelConfig:
    settings.must_be("activation_function", "gelu_new")
    settings.must_be("scale_attn_weights", True)
    settings.must_be("scale_attn_by_inverse_layer_idx", False)
    settings.must_be("add_cross_attention", False)
    d, heads = settings.whole("n_embd", 768), settings.whole("n_head", 12)
    if d % heads:
        raise settings.refused(f"has a width of {d}, which its {heads} heads do not divide")
    return ModelConfig(
        arch="gpt2",
        layers=settings.whole("n_layer", 12),
        heads=heads,
        kv_heads=heads,
        head_dim=d // heads,
        d=d,
        d_mlp=settings.whole("n_inner", 4 * d),
        vocab=settings.whole("vocab_size"),
        context=settings.whole("n_positions", 1024),
        norm="layer",
        norm_eps=settings.real("layer_norm_epsilon", 1e-5),
        mlp="gelu",
        positions="learned",
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        tied=settings.flag("tie_word_embeddings", True),
    )


def _llama_family(arch: str, settings: _Settings) -> ModelConfig:
    settings.must_be("hidden_act", "silu")
    d, heads, layers = (settings.whole(key) for key in ("hidden_size", "num_attention_heads", "num_hidden_layers"))
    theta, scaling = _rope(settings)
    attention_bias = arch in ("llama", "qwen3") and settings.flag("attention_bias", False)
    return ModelConfig(
        arch=arch,
        layers=layers,
        heads=heads,
        kv_heads=settings.whole("num_key_value_heads", heads if arch == "llama" else None),
        head_dim=settings.whole("head_dim", _QWEN3_HEAD_DIM if arch == "qwen3" else d // heads),
        d=d,
        d_mlp=settings.whole("intermediate_size"),
        vocab=settings.whole("vocab_size"),
        context=settings.whole("max_position_embeddings"),
        norm_eps=settings.real("rms_norm_eps", 1e-6),
        rope_theta=theta,
        rope_scaling=scaling,
        qkv_bias=arch == "qwen2" or attention_bias,
        out_bias=attention_bias,
        mlp_bias=arch == "llama" and settings.flag("mlp_bias", False),
        qk_norm=arch == "qwen3",
        tied=settings.flag("tie_word_embeddings", False),
        window=_window(arch, layers, settings),
    )


def _rope(settings: _Settings) -> tuple[float, dict[str, Any] | None]:
    """Base and scaling: `rope_parameters` since transformers 5, before that `rope_theta` and `rope_scaling`."""
    table = settings.raw.get("rope_parameters") or settings.raw.get("rope_scaling") or {}
    if not isinstance(table, dict) or any(isinstance(value, dict) for value in table.values()):
        raise settings.refused("rotates positions differently from layer to layer, which is not supported")
    theta = settings.real("rope_theta", settings.real("rope_theta", 10_000.0), table)
    for holder in (settings.raw, table):
        if holder.get("partial_rotary_factor", 1.0) != 1.0:
            raise settings.refused("rotates only a part of each head, which is not supported")
    kind = table.get("rope_type") or table.get("type") or "default"
    if kind == "default":
        return theta, None
    if kind != "llama3":
        raise settings.refused(f"scales its positions by {kind!r}; only 'llama3' is supported")
    if missing := [key for key in _LLAMA3_KEYS if key not in table]:
        raise settings.refused(f"scales its positions by 'llama3' without saying {missing[0]}")
    return theta, {"rope_type": "llama3"} | {key: settings.real(key, math.nan, table) for key in _LLAMA3_KEYS}


def _window(arch: str, layers: int, settings: _Settings) -> int | None:
    """The sliding window all layers share, or None. Qwen can have one from some layer on; a mix is refused."""
    if arch == "llama":
        return None
    if arch == "mistral":
        if settings.raw.get("sliding_window", _MISTRAL_WINDOW) is None:
            return None
        return settings.whole("sliding_window", _MISTRAL_WINDOW)
    if not settings.flag("use_sliding_window", False) or settings.raw.get("sliding_window") is None:
        return None
    first = settings.raw.get("max_window_layers", layers)
    kinds = settings.raw.get("layer_types") or [
        "sliding_attention" if layer >= first else "full_attention" for layer in range(layers)
    ]
    if set(kinds) == {"full_attention"}:
        return None
    if set(kinds) != {"sliding_attention"}:
        raise settings.refused("gives only some layers a sliding window, which is not supported")
    return settings.whole("sliding_window")
