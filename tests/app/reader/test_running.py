"""`kvscope.run` computes as `transformers` does, and its run can be asked, changed, saved and closed."""

import gc
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kvscope
from kvscope.app.reader import running
from tests.support.tiny_files import write_folder

PROMPT = "in the end"
OFF = {"site": "layer", "op": "zero", "layer": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "llama"
    write_folder(folder, "llama", attn_implementation="eager")
    return folder


@pytest.fixture(scope="module")
def reference(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[kvscope.Run]:
    with kvscope.run(PROMPT, folder, max_new_tokens=4) as run:
        yield run


@pytest.fixture(scope="module")
def outputs(run: kvscope.Run, reference: Any) -> Any:
    """What `transformers` computes of all tokens but the last."""
    ids = torch.tensor([[token.id for token in run.tokens[:-1]]])
    with torch.inference_mode():
        return reference(ids, output_attentions=True, output_hidden_states=True)


def test_the_run_chooses_what_transformers_chooses(run: kvscope.Run, outputs: Any) -> None:
    chosen = outputs.logits[0, run.prompt_length - 1 :].argmax(-1).tolist()
    assert [token.id for token in run.tokens[run.prompt_length :]] == chosen
    assert (run.prompt, run.reason, len(run.steps)) == (PROMPT, "length", 4)


def test_attentions_are_those_of_transformers_within_what_a_log_stores(run: kvscope.Run, outputs: Any) -> None:
    expected = torch.stack(outputs.attentions)[:, 0].numpy()  # layer, head, query, key
    assert run.attentions().shape == expected.shape
    assert np.abs(run.attentions() - expected).max() < 0.004
    np.testing.assert_array_equal(run.attentions(2)[1, 3], run.attention(2, 1, 3))


def test_a_heads_weights_and_a_blocks_rows_are_exact(run: kvscope.Run, outputs: Any) -> None:
    at = run.prompt_length
    for step, rows in ((0, slice(0, at)), (2, slice(at + 1, at + 2))):
        expected = outputs.attentions[1][0, 3, rows, : rows.stop].numpy()
        np.testing.assert_allclose(run.head(step, 1, 3)["weights"], expected, atol=1e-5)
    row = run.block(2, 0)["resid_out"]
    np.testing.assert_allclose(row, outputs.hidden_states[1][0, at + 1].numpy(), rtol=1e-4, atol=1e-4)


def test_values_are_the_cache_of_transformers(run: kvscope.Run, outputs: Any) -> None:
    layer = outputs.past_key_values.layers[1]
    values = run.values(0, 1)
    for name, expected in (("k", layer.keys), ("v", layer.values)):
        np.testing.assert_allclose(values[name], expected[0, :, : run.prompt_length].numpy(), rtol=1e-4, atol=1e-4)


def test_the_lens_ends_in_the_prediction(run: kvscope.Run) -> None:
    step = run.steps[1]
    last = run.lens(1)["layers"][-1]["chosen"]
    assert last["rank"] == 0
    assert last["prob"] == pytest.approx(step["token"]["raw_prob"], rel=1e-4)


def test_effects_are_those_of_the_changed_run(run: kvscope.Run) -> None:
    effects = run.effects(0, "layers")
    changed = run.change([OFF])
    ids, logits = changed.log.top_ids(0).tolist(), changed.log.top_logits(0)
    expected = logits[ids.index(run.tokens[run.prompt_length].id)] - changed.steps[0]["log_z"]
    assert effects["logprob"][1] == pytest.approx(expected, abs=1e-3)
    assert run.effects(0)["kl"].shape == (2, 4)
    assert run.effects()["base"] == run.effects(3)["base"]


def test_a_patch_from_another_prompt_is_measured_against_a_foil(run: kvscope.Run) -> None:
    foil = run.tokens[0]
    with pytest.raises(kvscope.CannotRun, match="source"):
        run.effects(0, "residual_at", switch="resample", source=f"{PROMPT} and more")
    itself = run.effects(0, "residual_at", switch="resample", source=PROMPT, foil=foil)
    assert itself["foil"] == foil
    assert itself["kl"].shape == (2, run.prompt_length)
    for name in ("logit", "foil_logit"):
        np.testing.assert_allclose(itself[name], itself["other"][name], atol=1e-4)


def test_direct_effects_add_up_to_the_logits(run: kvscope.Run) -> None:
    direct = run.direct(0)
    whole = direct["embedding"] + direct["attention"].sum(0) + direct["mlp"].sum(0) + direct["bias"]
    np.testing.assert_allclose(whole, direct["logits"], atol=1e-4)
    np.testing.assert_allclose(direct["heads"].sum(1) + direct["out_bias"], direct["attention"], atol=1e-4)
    assert direct["logits"][0] == pytest.approx(run.log.top_logits(0)[0], abs=1e-4)
    assert direct["foil"].id == run.log.top_ids(0)[1]


def test_patterns_are_weights_of_each_head(run: kvscope.Run) -> None:
    for scores in run.patterns().values():
        assert scores.shape == (2, 4)
        assert ((scores > 0) & (scores < 1)).all()


def test_a_changed_run_has_the_changes_and_its_values_are_computed_with_them(run: kvscope.Run, folder: Path) -> None:
    changed = run.change([OFF])
    assert [(change["site"], change["layer"]) for change in changed.changes] == [("layer", 1)]
    block = changed.block(0, 1)
    np.testing.assert_array_equal(block["resid_out"], block["resid_in"])
    again = kvscope.run(PROMPT, folder, max_new_tokens=4, changes=[OFF])
    assert [token.id for token in again.tokens] == [token.id for token in changed.tokens]
    assert again.changes == changed.changes


def test_a_branch_goes_on_from_another_token(run: kvscope.Run, reference: Any) -> None:
    other = run.tokens[0]
    branch = run.branch(1, other)
    ids = [token.id for token in branch.tokens]
    assert ids[: run.prompt_length + 1] == [token.id for token in run.tokens[: run.prompt_length + 1]]
    assert ids[run.prompt_length + 1] == other.id
    with torch.inference_mode():
        following = reference(torch.tensor([ids[:-2]])).logits[0, -1].argmax()
    assert ids[-2] == int(following)


def test_a_saved_run_opens_as_it_was_with_the_values_that_were_chosen(run: kvscope.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "plain.safetensors")
    plain = kvscope.open(tmp_path / "plain.safetensors")
    assert (plain.text, plain.level) == (run.text, "attention")
    with pytest.raises(kvscope.NotThere, match="computes a run with its model"):
        plain.head(0, 0, 0)
    run.save(tmp_path / "values.safetensors", values=True)
    whole = kvscope.open(tmp_path / "values.safetensors")
    for name, value in run.values(2, 0).items():
        np.testing.assert_array_equal(whole.values(2, 0)[name], value)
    assert whole.lens(0) == run.lens(0)
    assert whole.figure("lens").data[0].z == run.figure("lens").data[0].z


def test_of_some_layers_the_last_is_saved_too(run: kvscope.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "last.safetensors", values=[])
    stored = kvscope.open(tmp_path / "last.safetensors")
    assert stored.values(0, 1)["q"].shape == (4, run.prompt_length, 8)
    with pytest.raises(kvscope.NotThere):
        stored.values(0, 0)


def test_each_step_is_passed_on_before_the_next_is_computed(folder: Path) -> None:
    steps: list[dict[str, Any]] = []
    run = kvscope.run(PROMPT, folder, max_new_tokens=3, on_step=steps.append)
    assert steps == run.steps


def test_ctrl_c_keeps_the_steps_so_far(folder: Path, tmp_path: Path) -> None:
    def interrupt(step: dict[str, Any]) -> None:
        if step["step"] == 1:
            signal.raise_signal(signal.SIGINT)

    run = kvscope.run(PROMPT, folder, max_new_tokens=20, on_step=interrupt)
    assert (run.reason, len(run.steps)) == ("stopped", 2)
    run.save(tmp_path / "stopped.safetensors")
    assert kvscope.open(tmp_path / "stopped.safetensors").text == run.text


def test_an_error_in_the_callback_ends_the_run_and_the_next_one_works(folder: Path) -> None:
    def fail(step: dict[str, Any]) -> None:
        raise LookupError("of the caller")

    with pytest.raises(LookupError, match="of the caller"):
        kvscope.run(PROMPT, folder, on_step=fail)
    assert len(kvscope.run(PROMPT, folder, max_new_tokens=2).steps) == 2


def test_a_model_is_loaded_once_and_freed_with_its_last_open_run(folder: Path) -> None:
    with kvscope.run(PROMPT, folder, max_new_tokens=1, dtype="bfloat16") as first:
        second = kvscope.run(PROMPT, folder, max_new_tokens=1, dtype="bfloat16")
        (key,) = (key for key in running._loaded if key[2] == "bfloat16")
        assert first._live.model is second._live.model
    assert key in running._loaded
    assert second.lens(0)
    second.close()
    assert key not in running._loaded
    with pytest.raises(kvscope.CannotRun, match="no longer in memory"):
        second.lens(0)
    assert second.attention(0, 0, 0).shape == (second.prompt_length, second.prompt_length)
    gc.collect()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"prompt": ""}, "prompt is empty"),
        ({"prompt": "the " * 100}, "prompt has 102 tokens; the limit is 63"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"max_new_tokens": 1000}, "max_new_tokens is 1000; after a prompt of 6 tokens"),
        ({"temperature": -1}, "temperature is -1; it must be a number above 0"),
        ({"top_k": 5}, "set temperature"),
        ({"changes": [{**OFF, "layer": 9}]}, r"changes\[0\].layer is 9"),
        ({"changes": [{"site": "nose", "op": "zero"}]}, r"changes\[0\].site"),
        ({"device": "abacus"}, "device is 'abacus'"),
    ],
)
def test_bad_input_is_named(folder: Path, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(kvscope.CannotRun, match=says):
        kvscope.run(**{"prompt": PROMPT, "model": folder, **settings})


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(kvscope.CannotRun, match="There is no model 'no-such-model'"):
        kvscope.run(PROMPT, "no-such-model")
