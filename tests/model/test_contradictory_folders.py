"""Folders whose config.json leaves something out, says it twice, or contradicts itself: they compute what
`transformers` computes from the same files, to the logit, or are refused with the setting named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from tests.support.loaded import engine_of, loaded, logits_of_rows
from tests.support.refused import refusal
from tests.support.tiny_files import write_folder

LEFT_OUT = "(left out)"
IDS = [5, 40, 7, 260, 33, 9, 100, 8, 50, 61, 10, 44, 99, 3, 17, 200, 31, 6, 70, 12]
LINEAR = {"rope_type": "linear", "factor": 2.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
LONG = {"rope_type": "longrope", "short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [1.0, 4.0, 8.0, 16.0]}
MIXED = ["full_attention", "sliding_attention"]
Change = dict[str, Any]
ALIKE: list[tuple[str, Change]] = [
    # rope, in one table or in two
    ("llama", {"rope_scaling": LINEAR}),
    ("llama", {"rope_scaling": {"type": "linear", "factor": 2.0}}),
    ("llama", {"rope_scaling": LINEAR, "rope_parameters": LEFT_OUT, "rope_theta": 500.0}),
    ("llama", {"rope_scaling": {**LINEAR, "rope_theta": 500.0}, "rope_theta": 70.0}),
    ("llama", {"rope_parameters": {**LINEAR, "rope_theta": 500.0}, "rope_theta": 70.0}),
    ("llama", {"rope_scaling": YARN, "rope_parameters": {**LINEAR, "rope_theta": 500.0}}),
    ("llama", {"rope_scaling": None, "rope_parameters": {**LINEAR, "rope_theta": 500.0}}),
    ("llama", {"rope_scaling": {"rope_type": "default"}, "rope_parameters": {**LINEAR, "rope_theta": 500.0}}),
    ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 1.0}}),
    ("llama", {"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}),
    ("llama", {"rope_scaling": LLAMA3, "max_position_embeddings": 128}),
    ("llama", {"rope_scaling": {**YARN, "attention_factor": 0.7}}),
    ("llama", {"rope_scaling": {**YARN, "beta_fast": 4.0, "beta_slow": 2.0}}),
    ("llama", {"rope_scaling": {**YARN, "mscale": 0.7}}),
    ("llama", {"rope_scaling": {**YARN, "mscale": 0.7, "mscale_all_dim": 0.4}}),
    ("llama", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}),
    ("llama", {"rope_scaling": {"type": "yarn", "factor": 1.0}}),
    ("llama", {"rope_scaling": {**LONG, "factor": 2.0, "original_max_position_embeddings": 32}}),
    ("llama", {"rope_scaling": {**LONG, "original_max_position_embeddings": 32}}),
    ("llama", {"rope_scaling": LONG, "original_max_position_embeddings": 32}),
    ("qwen2", {"rope_scaling": YARN, "rope_theta": 300.0}),
    ("qwen3", {"rope_scaling": YARN}),
    ("mistral", {"rope_scaling": LINEAR}),
    # left out, or null
    ("llama", {"rope_parameters": LEFT_OUT}),
    ("llama", {"rms_norm_eps": LEFT_OUT, "hidden_act": LEFT_OUT}),
    ("llama", {"head_dim": LEFT_OUT}),
    ("llama", {"head_dim": None, "attention_bias": LEFT_OUT, "mlp_bias": LEFT_OUT}),
    ("llama", {"max_position_embeddings": LEFT_OUT, "tie_word_embeddings": LEFT_OUT}),
    ("llama", {"text_config": None}),
    ("qwen2", {"use_sliding_window": LEFT_OUT, "layer_types": LEFT_OUT, "max_window_layers": LEFT_OUT}),
    ("gpt2", {"n_inner": LEFT_OUT, "layer_norm_epsilon": LEFT_OUT, "activation_function": LEFT_OUT}),
    ("gpt2", {"n_positions": 64, "n_ctx": 32}),
    # windows
    ("mistral", {"sliding_window": LEFT_OUT}),
    ("mistral", {"sliding_window": None}),
    ("mistral", {"sliding_window": 4}),
    ("llama", {"sliding_window": 4}),
    ("qwen2", {"layer_types": LEFT_OUT, "use_sliding_window": False, "sliding_window": 4}),
    ("qwen2", {"layer_types": LEFT_OUT, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}),
    ("qwen2", {"layer_types": LEFT_OUT, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 9}),
    ("phi3", {"sliding_window": 4}),
    ("phi3", {"sliding_window": LEFT_OUT}),
    ("phi3", {"num_key_value_heads": 2, "partial_rotary_factor": 0.5, "rope_parameters": LEFT_OUT}),
    ("phi3", {"rope_parameters": LEFT_OUT, "rope_theta": 500.0}),
    ("qwen2", {"layer_types": MIXED, "use_sliding_window": True, "sliding_window": 4}),
    ("gemma3_text", {"layer_types": LEFT_OUT, "sliding_window_pattern": 2, "sliding_window": 4}),
    ("gemma3_text", {"layer_types": LEFT_OUT, "sliding_window": 4}),
    ("gemma3_text", {"rope_parameters": LEFT_OUT, "rope_theta": 500.0, "rope_local_base_freq": 70.0}),
    ("gemma3_text", {"rope_parameters": LEFT_OUT, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}),
    ("gemma3_text", {"rope_parameters": LEFT_OUT}),
    ("gemma3_text", {"query_pre_attn_scalar": LEFT_OUT}),
    ("qwen3", {"layer_types": ["sliding_attention"] * 2, "use_sliding_window": True, "sliding_window": 4}),
    ("gemma2", {"layer_types": LEFT_OUT, "sliding_window": 4}),
    (
        "gemma2",
        {"attn_logit_softcapping": LEFT_OUT, "final_logit_softcapping": None, "query_pre_attn_scalar": LEFT_OUT},
    ),
    ("gemma2", {"attn_logit_softcapping": None, "final_logit_softcapping": 2.0, "hidden_activation": LEFT_OUT}),
    ("gemma2", {"use_bidirectional_attention": False, "rope_parameters": LEFT_OUT, "rope_theta": 500.0}),
    # GPT-NeoX: its own names for what is rotated
    ("gpt_neox", {"rope_parameters": LEFT_OUT}),
    ("gpt_neox", {"rope_parameters": LEFT_OUT, "rotary_pct": 0.5, "rotary_emb_base": 300.0}),
    ("gpt_neox", {"rope_parameters": LEFT_OUT, "rotary_pct": 1.0, "rope_scaling": {"type": "linear", "factor": 2.0}}),
    ("gpt_neox", {"use_parallel_residual": LEFT_OUT, "layer_norm_eps": LEFT_OUT, "hidden_act": LEFT_OUT}),
    ("gpt_neox", {"use_parallel_residual": False, "attention_bias": LEFT_OUT}),
    # tied or not
    ("llama", {"tie_word_embeddings": True}),
    ("qwen2", {"tie_word_embeddings": True}),
]
REFUSED: list[tuple[str, Change, str]] = [
    ("llama", {"rope_scaling": {"factor": 2.0}}, "without a rope_type"),
    ("llama", {"rope_scaling": {"rope_type": "linear"}}, "without saying factor"),
    ("llama", {"rope_scaling": {"rope_type": "linear", "factor": "2"}}, "factor = '2'"),
    ("llama", {"rope_scaling": {"rope_type": "su", "factor": 2.0}}, "'su'"),
    ("llama", {"rope_scaling": {**LONG, "short_factor": [1.0]}}, "short_factor"),
    ("llama", {"rope_scaling": {**LLAMA3, "low_freq_factor": LEFT_OUT}}, "low_freq_factor"),
    ("llama", {"rope_scaling": "linear"}, "from layer to layer"),
    ("llama", {"attention_bias": "yes"}, "attention_bias = 'yes'"),
    ("llama", {"tie_word_embeddings": 1}, "tie_word_embeddings = 1"),
    ("llama", {"hidden_act": "relu"}, "hidden_act = 'relu'"),
    ("llama", {"attention_bias": True}, "is missing"),
    ("llama", {"num_hidden_layers": LEFT_OUT}, "is missing"),
    ("llama", {"hidden_size": LEFT_OUT}, "that config.json calls for"),
    ("llama", {"num_key_value_heads": LEFT_OUT}, "that config.json calls for"),
    ("llama", {"num_key_value_heads": None}, "that config.json calls for"),
    ("qwen3", {"head_dim": 16}, "that config.json calls for"),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
    (
        "qwen2",
        {"layer_types": ["linear_attention"] * 2, "use_sliding_window": True, "sliding_window": 4},
        "layer_types",
    ),
    ("qwen2", {"layer_types": MIXED[:1], "use_sliding_window": True, "sliding_window": 4}, "layer_types"),
    ("gemma3_text", {"final_logit_softcapping": 30.0}, "final_logit_softcapping"),
    ("gemma3_text", {"attn_logit_softcapping": 30.0}, "attn_logit_softcapping"),
    ("gemma3_text", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
    ("gemma3_text", {"hidden_activation": "silu"}, "hidden_activation"),
    ("gemma3_text", {"rope_parameters": {"other_attention": {}}}, "two kinds of layers"),
    ("gemma3_text", {"rope_parameters": {"sliding_attention": LINEAR}}, "layers with a window"),
    ("gemma2", {"attn_logit_softcapping": 0.0}, "attn_logit_softcapping = 0.0"),
    ("gemma2", {"final_logit_softcapping": "30"}, "final_logit_softcapping = '30'"),
    ("gemma2", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
    ("gemma2", {"hidden_activation": "gelu"}, "hidden_activation = 'gelu'"),
    ("gpt_neox", {"hidden_act": "gelu_new"}, "hidden_act = 'gelu_new'"),
    ("gpt_neox", {"use_parallel_residual": "no"}, "use_parallel_residual = 'no'"),
    ("gpt_neox", {"rope_parameters": {"partial_rotary_factor": -0.5}}, "partial_rotary_factor = -0.5"),
    ("gpt_neox", {"rope_parameters": {"partial_rotary_factor": 2.0}}, "rotary positions of 16 numbers"),
    ("gpt_neox", {"num_attention_heads": 5}, "its 5 heads do not divide"),
    ("llama", {"quantization_config": {"bits": 4}}, "remove quantization_config"),
    ("llama", {"num_hidden_layers": 0}, "num_hidden_layers = 0"),
    ("llama", {"hidden_size": "32"}, "hidden_size = '32'"),
    ("llama", {"vocab_size": None}, "not the [32000, 32] that config.json calls for"),
    ("llama", {"num_key_value_heads": 3}, "4 query heads cannot share 3 K/V heads"),
    ("llama", {"rms_norm_eps": -1.0}, "rms_norm_eps = -1.0"),
    ("llama", {"partial_rotary_factor": 0.5}, "rotates only a part of each head"),
    ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": -4.0}}, "factor = -4.0"),
    (
        "llama",
        {"rope_parameters": {"full_attention": {"rope_type": "default"}}},
        "rotates positions differently from layer",
    ),
    ("gpt2", {"activation_function": "relu"}, "activation_function = 'relu'"),
    ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights = False"),
    ("gpt2", {"n_head": 5}, "its 5 heads do not divide"),
    ("mistral", {"model_type": "mixtral"}, "'mixtral'"),
    ("llama", {"model_type": "llava"}, "'llava'"),
    ("llama", {"model_type": LEFT_OUT}, "None"),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each family, untied."""
    folders = {}
    for arch in ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "gpt2", "gpt_neox"):
        folders[arch] = tmp_path_factory.mktemp(arch)
        write_folder(folders[arch], arch, **({} if arch == "gpt2" else {"tie_word_embeddings": False}))
    return folders


@pytest.fixture
def folder(saved: dict[str, Path], tmp_path: Path, arch: str, change: Change) -> Path:
    """Of the family, with the change in its config.json."""
    for file in saved[arch].iterdir():
        (tmp_path / file.name).symlink_to(file)
    raw = json.loads((saved[arch] / "config.json").read_text()) | change
    kept = {key: without(value) for key, value in raw.items() if value != LEFT_OUT}
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text(json.dumps(kept))
    return tmp_path


def without(value: Any) -> Any:
    return {key: each for key, each in value.items() if each != LEFT_OUT} if isinstance(value, dict) else value


@pytest.mark.parametrize(("arch", "change"), ALIKE, ids=str)
def test_what_is_loaded_is_what_transformers_loads(folder: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        expected = model(torch.tensor([IDS])).logits[0]
    assert float((logits_of_rows(engine_of(folder), IDS) - expected).abs().max()) < 1e-4


@pytest.mark.parametrize(("arch", "change", "said"), REFUSED, ids=str)
def test_what_is_not_computed_is_refused_by_name(folder: Path, said: str) -> None:
    assert said in str(refusal(loaded, folder))
