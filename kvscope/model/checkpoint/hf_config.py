"""Hugging Face's config.json as a `ModelConfig`.

Keys and their defaults are those of `transformers`' configuration classes (kvscope.model.families); a setting that the
transformer here would not honour is refused, not ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from kvscope.model.api import Refused
from kvscope.model.config import ModelConfig
from kvscope.model.families import COMPUTED, FAMILIES
from kvscope.model.rope import Scaling

_FIRST_CONTEXT = "original_max_position_embeddings"


def config_from_hf(raw: dict[str, Any], source: str) -> ModelConfig:
    """Raises Refused("model"), naming `source`, for what is unsupported, missing or absurd."""
    arch = raw.get("model_type")
    settings = _Settings(raw, source)
    if arch not in COMPUTED:
        raise settings.refused(f"has the architecture {arch!r}; {', '.join(COMPUTED)} can be read")
    settings.defaults, settings.layer = FAMILIES[arch]["defaults"], FAMILIES[arch]["layer"]
    try:
        return _gpt2(settings) if arch == "gpt2" else _llama_family(arch, settings)
    except ValueError as error:
        if isinstance(error, Refused):
            raise
        raise settings.refused(f"contradicts itself: {error}") from None


class _Settings:
    """Checked access to config.json."""

    def __init__(self, raw: dict[str, Any], source: str):
        self.raw, self.source = raw, source
        self.defaults: Mapping[str, Any] = {}
        self.layer: Mapping[str, Any] = {}
        """What the family has for a field that is left out, and of its layers: see kvscope.model.families."""

    def refused(self, fault: str) -> Refused:
        return Refused("model", f"The config.json of {self.source} {fault}.")

    def whole(self, key: str, default: int | None = None) -> int:
        value = self.raw.get(key)
        value = self.defaults.get(key, default) if value is None else value
        if type(value) is not int or value < 1:
            raise self.refused(f"has {key} = {value!r}, not a positive whole number")
        return value

    def real(self, key: str, default: float, table: dict[str, Any] | None = None) -> float:
        value = (self.raw if table is None else table).get(key)
        value = default if value is None else value
        if not _is_positive(value):
            raise self.refused(f"has {key} = {value!r}, not a positive number")
        return float(value)

    def flag(self, key: str) -> bool:
        value = self.raw.get(key)
        value = self.defaults[key] if value is None else value
        if not isinstance(value, bool):
            raise self.refused(f"has {key} = {value!r}, neither true nor false")
        return value

    def fact(self, name: str) -> bool:
        """Something about the layers, which the family has or a flag of the config says."""
        found = self.layer.get(name, False)
        return self.flag(found) if isinstance(found, str) else bool(found)

    def must_be(self, key: str, wanted: Any) -> None:
        """Refuse a setting whose other values would need other code."""
        if (value := self.raw.get(key, wanted)) != wanted:
            raise self.refused(f"has {key} = {value!r}; only {wanted!r} is supported")


def _gpt2(settings: _Settings) -> ModelConfig:
    settings.must_be("activation_function", "gelu_new")
    settings.must_be("scale_attn_weights", True)
    settings.must_be("scale_attn_by_inverse_layer_idx", False)
    settings.must_be("add_cross_attention", False)
    d, heads = settings.whole("n_embd"), settings.whole("n_head")
    if d % heads:
        raise settings.refused(f"has a width of {d}, which its {heads} heads do not divide")
    return ModelConfig(
        arch="gpt2",
        layers=settings.whole("n_layer"),
        heads=heads,
        kv_heads=heads,
        head_dim=d // heads,
        d=d,
        d_mlp=settings.whole("n_inner", 4 * d),
        vocab=settings.whole("vocab_size"),
        context=settings.whole("n_positions"),
        norm="layer",
        norm_eps=settings.real("layer_norm_epsilon", settings.defaults["layer_norm_epsilon"]),
        mlp="gelu",
        positions="learned",
        qkv_bias=settings.fact("qkv_bias"),
        out_bias=settings.fact("out_bias"),
        mlp_bias=settings.fact("mlp_bias"),
        tied=settings.flag("tie_word_embeddings"),
    )


def _llama_family(arch: str, settings: _Settings) -> ModelConfig:
    gemma = arch == "gemma3_text"
    if gemma:
        settings.must_be("hidden_activation", "gelu_pytorch_tanh")
        settings.must_be("use_bidirectional_attention", False)
        for softcapping in ("attn_logit_softcapping", "final_logit_softcapping"):
            settings.must_be(softcapping, None)
    else:
        settings.must_be("hidden_act", "silu")
    d, heads, layers = (settings.whole(key) for key in ("hidden_size", "num_attention_heads", "num_hidden_layers"))
    head_dim = settings.whole("head_dim", d // heads)
    tables = _rope_tables(settings, gemma)
    rotated = _rotated(settings, head_dim, tables["full_attention"]) if arch == "phi3" else head_dim
    theta, scaling = _rope(settings, rotated, tables["full_attention"])
    local_theta = _local_theta(settings, head_dim, tables) if gemma else None
    window, global_layers = _window(FAMILIES[arch].get("window"), layers, settings)
    context = settings.whole("max_position_embeddings")
    if scaling is not None and scaling["rope_type"] == "divisors":
        context = min(context, int(scaling[_FIRST_CONTEXT]))
    kv_heads = "num_key_value_heads"
    scalar = "query_pre_attn_scalar"
    as_many = kv_heads in settings.raw and settings.raw[kv_heads] is None
    return ModelConfig(
        arch=arch,
        layers=layers,
        heads=heads,
        kv_heads=heads if as_many else settings.whole(kv_heads, heads),
        head_dim=head_dim,
        d=d,
        d_mlp=settings.whole("intermediate_size"),
        vocab=settings.whole("vocab_size"),
        context=context,
        norm_eps=settings.real("rms_norm_eps", settings.defaults["rms_norm_eps"]),
        rope_theta=theta,
        rotary_dim=None if rotated == head_dim else rotated,
        rope_scaling=scaling,
        local_rope_theta=local_theta,
        mlp="geglu" if gemma else "swiglu",
        qkv_bias=settings.fact("qkv_bias"),
        out_bias=settings.fact("out_bias"),
        mlp_bias=settings.fact("mlp_bias"),
        qk_norm=settings.fact("qk_norm"),
        post_norms=settings.layer["norms"] == 4,
        embedding_scale=math.sqrt(d) if gemma else 1.0,
        score_width=settings.real(scalar, settings.defaults[scalar]) if gemma else None,
        **(_experts(settings, layers) if arch == "qwen3_moe" else {}),
        tied=settings.flag("tie_word_embeddings"),
        window=window,
        global_layers=global_layers,
    )


def _experts(settings: _Settings, layers: int) -> dict[str, Any]:
    """How many experts layers have, and which have none. transformers 5 calls `num_experts` num_local_experts."""
    step, alone = settings.whole("decoder_sparse_step"), settings.raw.get("mlp_only_layers") or []
    if not isinstance(alone, list) or any(type(layer) is not int for layer in alone):
        raise settings.refused(f"has mlp_only_layers = {alone!r}, which are not layers")
    return {
        "experts": settings.whole("num_experts", None)
        if "num_experts" in settings.raw
        else settings.whole("num_local_experts", settings.defaults["num_experts"]),
        "experts_chosen": settings.whole("num_experts_per_tok"),
        "d_expert": settings.whole("moe_intermediate_size"),
        "shares_normalized": settings.flag("norm_topk_prob"),
        "dense_layers": tuple(layer for layer in range(layers) if layer in alone or (layer + 1) % step),
    }


def _rope_tables(settings: _Settings, local: bool) -> dict[str, dict[str, Any]]:
    """How positions are rotated, by kind of layer. Where there are two tables, `rope_scaling` counts, as in
    `transformers`: it takes the place of `rope_parameters`, in which transformers 5 has both, with all that is there.
    With `local` there is a table for layers with a window too, and `rope_scaling` is of the other layers alone.
    """
    given, scaling = (settings.raw.get(key) or {} for key in ("rope_parameters", "rope_scaling"))
    if local and isinstance(given, dict) and isinstance(scaling, dict):
        tables = {kind: given.get(kind) or {} for kind in ("full_attention", "sliding_attention")}
        if set(given) <= tables.keys() and all(isinstance(table, dict) for table in tables.values()):
            return tables | {"full_attention": tables["full_attention"] | scaling}
        raise settings.refused("has rope_parameters that are not those of its two kinds of layers")
    table = scaling or given
    if not isinstance(table, dict) or any(isinstance(value, dict) for value in table.values()):
        raise settings.refused("rotates positions differently from layer to layer, which is not supported")
    return {"full_attention": table}


def _rotated(settings: _Settings, head_dim: int, table: dict[str, Any]) -> int:
    """How many numbers of each head are rotated."""
    share = settings.real("partial_rotary_factor", settings.real("partial_rotary_factor", 1.0), table)
    return int(head_dim * share)


def _local_theta(settings: _Settings, head_dim: int, tables: Mapping[str, dict[str, Any]]) -> float:
    """Base of the layers with a window."""
    table = {"rope_theta": settings.real("rope_local_base_freq", settings.defaults["rope_local_base_freq"])}
    theta, scaling = _rope(settings, head_dim, table | tables["sliding_attention"])
    if scaling is not None:
        raise settings.refused("scales the positions of layers with a window, which is not supported")
    return theta


def _rope(settings: _Settings, head_dim: int, table: dict[str, Any]) -> tuple[float, Scaling | None]:
    """Base and scaling."""
    default = settings.real("rope_theta", settings.defaults.get("rope_theta", 10_000.0))
    theta = settings.real("rope_theta", default, table)
    phi3 = settings.raw.get("model_type") == "phi3"
    for holder in (settings.raw, table):
        if holder.get("partial_rotary_factor", 1.0) != 1.0 and not phi3:
            raise settings.refused("rotates only a part of each head, which is not supported")
    kind = table.get("rope_type") or table.get("type") or "default"
    if phi3 and kind in ("su", "yarn"):
        kind = "longrope"  # what its first files called it
    if kind == "default":
        if table.get("factor", 1.0) != 1.0:
            raise settings.refused(f"has a rope factor of {table['factor']!r} without a rope_type, which says what for")
        return theta, None
    if kind not in _SCALINGS:
        raise settings.refused(f"scales its positions by {kind!r}; {', '.join(_SCALINGS)} can be computed")
    return theta, _SCALINGS[kind](settings, table, head_dim)


def _linear(settings: _Settings, table: dict[str, Any], _head_dim: int) -> Scaling | None:
    factor = _given(settings, table, "linear", "factor")
    return None if factor == 1 else {"rope_type": "linear", "factor": factor}


def _dynamic(settings: _Settings, table: dict[str, Any], _head_dim: int) -> None:
    """Within `max_position_embeddings`, which no run here passes, its base is the model's own."""
    _given(settings, table, "dynamic", "factor")


