"""Tiny random modules of `transformers`, of families that KVScope does not implement, and their tokenizer."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.tiny_files import VOCAB, write_tokenizer

_GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
_USUAL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
_GROUPED = {**_USUAL, "num_key_value_heads": 2, "max_position_embeddings": 64}
FAMILIES: dict[str, dict[str, Any]] = {
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
    "codegen": {**_GPT, "rotary_dim": 4},
    "cohere": _GROUPED,
    "glm": {**_GROUPED, "head_dim": 8},
    "gpt_bigcode": _GPT,
    "gptj": {**_GPT, "rotary_dim": 4},
    "granite": {**_GROUPED, "logits_scaling": 3.0},
    "mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64},
    "olmo2": _GROUPED,
    "opt": {**_USUAL, "ffn_dim": 48, "word_embed_proj_dim": 32, "max_position_embeddings": 64},
    "phi": {**_USUAL, "max_position_embeddings": 64},
    "stablelm": _GROUPED,
    "starcoder2": {**_GROUPED, "sliding_window": 5},
}
"""Settings by `model_type`."""


def module_of(arch: str, *, std: float = 0.3, dtype: str = "float32", **settings: Any) -> Any:
    """A random module. `std`: standard deviation of its weights, large enough that heads differ."""
    import torch
    import transformers

    torch.manual_seed(0)
    ids = {"bos_token_id": 1, "eos_token_id": None, "pad_token_id": None}
    config = transformers.AutoConfig.for_model(
        arch, vocab_size=len(VOCAB), **{**ids, **FAMILIES.get(arch, {}), **settings}
    )
    module = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=std)
    return module


@cache
def tokenizer() -> Any:
    from transformers import PreTrainedTokenizerFast

    with TemporaryDirectory() as folder:
        write_tokenizer(Path(folder))
        return PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", eos_token="<|endoftext|>")
