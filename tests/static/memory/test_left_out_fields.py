"""A config with any field left out is read as the family's class in `transformers` reads it: the same parameters and
the same bytes of cache, of models without memory (the meta device).

Each family's config has another value than the class in every field of the shared table, and one field at a time is
left out. Where `transformers` cannot run what comes of that, it is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from kvscope.model.families import FAMILIES
from tests.static.memory.other_configs import ALONE, NO_SIZE, TEXT, changed
from tests.static.memory.stored import cache_bytes, text_parameters
from tests.support.node import answer_of

FOLDER = Path(__file__).parent
CONTEXT = 100
READS_PICTURES = [
    name for name in FAMILIES if FAMILIES[name].get("text") in TEXT and name not in ("gemma3n", "aya_vision")
]
"""Not those whose eyes cannot be made here: for Gemma 3n's a library is missing, and Aya's have the text's heads."""
RUN_WITHOUT = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "multi_query"),
    *("n_embd", "n_layer", "n_head", "use_sliding_window", "sliding_window", "sliding_window_pattern"),
    *("max_window_layers", "no_rope_layer_interval", "attention_chunk_size", "num_kv_shared_layers"),
    *("linear_conv_kernel_dim", "linear_key_head_dim", "linear_value_head_dim", "linear_num_key_heads"),
    *("linear_num_value_heads", "kv_lora_rank", "qk_rope_head_dim", "num_experts_per_tok"),
)
"""Those without which a model is run, too."""
Case = tuple[str, str | None]
"""A family, and the field that is left out."""


def left_out(family: str) -> list[str]:
    return [name for name in FAMILIES[family]["defaults"] if name not in NO_SIZE]


def without(family: str, field: str | None) -> dict[str, Any]:
    return {name: value for name, value in changed(family).items() if name != field}


CASES: list[Case] = [(family, field) for family in ALONE for field in (None, *left_out(family))]


@pytest.fixture(scope="module")
def answers() -> dict[Case, dict[str, Any]]:
    """What the calculator says of each, in one Node process."""
    questions = [
        {"config": {"model_type": family, **without(family, field)}, "dtype": "bf16", "contexts": [CONTEXT]}
        for family, field in CASES
    ]
    return dict(zip(CASES, answer_of(FOLDER / "sizes-answers.js", questions), strict=True))


def theirs(family: str, config: dict[str, Any], cached: bool) -> dict[str, int] | None:
    """Parameters as `transformers` has them, and bytes of cache; None where such a model does not run."""
    try:
        made = transformers.AutoConfig.for_model(family, pad_token_id=0, **config)
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(made, dtype=torch.bfloat16)
            found = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
            if not cached:
                return found
            return found | {"bytes": cache_bytes(model, torch.zeros((1, CONTEXT), dtype=torch.long))}
    except (AttributeError, RuntimeError, ValueError) as error:
        # Some read a number, which such a model has none of.
        return found if "meta tensors" in str(error) else None


@pytest.mark.parametrize("family", ALONE)
def test_a_field_that_is_left_out_is_what_the_class_has(family: str, answers: dict[Case, dict[str, Any]]) -> None:
    wrong = {}
    for field in (None, *left_out(family)):
        answer = answers[family, field]
        expected = theirs(family, without(family, field), field is None or field in RUN_WITHOUT)
        if expected is None or "problem" in answer:
            if expected is not None or "problem" not in answer:
                wrong[field] = (answer, expected)
            continue
        window = answer["window"]
        # A layer is left with one token less than its window: the next query will not see the oldest.
        left = window["layers"] * answer["layer"] if window and window["tokens"] <= CONTEXT else 0
        got = {"parameters": answer["parameters"], "bytes": answer["bytes"][0] - left}
        if {name: got[name] for name in expected} != expected:
            wrong[field] = (got, expected)
    assert wrong == {}


def test_no_k_v_heads_are_as_many_as_heads() -> None:
    """`null` is not to leave it out: Mistral's class has 8 of them."""
    config = {"model_type": "mistral", **changed("mistral"), "num_attention_heads": 16, "num_key_value_heads": None}
    (answer,) = answer_of(FOLDER / "sizes-answers.js", [{"config": config, "dtype": "bf16", "contexts": [1]}])
    assert answer["layer"] == 2 * 16 * 64 * 2


@pytest.mark.parametrize("tied", [None, True, False])
def test_the_text_model_in_one_that_reads_pictures(tied: bool | None) -> None:
    """Its parameters are those of the language model and the LM head; tie_word_embeddings is outside it."""
    flag = {} if tied is None else {"tie_word_embeddings": tied}
    configs = []
    for name in READS_PICTURES:
        inner = {"model_type": FAMILIES[name]["text"], "pad_token_id": 0, **changed(FAMILIES[name]["text"])}
        configs.append({"model_type": name, **flag, "text_config": inner})
    questions = [{"config": config, "dtype": "bf16", "contexts": [1]} for config in configs]
    wrong = {}
    for config, answer in zip(configs, answer_of(FOLDER / "sizes-answers.js", questions), strict=True):
        made = transformers.AutoConfig.for_model(**config)
        with torch.device("meta"):
            counted = text_parameters(transformers.AutoModelForImageTextToText.from_config(made))
        if answer.get("parameters") != counted:
            wrong[config["model_type"]] = (answer, counted)
    assert wrong == {}
