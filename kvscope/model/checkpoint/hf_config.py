"""Read a Hugging Face config.json as a `ModelConfig`.

Keys and defaults are from the configuration classes of `transformers` (kvscope.model.families). A setting that
KVScope's transformer does not support is refused, not ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from kvscope.model.api import Refused
from kvscope.model.config import ModelConfig
from kvscope.model.families import COMPUTED, FAMILIES, fields_of, fixed_parts, largest
from kvscope.model.rope import Scaling

_FIRST_CONTEXT = "original_max_position_embeddings"
_PART = "partial_rotary_factor"
_KINDS = {"full_attention", "sliding_attention"}


def config_from_hf(raw: dict[str, Any], source: str) -> ModelConfig:
    """Returns a configuration. Raises Refused("model"), naming `source`, for unsupported, missing or absurd values."""
    arch = raw.get("model_type")
    if arch not in COMPUTED:
        fault = f"has the architecture {arch!r}; {', '.join(COMPUTED)} can be read"
        raise Refused("model", f"The config.json of {source} {fault}.")
    settings = _Settings(raw, source, arch)
    try:
        return _config(arch, settings)
    except ValueError as error:
        if isinstance(error, Refused):
            raise
        raise settings.refused(f"contradicts itself: {error}") from None


class _Settings:
    """Checked access to config.json, by the family's entry in the table of `kvscope.model.families`."""

    def __init__(self, raw: dict[str, Any], source: str, arch: str):
        self.raw, self.source = raw, source
        self.family = FAMILIES[arch]
        self.computed: Mapping[str, Any] = self.family["computed"]
        self.defaults: Mapping[str, Any] = self.family["defaults"]
        self.fields = fields_of(arch)

    def refused(self, fault: str) -> Refused:
        return Refused("model", f"The config.json of {self.source} {fault}.")

    def value(self, key: str, default: Any = None) -> Any:
        """Returns the config's value; if it is missing or null, the family's default, or else `default`."""
        value = self.raw.get(key)
        return self.defaults.get(key, default) if value is None else value

    def name(self, names: str | list[str]) -> str:
        """Returns the first of a field's names that the config has, or else for which the family has a default."""
        if isinstance(names, str):
            return names
        return next(
            (key for holder in (self.raw, self.defaults) for key in names if holder.get(key) is not None), names[0]
        )

    def size(self, size: str, default: int | None = None) -> int:
        """Returns a size from the family's field for it; `default` if the family has no such field."""
        names = self.fields[size]
        if names is None:
            assert default is not None
            return default
        return self.whole(self.name(names), default)

    def whole(self, key: str, default: int | None = None, least: int = 1) -> int:
        value = self.value(key, default)
        if type(value) is not int or value < least:
            what = "a positive whole number" if least else "a whole number from 0"
            raise self.refused(f"has {key} = {value!r}, not {what}")
        if value > (most := largest(key)):
            raise self.refused(f"has {key} = {value:,}; it must be at most {most:,}")
        return value

    def real(self, key: str, default: float, table: dict[str, Any] | None = None) -> float:
        value = (self.raw if table is None else table).get(key)
        value = default if value is None else value
        if not _is_positive(value):
            raise self.refused(f"has {key} = {value!r}, not a positive number")
        return float(value)

    def flag(self, key: str) -> bool:
        value = self.value(key)
        if not isinstance(value, bool):
            raise self.refused(f"has {key} = {value!r}, neither true nor false")
        return value

    def fact(self, name: str) -> bool:
        """Returns a fact about the layers: fixed by the family, or a flag of the config."""
        fact = self.family["layer"].get(name, False)
        return self.flag(fact) if isinstance(fact, str) else bool(fact)

    def layers(self, key: str) -> list[int]:
        """Returns a list of layer numbers; empty if the config has no such list."""
        value = self.raw.get(key)
        value = [] if value is None else value
        if not isinstance(value, list) or any(type(layer) is not int or layer < 0 for layer in value):
            raise self.refused(f"has {key} = {value!r}, which are not layers")
        return value

    def cap(self, of: str) -> float | None:
        """Returns the cap of scores or logits: null means none; without its field, the class has one."""
        field = self.computed.get("caps", {}).get(of)
        if field is None or self.raw.get(field, self.defaults[field]) is None:
            return None
        return self.real(field, self.defaults[field])

    def must_be(self, key: str, supported: Any) -> None:
        """Refuses any other value of a setting than the supported one. For a flag, null is false."""
        value = self.raw.get(key, supported)
        if value != supported and not (value is None and supported is False):
            raise self.refused(f"has {key} = {value!r}; only {supported!r} is supported")


