"""The calculator's bytes and parameters are those of the tensors that `transformers` makes of the same config.

A tiny model of each family runs over so many tokens, and the tensors of its cache are added up. Two families leave more
or less there than what attention needs, which is what the calculator counts. A layer with a window of w tokens is left
with w − 1 of them: the last query read w, its own among them, and the next one will not see the oldest. And Falcon's
newer architecture stores K and V of a group once for each of its query heads. Of latent attention (MLA) the latent
vector itself is stored, as counted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from tests.support.node import answer_of

FOLDER = Path(__file__).parent
CONTEXTS = (1, 4, 5, 6, 11)
WINDOW = 5
LLAMA = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
GPT2 = {"vocab_size": 50, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}
FALCON = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
DEEPSEEK = {
    **LLAMA,
    "num_key_value_heads": 4,
    "kv_lora_rank": 12,
    "q_lora_rank": 20,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 6,
    "n_routed_experts": 8,
    "n_shared_experts": 2,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "first_k_dense_replace": 1,
    "n_group": 2,
    "topk_group": 1,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", LLAMA),
    "llama-mha-tied": ("llama", {**LLAMA, "num_key_value_heads": 4, "tie_word_embeddings": True}),
    "llama-mqa": ("llama", {**LLAMA, "num_key_value_heads": 1}),
    "qwen2": ("qwen2", LLAMA),
    "qwen2-window": ("qwen2", {**LLAMA, "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 2}),
    "qwen3": ("qwen3", {**LLAMA, "head_dim": 16}),
    "qwen3-moe": (
        "qwen3_moe",
        {**LLAMA, "head_dim": 8, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24},
    ),
    "mistral": ("mistral", {**LLAMA, "sliding_window": WINDOW}),
    "mistral-whole": ("mistral", {**LLAMA, "sliding_window": None}),
    "mixtral": ("mixtral", {**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "phi3": ("phi3", {**LLAMA, "sliding_window": WINDOW, "pad_token_id": 0}),
    "gemma": ("gemma", {**LLAMA, "head_dim": 16}),
    "gemma2": ("gemma2", {**LLAMA, "head_dim": 16, "sliding_window": WINDOW}),
    "gemma3": ("gemma3_text", {**LLAMA, "num_hidden_layers": 7, "head_dim": 16, "sliding_window": WINDOW}),
    "qwen3-moe-some-dense": (
        "qwen3_moe",
        {
            **LLAMA,
            "head_dim": 8,
            "num_experts": 6,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 24,
            "mlp_only_layers": [0],
        },
    ),
    "olmo2": ("olmo2", LLAMA),
    "olmo3": ("olmo3", {**LLAMA, "num_hidden_layers": 5, "sliding_window": WINDOW}),
    "cohere": ("cohere", LLAMA),
    "cohere2": ("cohere2", {**LLAMA, "num_hidden_layers": 5, "head_dim": 8, "sliding_window": WINDOW}),
    "starcoder2": ("starcoder2", {**LLAMA, "sliding_window": None}),
    "phi": ("phi", LLAMA),
    "gpt-neox": ("gpt_neox", {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"}),
    "gpt-oss": (
        "gpt_oss",
        {**LLAMA, "head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": WINDOW},
    ),
    "gpt2": ("gpt2", GPT2),
    "gpt-bigcode": ("gpt_bigcode", GPT2),
    "falcon": ("falcon", FALCON),
    "falcon-new": ("falcon", {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2}),
    "deepseek-v2": ("deepseek_v2", {**DEEPSEEK, "topk_method": "greedy"}),
    "deepseek-v2-lite": ("deepseek_v2", {**DEEPSEEK, "q_lora_rank": None}),
    "deepseek-v3": ("deepseek_v3", {**DEEPSEEK, "num_nextn_predict_layers": 0}),
}
STORED_TIMES = {"falcon-new": 2}
"""How often K and V are in the cache, where that is not once."""
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
CASES = [(name, dtype) for name in FAMILIES for dtype in DTYPES]
Answers = dict[tuple[str, str], dict[str, Any]]


def config_of(name: str) -> Any:
    family, sizes = FAMILIES[name]
    return transformers.AutoConfig.for_model(family, **{"bos_token_id": 1, "eos_token_id": 2, **sizes})


def asked(configs: dict[str, dict[str, Any]]) -> Answers:
    """What the calculator says of each config with each dtype, in one Node process."""
    questions = [{"config": configs[name], "dtype": dtype, "contexts": CONTEXTS} for name, dtype in CASES]
    return dict(zip(CASES, answer_of(FOLDER / "sizes-answers.js", questions), strict=True))


@pytest.fixture(scope="module")
def said() -> Answers:
    return asked({name: {"model_type": family, **sizes} for name, (family, sizes) in FAMILIES.items()})


def cache_bytes(model: Any, tokens: int) -> int:
    ids = torch.arange(tokens)[None] % 50
    with torch.inference_mode():
        layers = model(ids, use_cache=True).past_key_values.layers
    return sum(stored.numel() * stored.element_size() for layer in layers for stored in (layer.keys, layer.values))


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_the_cache_and_the_parameters_are_those_of_the_model(name: str, dtype: str, said: Answers) -> None:
    model = transformers.AutoModelForCausalLM.from_config(config_of(name), dtype=DTYPES[dtype]).eval()
    answer = said[name, dtype]
    assert answer["notes"] == []
    assert answer["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    window = answer["window"]
    assert (window is not None) == (WINDOW in FAMILIES[name][1].values())
    for context, counted in zip(CONTEXTS, answer["bytes"], strict=True):
        left = window["layers"] * answer["layer"] if window and context >= window["tokens"] else 0
        assert (counted - left) * STORED_TIMES.get(name, 1) == cache_bytes(model, context), f"{context} tokens"


def test_a_config_that_transformers_writes_is_read_alike(said: Answers) -> None:
    """With every field that it adds, and under its newer names."""
    assert asked({name: json.loads(config_of(name).to_json_string()) for name in FAMILIES}) == said


LEFT_OUT = (
    *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
    *("vocab_size", "tie_word_embeddings", "sliding_window"),
)
NAMED = (
    *("llama", "mistral", "mixtral", "phi3", "qwen2", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text"),
    *("olmo2", "olmo3", "cohere", "cohere2", "starcoder2", "phi", "gpt_neox", "gpt_oss"),
)
PASTED = [(family, field) for family in NAMED for field in LEFT_OUT]


def published(family: str) -> dict[str, Any]:
    """A config of the family with every field that is looked at, none of them the class's own value."""
    sizes = {
        "hidden_size": 1024,
        "intermediate_size": 1536,
        "num_hidden_layers": 12,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "vocab_size": 40_000,
        "tie_word_embeddings": False,
        "sliding_window": 64,
    }
    return {"model_type": family, "max_position_embeddings": 4096, **sizes}


def test_a_field_that_is_left_out_is_what_the_class_has() -> None:
    configs = []
    for family, field in PASTED:
        configs.append({key: value for key, value in published(family).items() if key != field})
    questions = [{"config": config, "dtype": "bf16", "contexts": [100]} for config in configs]
    wrong = []
    for (family, field), config, answer in zip(
        PASTED, configs, answer_of(FOLDER / "sizes-answers.js", questions), strict=True
    ):
        made = transformers.AutoConfig.for_model(
            family, **{key: value for key, value in config.items() if key != "model_type"}
        )
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(made)
        expected = sum(parameter.numel() for parameter in model.parameters())
        if "problem" in answer and made.num_attention_heads % made.num_key_value_heads:
            continue  # the class's own value contradicts what is there, and that is said
        if answer.get("parameters") != expected:
            wrong.append((family, field, answer, expected))
    assert wrong == []
