"""A module of a family that KVScope does not implement runs itself, and its run has what it returned."""

import gc
import signal
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kvscope
from tests.support.modules import FAMILIES, module_of, tokenizer

PROMPT = "in the end"


def observed(arch: str = "gpt_bigcode", **settings: Any) -> kvscope.Run:
    return kvscope.run(PROMPT, module_of(arch), tokenizer=tokenizer(), max_new_tokens=4, **settings)


@pytest.fixture(scope="module")
def run() -> kvscope.Run:
    return observed()


@pytest.mark.parametrize("arch", FAMILIES)
def test_attention_k_v_and_logits_are_those_of_the_module(arch: str) -> None:
    """Of each step, against one pass over all tokens without a cache."""
    module = module_of(arch)
    run = kvscope.run(PROMPT, module, tokenizer=tokenizer(), max_new_tokens=4)
    assert run.model["computed_by"].startswith(f"{type(module).__name__} of transformers ")
    module.eval().set_attn_implementation("eager")
    ids = torch.tensor([[token.id for token in run.tokens[:-1]]])
    with torch.inference_mode():
        whole = module(ids, output_attentions=True, output_hidden_states=True, use_cache=True)
    expected = torch.stack(whole.attentions)[:, 0].numpy()
    furthest = {"attention": np.abs(run.attentions() - expected).max(), "logits": 0.0, "k": 0.0, "v": 0.0}
    for step in range(len(run.steps)):
        logits = whole.logits[0, run.prompt_length - 1 + step].numpy()
        furthest["logits"] = max(
            furthest["logits"], np.abs(run.log.top_logits(step) - logits[run.log.top_ids(step)]).max()
        )
        assert run.lens(step)["layers"][-1]["chosen"]["prob"] == pytest.approx(
            run.steps[step]["token"]["raw_prob"], rel=1e-4
        )
        rows = run.positions(step)
        for layer, cached in enumerate(whole.past_key_values.layers):
            held = cached.keys.shape[2]
            for name, all_rows in (("k", cached.keys), ("v", cached.values)):
                value, first = run.values(step, layer).get(name), rows.start - (len(ids[0]) - held)
                if value is None or first < 0:  # a layer with a window has dropped the row
                    assert "windows" in run.model
                    continue
                row = all_rows[0, :, first : first + len(rows)].numpy()
                furthest[name] = max(furthest[name], np.abs(value - row).max())
    print(arch, {name: float(f"{value:.1g}") for name, value in furthest.items()})
    assert furthest.pop("attention") < 0.004
    assert max(furthest.values()) < 1e-4