def _config(arch: str, settings: _Settings) -> ModelConfig:
    for key, value in settings.computed["only"].items():
        settings.must_be(key, value)
    layers, d, heads = (settings.size(size) for size in ("layers", "d", "heads"))
    head_dim = _head_dim(settings, d, heads)
    window, global_layers = _window(settings, layers)
    widths = settings.family.get("mlp_widths")
    parts = fixed_parts(arch)
    context = settings.size("context")
    rotation = _rotation(settings, head_dim, context) if parts["positions"] == "rotary" else {"context": context}
    scaled = "scales_embedding" in settings.computed
    scalar = "query_pre_attn_scalar"
    norm_eps = settings.fields["norm_eps"]
    assert isinstance(norm_eps, str)
    return ModelConfig(
        arch=arch,
        layers=layers,
        heads=heads,
        kv_heads=_kv_heads(settings, heads),
        head_dim=head_dim,
        d=d,
        d_mlp=settings.size("d_mlp", widths * d if widths else None),
        vocab=settings.size("vocab"),
        **parts,
        norm_eps=settings.real(norm_eps, settings.defaults[norm_eps]),
        **rotation,
        qkv_bias=settings.fact("qkv_bias"),
        out_bias=settings.fact("out_bias"),
        mlp_bias=settings.fact("mlp_bias"),
        embedding_scale=math.sqrt(d) if scaled else 1.0,
        score_cap=settings.cap("score"),
        logit_cap=settings.cap("logit"),
        parallel=settings.fact("parallel"),
        score_width=settings.real(scalar, settings.defaults[scalar]) if scalar in settings.defaults else None,
        **_experts(settings, layers),
        tied=settings.flag("tie_word_embeddings"),
        window=window,
        global_layers=global_layers,
    )


def _head_dim(settings: _Settings, d: int, heads: int) -> int:
    """Returns the width of a head: width ÷ heads if neither the config nor the class has one."""
    field = settings.fields["head_dim"]
    if isinstance(field, str) and settings.raw.get(field, settings.defaults.get(field)) is not None:
        return settings.whole(field)
    if d % heads:
        raise settings.refused(f"has a width of {d}, which its {heads} heads do not divide")
    return d // heads


def _kv_heads(settings: _Settings, heads: int) -> int:
    """Returns the number of KV heads: as many as query heads if the field is null, or in neither config nor class."""
    field = settings.fields["kv_heads"]
    null = isinstance(field, str) and field in settings.raw and settings.raw[field] is None
    return heads if null else settings.size("kv_heads", heads)


def _experts(settings: _Settings, layers: int) -> dict[str, Any]:
    """Returns the arguments of `ModelConfig` about experts; none for a family without experts."""
    rule = settings.family.get("experts")
    if rule is None:
        return {}
    step, dense = settings.whole(rule["every"]), settings.layers(rule["except"])
    return {
        "experts": settings.whole(settings.name(rule["count"])),
        "experts_chosen": settings.whole("num_experts_per_tok"),
        "d_expert": settings.whole(rule["width"]),
        "shares_normalized": settings.flag("norm_topk_prob"),
        "dense_layers": tuple(layer for layer in range(layers) if layer in dense or (layer + 1) % step),
    }


def _rotation(settings: _Settings, head_dim: int, context: int) -> dict[str, Any]:
    """Returns the arguments of `ModelConfig` about rotary positions, and the longest context for which they hold."""
    windows = "rotates_windows" in settings.computed
    tables = _rope_tables(settings, windows)
    table = tables["full_attention"]
    rotated = _rotated(settings, head_dim, table)
    theta, scaling = _rope(settings, rotated, table)
    if scaling is not None and scaling["rope_type"] == "divisors":
        context = min(context, int(scaling[_FIRST_CONTEXT]))
    return {
        "context": context,
        "rope_theta": theta,
        "rotary_dim": None if rotated == head_dim else rotated,
        "rope_scaling": scaling,
        "local_rope_theta": _local_theta(settings, head_dim, tables) if windows else None,
    }


def _rope_tables(settings: _Settings, local: bool) -> dict[str, dict[str, Any]]:
    """Returns the table of rotary parameters for each kind of layer. If a config has both, `rope_scaling` replaces
    `rope_parameters` (the key of transformers 5), as in `transformers`. With `local`, layers with a window have a table
    too, and `rope_scaling` counts only for the other layers.
    """
    parameters, scaling = (settings.raw.get(key) or {} for key in ("rope_parameters", "rope_scaling"))
    if local and isinstance(parameters, dict) and isinstance(scaling, dict):
        tables = {kind: parameters.get(kind) or {} for kind in ("full_attention", "sliding_attention")}
        if set(parameters) <= tables.keys() and all(isinstance(table, dict) for table in tables.values()):
            return tables | {"full_attention": tables["full_attention"] | scaling}
        raise settings.refused("has rope_parameters that are not those of its two kinds of layers")
    table = scaling or parameters
    if not isinstance(table, dict) or any(isinstance(value, dict) for value in table.values()):
        raise settings.refused("rotates positions differently from layer to layer, which is not supported")
    return {"full_attention": table}