def _llama3(settings: _Settings, table: dict[str, Any], _head_dim: int) -> Scaling:
    keys = ("factor", "low_freq_factor", "high_freq_factor")
    given = {key: _given(settings, table, "llama3", key) for key in keys}
    return {"rope_type": "llama3", **given, _FIRST_CONTEXT: _first_context(settings, table)}


def _yarn(settings: _Settings, table: dict[str, Any], _head_dim: int) -> Scaling | None:
    first = _first_context(settings, table)
    factor = settings.real("factor", settings.whole("max_position_embeddings") / first, table)

    def strength(scale: float) -> float:
        """How much more attention a longer context wants (arXiv:2309.00071, §3.4)."""
        return 0.1 * scale * math.log(factor) + 1.0 if factor > 1 else 1.0

    inferred = strength(1.0)
    if table.get("mscale") and table.get("mscale_all_dim"):
        own, of_all = (settings.real(key, 1.0, table) for key in ("mscale", "mscale_all_dim"))
        inferred = strength(own) / strength(of_all)
    scaling = {
        "rope_type": "yarn",
        "factor": factor,
        _FIRST_CONTEXT: first,
        "beta_fast": settings.real("beta_fast", 32.0, table),
        "beta_slow": settings.real("beta_slow", 1.0, table),
        "truncate": table.get("truncate", True) is not False,
        "attention_factor": settings.real("attention_factor", inferred, table),
    }
    return None if factor == scaling["attention_factor"] == 1 else scaling


