"""A model of `transformers` that is passed to `kvscope.run` computes as its own module does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kvscope
from tests.support.tiny_files import write_folder

PROMPT = "in the end"
FAMILIES = {
    "llama": {},
    "mistral": {"sliding_window": 5},
    "qwen2": {},
    "qwen3": {"head_dim": 16},
    "gpt2": {},
    "phi3": {},
    "gemma3_text": {"head_dim": 16, "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]},
    "gemma2": {"head_dim": 16, "final_logit_softcapping": 12.0},
    "gpt_neox": {},
}


def passed(folder: Path, arch: str, **settings: Any) -> tuple[Any, Any]:
    """A tiny random model and its tokenizer, in memory."""
    from transformers import PreTrainedTokenizerFast

    model = write_folder(folder, arch, attn_implementation="eager", **settings).eval()
    return model, PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), eos_token="<|endoftext|>")


@pytest.fixture
def llama(tmp_path: Path) -> tuple[Any, Any]:
    return passed(tmp_path, "llama")


def order_of(model: dict[str, Any]) -> list[int]:
    """The module's numbers of a head in KVScope's order: rotated ones are pairs (i, i + head_dim / 2)."""
    width = model["head_dim"]
    rotated = model.get("rotary_dim", width)
    half, end = rotated // 2, rotated + (width - rotated) // 2
    return [*range(half), *range(rotated, end), *range(half, rotated), *range(end, width)]


@pytest.mark.parametrize("arch", FAMILIES)
def test_attention_k_v_and_logits_are_those_of_the_module(tmp_path: Path, arch: str) -> None:
    model, tokenizer = passed(tmp_path, arch, **FAMILIES[arch])
    with kvscope.run(PROMPT, model, tokenizer=tokenizer, max_new_tokens=3) as run:
        prompt = tokenizer(PROMPT, return_tensors="pt").input_ids
        assert [token.id for token in run.tokens[: run.prompt_length]] == prompt[0].tolist()
        with torch.inference_mode():
            out = model(prompt, output_attentions=True, use_cache=True)
        logits = out.logits[0, -1].numpy()
        np.testing.assert_allclose(run.log.top_logits(0), logits[run.log.top_ids(0)], rtol=1e-3, atol=1e-3)
        for layer, (attention, cached) in enumerate(zip(out.attentions, out.past_key_values.layers, strict=True)):
            for head in range(4):
                weights = run.head(0, layer, head)["weights"]
                np.testing.assert_allclose(weights, attention[0, head].numpy(), rtol=1e-3, atol=1e-4)
            values, rows = run.values(0, layer), cached.keys.shape[2]
            keys = cached.keys[..., order_of(run.model)]
            for name, expected in (("k", keys), ("v", cached.values)):
                np.testing.assert_allclose(values[name][:, -rows:], expected[0].numpy(), rtol=1e-3, atol=1e-3)


def test_half_precision_weights_are_computed_with_in_float32(tmp_path: Path) -> None:
    model, tokenizer = passed(tmp_path, "llama", dtype="bfloat16")
    with kvscope.run(PROMPT, model, tokenizer=tokenizer, max_new_tokens=1) as run:
        assert set(run.model["weights"]["stored"]) == {"bfloat16"}
        with torch.inference_mode():
            logits = model.float()(tokenizer(PROMPT, return_tensors="pt").input_ids).logits[0, -1].numpy()
        np.testing.assert_allclose(run.log.top_logits(0), logits[run.log.top_ids(0)], rtol=1e-3, atol=1e-3)


def test_a_model_is_copied_again_after_its_weights_changed(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    first = kvscope.run(PROMPT, model, tokenizer=tokenizer, max_new_tokens=1)
    same = kvscope.run(PROMPT, model, tokenizer=tokenizer, max_new_tokens=1)
    with torch.no_grad():
        model.lm_head.weight.mul_(2)
    changed = kvscope.run(PROMPT, model, tokenizer=tokenizer, max_new_tokens=1)
    assert first.model["sha256"] == same.model["sha256"] != changed.model["sha256"]
    np.testing.assert_allclose(changed.log.top_logits(0), 2 * first.log.top_logits(0), rtol=1e-4)
    for run in (first, same, changed):
        run.close()


def test_a_model_that_computes_with_more_than_its_weights_runs_itself(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    hook = model.model.layers[0].mlp.register_forward_hook(lambda module, inputs, output: output * 0)
    try:
        with torch.inference_mode():
            expected = model(tokenizer(PROMPT, return_tensors="pt").input_ids).logits[0, -1].numpy()
        run = kvscope.run(PROMPT, model, tokenizer=tokenizer, max_new_tokens=1)
    finally:
        hook.remove()
    assert "computed_by" in run.model
    np.testing.assert_allclose(run.log.top_logits(0), expected[run.log.top_ids(0)], rtol=1e-4, atol=1e-5)


def test_another_tokenizer_of_the_same_model_is_used(llama: tuple[Any, Any]) -> None:
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    model, tokenizer = llama
    ends = tokenizer.eos_token
    other = PreTrainedTokenizerFast(
        tokenizer_object=type(tokenizer.backend_tokenizer).from_str(tokenizer.backend_tokenizer.to_str()),
        eos_token=ends,
    )
    special = [(ends, tokenizer.eos_token_id)]
    other.backend_tokenizer.post_processor = TemplateProcessing(single=f"{ends} $A", special_tokens=special)
    with (
        kvscope.run(PROMPT, model, tokenizer=tokenizer, max_new_tokens=1) as first,
        kvscope.run(PROMPT, model, tokenizer=other, max_new_tokens=1) as second,
    ):
        assert second.prompt_length == first.prompt_length + 1


def test_what_cannot_be_taken_over_is_named(llama: tuple[Any, Any], tmp_path: Path) -> None:
    model, tokenizer = llama
    (tmp_path / "large").mkdir()
    _, large = passed(tmp_path / "large", "llama", words=["one", "more"])
    for arguments, says in (
        ({"model": model.model, "tokenizer": tokenizer}, "LlamaModel, which has no LM head; load it with AutoModelFor"),
        (
            {"model": {"weights": 1}, "tokenizer": tokenizer},
            "model is a dict; it must be a name, a path, or a",
        ),
        ({"model": model}, "tokenizer is missing; pass the model's own"),
        ({"model": model, "tokenizer": "gpt2"}, "tokenizer is a str"),
        ({"model": model, "tokenizer": large}, "tokenizer has 265 tokens, and the model's embedding 263 rows"),
        ({"tokenizer": tokenizer}, "a model by name has its own"),
    ):
        with pytest.raises(kvscope.CannotRun, match=says):
            kvscope.run(PROMPT, **arguments)