def _rotated(settings: _Settings, head_dim: int, table: dict[str, Any]) -> int:
    """Returns how many numbers of each head are rotated."""
    field = settings.computed.get("rotates_a_part")
    if field is None:
        return head_dim
    return int(head_dim * settings.real(_PART, settings.real(field, settings.defaults.get(field, 1.0)), table))


def _local_theta(settings: _Settings, head_dim: int, tables: Mapping[str, dict[str, Any]]) -> float:
    """Returns the base of the rotary angles in layers with a window."""
    table = {"rope_theta": settings.real("rope_local_base_freq", settings.defaults["rope_local_base_freq"])}
    theta, scaling = _rope(settings, head_dim, table | tables["sliding_attention"])
    if scaling is not None:
        raise settings.refused("scales the positions of layers with a window, which is not supported")
    return theta


def _rope(settings: _Settings, head_dim: int, table: dict[str, Any]) -> tuple[float, Scaling | None]:
    """Returns the base of the rotary angles and their scaling."""
    field = settings.computed.get("rope_base", "rope_theta")
    default = settings.real(field, settings.defaults.get(field, 10_000.0))
    theta = settings.real("rope_theta", default, table)
    for holder in (settings.raw, table):
        if holder.get(_PART, 1.0) != 1.0 and "rotates_a_part" not in settings.computed:
            raise settings.refused("rotates only a part of each head, which is not supported")
    kind = table.get("rope_type") or table.get("type") or "default"
    if kind in settings.computed.get("longrope", ()):
        kind = "longrope"
    if kind == "default":
        if table.get("factor", 1.0) != 1.0:
            raise settings.refused(f"has a rope factor of {table['factor']!r} without a rope_type, which says what for")
        return theta, None
    if kind not in _SCALINGS:
        raise settings.refused(f"scales its positions by {kind!r}; {', '.join(_SCALINGS)} can be computed")
    return theta, _SCALINGS[kind](settings, table, head_dim)


def _linear(settings: _Settings, table: dict[str, Any], _head_dim: int) -> Scaling | None:
    factor = _required(settings, table, "linear", "factor")
    return None if factor == 1 else {"rope_type": "linear", "factor": factor}


def _dynamic(settings: _Settings, table: dict[str, Any], _head_dim: int) -> None:
    """Returns no scaling: within `max_position_embeddings`, the limit of runs here, it does not change the base."""
    _required(settings, table, "dynamic", "factor")


def _llama3(settings: _Settings, table: dict[str, Any], _head_dim: int) -> Scaling:
    keys = ("factor", "low_freq_factor", "high_freq_factor")
    values = {key: _required(settings, table, "llama3", key) for key in keys}
    return {"rope_type": "llama3", **values, _FIRST_CONTEXT: _first_context(settings, table)}


def _yarn(settings: _Settings, table: dict[str, Any], _head_dim: int) -> Scaling | None:
    first = _first_context(settings, table)
    factor = settings.real("factor", settings.whole("max_position_embeddings") / first, table)

    def strength(scale: float) -> float:
        """Returns the factor of attention for a longer context (arXiv:2309.00071, §3.4)."""
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
    """Returns the divisors for texts within the first context, to which runs are limited here."""
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


def _required(settings: _Settings, table: dict[str, Any], kind: str, key: str) -> float:
    if key not in table:
        raise settings.refused(f"scales its positions by {kind!r} without saying {key}")
    return settings.real(key, math.nan, table)


def _first_context(settings: _Settings, table: dict[str, Any]) -> float:
    """Returns the length in tokens of the texts that the model was first trained on."""
    inside = settings.real(_FIRST_CONTEXT, settings.whole("max_position_embeddings"), table)
    return settings.real(_FIRST_CONTEXT, inside)


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def _period(settings: _Settings, rule: Mapping[str, Any], layers: int) -> int:
    """Returns the n for which each nth layer has no window."""
    period = rule.get("but_each", layers + 1)
    return period if isinstance(period, int) else settings.whole(period)


def _window(settings: _Settings, layers: int) -> tuple[int | None, tuple[int, ...]]:
    """Returns the sliding window, or None, and the layers without it."""
    rule = settings.family.get("window")
    if rule is None or ("only_if" in rule and not settings.flag(rule["only_if"])):
        return None, ()
    if settings.raw.get("sliding_window", settings.defaults.get("sliding_window")) is None:
        return None, ()
    first = settings.whole(rule["from"], least=0) if "from" in rule else 0
    every = _period(settings, rule, layers)
    kinds = settings.raw.get("layer_types")
    if kinds is None:
        windowed = [layer >= first and (layer + 1) % every != 0 for layer in range(layers)]
    elif not isinstance(kinds, list) or len(kinds) != layers or not set(map(str, kinds)) <= _KINDS:
        raise settings.refused("has layer_types that are not full_attention or sliding_attention, one for each layer")
    else:
        windowed = [kind == "sliding_attention" for kind in kinds]
    if not any(windowed):
        return None, ()
    return settings.whole("sliding_window"), tuple(layer for layer in range(layers) if not windowed[layer])