def _longrope(settings: _Settings, table: dict[str, Any], head_dim: int) -> Scaling:
    """The divisors for texts within the first context, to which runs here are limited."""
    first, divisors = _first_context(settings, table), table.get("short_factor")
    if not isinstance(divisors, list) or len(divisors) != head_dim // 2 or not all(map(_is_positive, divisors)):
        raise settings.refused(f"has a short_factor that is not a list of {head_dim // 2} positive numbers")
    factor = settings.real("factor", settings.whole("max_position_embeddings") / first, table)
    inferred = math.sqrt(1 + math.log(factor) / math.log(first)) if factor > 1 else 1.0
    attention = settings.real("attention_factor", inferred, table)
    return {
        "rope_type": "divisors",
        "divisors": [float(each) for each in divisors],
        "attention_factor": attention,
        _FIRST_CONTEXT: first,
    }


_SCALINGS: Mapping[str, Callable[[_Settings, dict[str, Any], int], Scaling | None]] = {
    "linear": _linear,
    "dynamic": _dynamic,
    "llama3": _llama3,
    "yarn": _yarn,
    "longrope": _longrope,
}


def _given(settings: _Settings, table: dict[str, Any], kind: str, key: str) -> float:
    if key not in table:
        raise settings.refused(f"scales its positions by {kind!r} without saying {key}")
    return settings.real(key, math.nan, table)


def _first_context(settings: _Settings, table: dict[str, Any]) -> float:
    """How long the texts were that the model was first trained on."""
    inside = settings.real(_FIRST_CONTEXT, settings.whole("max_position_embeddings"), table)
    return settings.real(_FIRST_CONTEXT, inside)


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def _window(rule: Mapping[str, Any] | None, layers: int, settings: _Settings) -> tuple[int | None, tuple[int, ...]]:
    """The sliding window, or None, and the layers that do not have it."""
    if rule is None or ("only_if" in rule and not settings.flag(rule["only_if"])):
        return None, ()
    if settings.raw.get("sliding_window", settings.defaults.get("sliding_window")) is None:
        return None, ()
    first = settings.raw.get(rule["from"], settings.defaults[rule["from"]]) if "from" in rule else 0
    every = settings.whole(rule["but_each"]) if "but_each" in rule else layers + 1
    kinds = settings.raw.get("layer_types") or [
        "sliding_attention" if layer >= first and (layer + 1) % every else "full_attention" for layer in range(layers)
    ]
    if len(kinds) != layers or not {"full_attention", "sliding_attention"}.issuperset(kinds):
        raise settings.refused("has layer_types that are not full_attention or sliding_attention, one for each layer")
    if "sliding_attention" not in kinds:
        return None, ()
    global_layers = tuple(layer for layer, kind in enumerate(kinds) if kind == "full_attention")
    return settings.whole("sliding_window"), global_layers