def test_the_run_is_saved_with_its_values_and_opens_as_it_was(run: kvscope.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.safetensors")
    again = kvscope.open(tmp_path / "run.safetensors")
    assert (again.text, again.model, again.level) == (run.text, run.model, "kv")
    np.testing.assert_array_equal(again.values(1, 0)["k"], run.values(1, 0)["k"])
    assert again.lens(2) == run.lens(2)
    assert again.figure("lens").data[0].z == run.figure("lens").data[0].z


def test_what_is_not_known_is_absent(run: kvscope.Run) -> None:
    assert not {"norm", "gated", "d_mlp", "sha256", "windows", "experts"} & set(run.model)
    assert not {"flops", "bytes_read", "weights_read", "computed_by"} & set(run.steps[1])
    assert set(run.steps[1]["kv"]) == {"positions", "bytes_written", "bytes_used"}


def test_the_cache_is_measured(run: kvscope.Run) -> None:
    row = 2 * 2 * 1 * 8 * 4  # K and V, layers, KV heads, width, bytes
    assert [step["kv"]["bytes_used"] for step in run.steps] == [
        (run.prompt_length + step) * row for step in range(len(run.steps))
    ]
    assert run.steps[1]["kv"]["bytes_written"] == row


def test_sampling_draws_as_in_other_runs() -> None:
    tokens = [[token.id for token in observed(temperature=1.0, seed=seed).tokens] for seed in (1, 1, 2)]
    assert tokens[0] == tokens[1] != tokens[2]


def test_a_stop_token_ends_the_run() -> None:
    module = module_of("gpt_bigcode")
    first = kvscope.run(PROMPT, module, tokenizer=tokenizer(), max_new_tokens=4).tokens[-4]
    module.generation_config.eos_token_id = [first.id]
    run = kvscope.run(PROMPT, module, tokenizer=tokenizer(), max_new_tokens=4)
    assert (run.reason, len(run.steps)) == ("eos", 1)


def test_ctrl_c_keeps_the_steps_so_far(tmp_path: Path) -> None:
    def interrupt(step: dict[str, Any]) -> None:
        if step["step"] == 1:
            signal.raise_signal(signal.SIGINT)

    run = kvscope.run(PROMPT, module_of("opt"), tokenizer=tokenizer(), max_new_tokens=20, on_step=interrupt)
    assert (run.reason, len(run.steps)) == ("stopped", 2)
    assert run.values(1, 0)["k"].shape == (4, 1, 8)
    run.save(tmp_path / "run.safetensors")
    assert kvscope.open(tmp_path / "run.safetensors").reason == "stopped"


def test_the_module_is_afterwards_as_it_was_also_if_it_fails() -> None:
    module = module_of("opt").train()
    before = module.config._attn_implementation
    assert before != "eager"

    def fail(step: dict[str, Any]) -> None:
        raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        kvscope.run(PROMPT, module, tokenizer=tokenizer(), on_step=fail)
    assert (module.config._attn_implementation, module.training) == (before, True)
    assert not any(each._forward_pre_hooks for each in module.modules())


def test_a_run_does_not_refer_to_its_module() -> None:
    module = module_of("opt")
    reference = weakref.ref(module)
    run = kvscope.run(PROMPT, module, tokenizer=tokenizer(), max_new_tokens=2)
    del module
    gc.collect()
    assert reference() is None
    assert run.values(0, 0)


def test_half_precision_is_recorded_in_float32() -> None:
    module = module_of("olmo2", dtype="bfloat16")
    run = kvscope.run(PROMPT, module, tokenizer=tokenizer(), max_new_tokens=2)
    assert (run.model["dtype"], run.model["element_bytes"]) == ("bfloat16", 2)
    values = run.values(0, 0)
    assert values["k"].dtype == np.float32
    assert np.isfinite(values["k"]).all()


def test_a_module_without_a_cache_computes_all_rows_in_each_step() -> None:
    module = module_of("openai-gpt", n_embd=32, n_layer=2, n_head=4, n_positions=64)
    run = kvscope.run(PROMPT, module, tokenizer=tokenizer(), max_new_tokens=3)
    assert [step["rows_computed"] for step in run.steps] == [run.prompt_length + step for step in range(3)]
    assert all("kv" not in step for step in run.steps)
    assert run.attention(2, 1, 0).shape == (1, run.prompt_length + 2)


def test_modules_that_cannot_be_observed_are_named(run: kvscope.Run) -> None:
    from transformers import AutoConfig, AutoModelForSeq2SeqLM

    sizes = {"d_model": 32, "d_ff": 48, "num_layers": 2, "num_heads": 4, "d_kv": 8}
    pair = AutoModelForSeq2SeqLM.from_config(AutoConfig.for_model("t5", vocab_size=263, **sizes))
    mamba = module_of("mamba", hidden_size=32, num_hidden_layers=2, state_size=8)
    opt = module_of("opt")
    broken = module_of("opt")
    with torch.no_grad():
        broken.lm_head.weight.fill_(float("nan"))
    for arguments, says in (
        ({"model": pair}, "model is a T5ForConditionalGeneration, an encoder-decoder"),
        ({"model": mamba}, "model: the MambaForCausalLM"),
        ({"model": broken}, "model: the attention has a value that is not a finite number"),
        ({"model": opt, "max_new_tokens": 60}, "max_new_tokens is 60; after a prompt of 6 tokens"),
        (
            {"model": opt, "changes": [{"site": "layer", "op": "zero", "layer": 0}]},
            "changes is for models that KVScope",
        ),
        ({"model": opt, "device": "cpu"}, "device is for models that KVScope computes itself"),
        ({"model": opt, "chat": True, "tokenizer": Plain()}, "chat: the tokenizer cannot"),
    ):
        with pytest.raises(kvscope.CannotRun, match=says):
            kvscope.run(PROMPT, **{"tokenizer": tokenizer(), **arguments})


class Plain:
    """A tokenizer without a chat template."""

    def __len__(self) -> int:
        return 263

    def save_pretrained(self, folder: str) -> None:
        """As of `transformers`."""

    def __getattr__(self, name: str) -> Any:
        return getattr(tokenizer(), name)

    def apply_chat_template(self, *_: Any, **__: Any) -> str:
        raise ValueError("no chat template")
