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
from tests.static.memory.stored import stored_tensors
from tests.support.node import answer_of

FOLDER = Path(__file__).parent
CONTEXT = 100
TEXT = [name for name, family in FAMILIES.items() if "text" not in family]
ALONE = [name for name in TEXT if not name.endswith("vl_text") and not name.endswith("vl_moe_text")]
READS_PICTURES = [
    name for name in FAMILIES if FAMILIES[name].get("text") in TEXT and name not in ("gemma3n", "aya_vision")
]
"""Not those whose eyes cannot be made here: for Gemma 3n's a library is missing, and Aya's have the text's heads."""
OTHER: dict[str, int] = {
    "hidden_size": 1024,
    "intermediate_size": 1536,
    "num_hidden_layers": 7,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "head_dim": 96,
    "vocab_size": 4000,
    "max_position_embeddings": 4096,
    "sliding_window": 64,
    "sliding_window_pattern": 3,
    "max_window_layers": 2,
    "n_embd": 512,
    "n_layer": 5,
    "n_head": 8,
    "n_positions": 600,
    "num_local_experts": 6,
    "num_experts": 6,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 80,
    "decoder_sparse_step": 2,
    "shared_expert_intermediate_size": 48,
    "linear_conv_kernel_dim": 3,
    "linear_key_head_dim": 24,
    "linear_value_head_dim": 40,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 6,
    "intermediate_size_mlp": 700,
    "interleave_moe_layer_step": 2,
    "no_rope_layer_interval": 3,
    "attention_chunk_size": 32,
    "num_kv_shared_layers": 1,
    "vocab_size_per_layer_input": 4000,
    "hidden_size_per_layer_input": 24,
    "altup_num_inputs": 3,
    "laurel_rank": 12,
    "kv_lora_rank": 64,
    "q_lora_rank": 96,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 32,
    "v_head_dim": 48,
    "n_routed_experts": 16,
    "n_shared_experts": 1,
    "first_k_dense_replace": 2,
}
KEPT: dict[str, dict[str, Any]] = {
    "nemotron": {"num_key_value_heads": 16, "hidden_size": 1536},  # whose own number of heads divides it
    "falcon": {"new_decoder_architecture": False},  # with its other flags turned it is a model that does not run
    "deepseek_v2": {"num_experts_per_tok": 3, "topk_method": "greedy", "n_group": 1, "topk_group": 1},
    "deepseek_v3": {"n_group": 2, "topk_group": 1},
}
RUN_WITHOUT = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "multi_query"),
    *("n_embd", "n_layer", "n_head", "use_sliding_window", "sliding_window", "sliding_window_pattern"),
    *("max_window_layers", "no_rope_layer_interval", "attention_chunk_size", "num_kv_shared_layers"),
    *("linear_conv_kernel_dim", "linear_key_head_dim", "linear_value_head_dim", "linear_num_key_heads"),
    *("linear_num_value_heads", "kv_lora_rank", "qk_rope_head_dim", "num_experts_per_tok"),
)
"""Those without which a model is run, too."""
NO_SIZE = ("rms_norm_eps", "layer_norm_epsilon", "query_pre_attn_scalar", "rope_theta", "rope_local_base_freq")
"""Fields that change no size."""
Case = tuple[str, str | None]
"""A family, and the field that is left out."""


def changed(family: str) -> dict[str, Any]:
    """A config of the family with no field as its class has it."""
    defaults = FAMILIES[family]["defaults"].items()
    fields = {
        name: not value if isinstance(value, bool) else OTHER[name] for name, value in defaults if name not in NO_SIZE
    }
    return fields | KEPT.get(family, {})


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
        with torch.device("meta"), torch.inference_mode():
            model = transformers.AutoModelForCausalLM.from_config(made, dtype=torch.bfloat16)
            found = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
            if not cached:
                return found
            layers = model(torch.zeros((1, CONTEXT), dtype=torch.long), use_cache=True).past_key_values.layers
    except (AttributeError, RuntimeError, ValueError) as error:
        # Some read a number, which such a model has none of.
        return found if "meta tensors" in str(error) else None
    return found | {"bytes": sum(stored.nbytes for layer in layers for stored in stored_tensors(layer))}


@pytest.mark.parametrize("family", ALONE)
def test_a_field_that_is_left_out_is_what_the_class_has(family: str, answers: dict[Case, dict[str, Any]]) -> None:
    wrong = {}
    for field in (None, *left_out(family)):
        answer, expected = (
            answers[family, field],
            theirs(family, without(family, field), field is None or field in RUN_WITHOUT),
        )
        if expected is None:
            if "problem" not in answer:
                wrong[field] = (answer, "does not run")
            continue
        if "problem" in answer:
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
            whole = transformers.AutoModelForImageTextToText.from_config(made)
        counted = {id(each): each.numel() for each in whole.get_decoder().parameters()}
        counted |= {id(each): each.numel() for each in whole.get_output_embeddings().parameters()}
        if answer.get("parameters") != sum(counted.values()):
            wrong[config["model_type"]] = (answer, sum(counted.values()))
    assert wrong == {}
