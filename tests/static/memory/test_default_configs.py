"""Every default config of `transformers` is either counted as `transformers` builds it, or refused with a field named.

Models are built without memory (the meta device). Of a config that also describes models for pictures or sound, only
the text model and its LM head count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
)

from kvscope.model.families import FAMILIES
from tests.static.memory.other_configs import ALONE, changed
from tests.static.memory.stored import cache_bytes, text_parameters
from tests.support.node import answer_of

SCRIPT = Path(__file__).parent / "sizes-answers.js"
CONTEXT = 100
NAMES = sorted({*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES})
NOT_RUN = {"gemma3n", "gemma3n_text"}
"""They read a number out of a tensor, which has none without memory; test_transformers.py runs them small."""


def questions(configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"config": config, "dtype": "bf16", "contexts": [CONTEXT]} for config in configs]


def written(config: Any) -> dict[str, Any]:
    """As `transformers` writes it into a config.json, with every field."""
    return json.loads(config.to_json_string(use_diff=False))


def default_configs() -> Iterator[tuple[str, Any]]:
    for name in NAMES:
        try:
            yield name, transformers.CONFIG_MAPPING[name]()
        except (ValueError, TypeError, StrictDataclassError):  # a class without valid defaults has no default config
            continue


def built(config: Any) -> Any:
    """The whole model, or its text model alone where its default eyes do not build here."""
    classes = (transformers.AutoModelForCausalLM, transformers.AutoModelForImageTextToText)
    for made in (config, config.get_text_config()):
        for auto in classes:
            if type(made) in auto._model_mapping:
                with torch.device("meta"), suppress(ValueError, ImportError):
                    return auto.from_config(made, dtype=torch.bfloat16)
    raise AssertionError(f"{config.model_type} is not built")


def test_a_default_config_is_counted_as_it_is_built_or_refused_with_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    configs = dict(default_configs())
    answers = answer_of(SCRIPT, questions([written(config) for config in configs.values()]))
    found: dict[str, str] = {}
    different = {}
    for (name, config), answer in zip(configs.items(), answers, strict=True):
        if "problem" in answer:
            found[name] = "refused"
            assert answer["problem"]["field"], name
            continue
        model = built(config)
        expected = {"parameters": text_parameters(model)}
        got = {"parameters": answer["parameters"]}
        if name not in NOT_RUN:
            with torch.device("meta"):
                expected["bytes"] = cache_bytes(model, torch.zeros((1, CONTEXT), dtype=torch.long))
            got["bytes"] = answer["bytes"][0]
        found[name] = "equal" if got == expected else "different"
        if got != expected:
            different[name] = (got, expected)
    with capsys.disabled():
        print(f"\n{len(configs)} default configs: {dict(Counter(found.values()))}")
    assert different == {}
    assert Counter(found.values())["equal"] >= 40


NO_MODEL = ("rope_parameters", "n_group", "topk_group", "use_cache", "return_dict", "head_dim", "qk_head_dim")
"""With another value of them, `transformers` makes no model."""


def other(value: Any) -> Any:
    """Another value of the same kind; the same of what is neither a flag nor a number."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value / 2 if isinstance(value, float) else value


@pytest.mark.parametrize("family", ALONE)
def test_fields_that_are_not_read_change_no_size(family: str) -> None:
    """Whatever the calculator reads past, in a config of the family with all fields that its class writes."""
    sizes = {"model_type": family, "pad_token_id": 0, **changed(family)}
    whole = written(transformers.AutoConfig.for_model(**sizes))
    names = [name for name in whole if name not in NO_MODEL and not name.endswith("_token_id")]
    plain, *answers = answer_of(SCRIPT, questions([whole, *({**whole, name: other(whole[name])} for name in names)]))
    read = set(json.loads(plain["relevant"]))
    accepted = {
        name: other(whole[name])
        for name, answer in zip(names, answers, strict=True)
        if "problem" not in answer and name not in read and name not in FAMILIES[family]["defaults"]
    }
    models = [transformers.AutoConfig.for_model(**{**whole, **fields}) for fields in ({}, accepted)]
    assert [text_parameters(built(each)) for each in models] == [plain["parameters"]] * 2
