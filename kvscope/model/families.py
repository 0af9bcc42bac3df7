"""The table of model families, by `model_type`, and of the fields of a config.json (families.json).

The checkpoint reader and the page's Memory calculator both read a config.json by this table. The page has a copy of it
in kvscope/static/shared/sizes/, which `python -m tools.families` writes.

For all families:

- `fields`: KVScope's name of a size → its field in a config.json. A family may name another field, a list of fields
  (the first that a config has is used), or null (it has no such field).
- `largest`: the largest value that is accepted for a field; `largest_width`: for any other field.
- `without_size`: fields that change neither the parameters nor the cache, so that the calculator accepts them in every
  family: `names`, `patterns` of names, and `at`: names that are accepted at one value only.

For each family:

- `defaults`: the values of its configuration class in `transformers` (5.23) for the fields that KVScope reads and a
  config.json leaves out. Without a default for `num_key_value_heads` or `head_dim`, the class takes the number of
  heads, or width ÷ heads.
- `mlp_widths`: the width of the MLP as a multiple of the model's, if the config has none.
- `kv_heads_if`: the flag that must be set for the field of `kv_heads` to be used; `one_kv_head_if`: the flag that
  otherwise selects one KV head.
- `layer`: properties of a layer other than sizes, such as norms and biases. A text names the flag that decides.
- `window`, if layers may have one: `only_if` names the flag that switches it on, `tokens` the field of its size if that
  is not `sliding_window`. The window is in all layers; or in those from the layer on that the field `from` names; or in
  all except every `but_each`th (a number, or a field's name). `layer_types` in a config takes precedence; `kind` is the
  name of such layers there if it is not `sliding_attention`.
- `experts`: `count` and `width` name the fields of their number and of the width of their MLP. The field `listed` lists
  the layers with experts; without it, they are every `every`th layer from layer `after` on, except the layers in
  `except`. `frequency` names a field that must be 1. `shared`: the number of experts that every token uses, or its
  field; `shared_width`: the field of the width of the one shared expert.
- `latent`: whether attention is latent (MLA), and head_dim the sum of two other fields.
- `required`: fields that a config.json must have, because no model can be built with the default of the class.
- `ignored`: fields that its class writes into a config.json, and that change no size of this family.
- `computed`, if a checkpoint of it can be loaded: `mlp`; `gguf`: its architecture in a GGUF file; `only`: fields with
  the one value that is supported; `joined`: matrices that its files store as one; `joined_by_head`: whether a
  folder's file stores q, k and v of a head together; `rotates_a_part`: the field of the share of each head that is
  rotated; `rope_base`: the field of the base of the rotary angles if that is not `rope_theta`; `longrope`: its files'
  other names of LongRoPE; `rotates_windows`: whether layers with a window have other rotary angles;
  `scales_embedding`: whether an embedding is multiplied by the square root of the width; `norms_add_one`: whether a
  folder's file stores the weight of each norm − 1; `caps`: the fields of the caps of scores and logits, where null
  means none.
- `text`, of a model that also reads pictures or sound: the family of its text model. The outer config says whether the
  LM head is tied; with `tied_inside` the text model's flag counts too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("families.json").read_text("utf-8"))
FAMILIES: dict[str, dict[str, Any]] = _TABLE["families"]
COMPUTED = tuple(name for name, family in FAMILIES.items() if "computed" in family)
"""Families whose checkpoints can be loaded."""


def fields_of(family: str) -> dict[str, str | list[str] | None]:
    """Returns KVScope's name of each size → its field in a config.json of that family."""
    fields: dict[str, str | list[str] | None] = _TABLE["fields"]
    return fields | FAMILIES[family].get("fields", {})


def largest(field: str) -> int:
    """Returns the largest value that a config.json may have in that field."""
    value: int = _TABLE["largest"].get(field, _TABLE["largest_width"])
    return value


def fixed_parts(family: str) -> dict[str, Any]:
    """Returns the properties that all models of a computed family share, as arguments of `ModelConfig`."""
    layer = FAMILIES[family]["layer"]
    return {
        "norm": "layer" if layer.get("centred") else "rms",
        "mlp": FAMILIES[family]["computed"]["mlp"],
        "positions": "learned" if layer.get("positions") else "rotary",
        "qk_norm": layer.get("qk_norm") is True,
        "post_norms": layer["norms"] == 4,
    }


def joined(family: str) -> tuple[str, ...]:
    """Returns the matrices that the files of a family store as one: "qkv", "gate_up"; none for an unknown family."""
    return tuple(FAMILIES.get(family, {}).get("computed", {}).get("joined", ()))
