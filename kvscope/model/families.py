"""The families of models, by `model_type`: one table, which the page's memory calculator imports too (families.json).

Of each family:

- `defaults`: what its configuration class in `transformers` (5.23) has for a field that a config.json leaves out, of
  the fields that are read here. Where `num_key_value_heads` or `head_dim` is not among them, the class takes the number
  of heads, or width ÷ heads.
- `layer`: what of a layer is not a size, such as norms and biases. A text in place of a value names the flag of the
  config that says it.
- `window`, where layers may have one: `only_if` names the flag that switches it on, `tokens` the field of its size
  where that is not `sliding_window`. It is in all layers, or from the layer on that the field `from` names, or in all
  but each `but_each`th (a number, or the field that has it). `layer_types` in a config outdoes that; `kind` is what
  such layers are called there, where it is not `sliding_attention`.
- `required`: fields that a config.json must have, because the class has no value for them with which a model can be
  built.
- `ignored`: fields that its class writes into a config.json, and that change no size of this family.
- `computed`: whether a checkpoint of it can be loaded.
- `text`, of a model that also reads pictures or sound: the family of its text model. Whether the LM head is tied is
  said outside that, and with `tied_inside` by the text model's own flag too.

What is more than a fact stays with whoever computes it: how experts are spread over layers, latent and linear attention
are code of the calculator.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FAMILIES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("families.json").read_text("utf-8"))
COMPUTED = tuple(name for name, family in FAMILIES.items() if family.get("computed"))
