"""`kvscope.from_cache`: what another program returned becomes a run, and what cannot be one is refused by name."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kvscope
from tests.support.modules import module_of, tokenizer

PROMPT = "in the end of the night"
LAYERS, HEADS, KV_HEADS, WIDTH, VOCAB = 2, 4, 2, 8, 263


@pytest.fixture(scope="module")
def module() -> Any:
    module = module_of("olmo2").eval()
    module.set_attn_implementation("eager")
    return module


@pytest.fixture(scope="module")
def ids() -> torch.Tensor:
    return torch.tensor([tokenizer()(PROMPT)["input_ids"]])


@pytest.fixture(scope="module")
def forward(module: Any, ids: torch.Tensor) -> Any:
    with torch.inference_mode():
        return module(ids, output_attentions=True, use_cache=True)


@pytest.fixture(scope="module")
def generated(module: Any, ids: torch.Tensor) -> Any:
    torch.manual_seed(0)
    returned = {"return_dict_in_generate": True, "output_attentions": True, "output_logits": True}
    return module.generate(ids, max_new_tokens=4, do_sample=True, **returned)


@pytest.fixture(scope="module")
def hooks(ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """A pass under the names of TransformerLens's hook points, with the batch that it has there. Keys are shared."""
    torch.manual_seed(0)
    rows, cache = ids.shape[1], {}
    for layer in range(LAYERS):
        q, k = torch.randn(rows, HEADS, WIDTH), torch.randn(rows, KV_HEADS, WIDTH)
        scores = q.transpose(0, 1) @ k.repeat_interleave(2, dim=1).permute(1, 2, 0) / WIDTH**0.5
        masked = scores.masked_fill(torch.ones(rows, rows, dtype=torch.bool).triu(1), -torch.inf)
        cache |= {
            f"blocks.{layer}.attn.hook_pattern": masked.softmax(-1)[None],
            f"blocks.{layer}.attn.hook_q": torch.zeros(1, rows, HEADS, WIDTH),
            f"blocks.{layer}.attn.hook_rot_q": q[None],
            f"blocks.{layer}.attn.hook_rot_k": k[None],
            f"blocks.{layer}.attn.hook_v": torch.randn(1, rows, KV_HEADS, WIDTH),
            f"blocks.{layer}.hook_resid_post": torch.randn(1, rows, 16),
        }
    return cache


@pytest.fixture(scope="module")
def logits(ids: torch.Tensor) -> torch.Tensor:
    return torch.randn(1, ids.shape[1], VOCAB, generator=torch.Generator().manual_seed(1))


def opened_again(run: kvscope.Run, folder: Path) -> kvscope.Run:
    run.save(folder / "run.safetensors", values=False)
    return kvscope.open(folder / "run.safetensors")


def test_a_pass_of_transformers_is_a_run_of_one_step(forward: Any, ids: torch.Tensor, tmp_path: Path) -> None:
    run = opened_again(kvscope.from_cache(forward, tokens=ids, tokenizer=tokenizer()), tmp_path)
    assert ([token.id for token in run.tokens[:-1]], run.prompt) == (ids[0].tolist(), PROMPT)
    expected = torch.stack(forward.attentions)[:, 0].numpy()
    assert np.abs(run.attentions(0) - expected).max() < 0.004
    for layer, cached in enumerate(forward.past_key_values.layers):
        np.testing.assert_array_equal(run.values(0, layer)["k"], cached.keys[0].numpy())
        np.testing.assert_array_equal(run.values(0, layer)["v"], cached.values[0].numpy())
    logits = forward.logits[0, -1].numpy()
    np.testing.assert_array_equal(run.log.top_logits(0), logits[run.log.top_ids(0)])
    assert run.tokens[-1].id == logits.argmax()
    assert "ms" not in run.steps[0]


def test_generate_has_a_step_per_token_and_its_own_tokens(generated: Any, ids: torch.Tensor, tmp_path: Path) -> None:
    run = opened_again(kvscope.from_cache(generated, tokenizer=tokenizer(), model={"name": "mine"}), tmp_path)
    assert [token.id for token in run.tokens] == generated.sequences[0].tolist()
    assert (len(run.steps), run.prompt_length, run.model["name"]) == (4, ids.shape[1], "mine")
    for step, weights in enumerate(generated.attentions):
        assert np.abs(run.attentions(step) - torch.stack(weights)[:, 0].numpy()).max() < 0.004
        rows = run.positions(step)
        keys = generated.past_key_values.layers[1].keys[0, :, rows.start : rows.stop]
        np.testing.assert_array_equal(run.values(step, 1)["k"], keys.numpy())
        probabilities = generated.logits[step][0].softmax(-1)
        assert run.steps[step]["token"]["raw_prob"] == pytest.approx(float(probabilities[run.tokens[rows.stop].id]))
        assert run.steps[step]["token"]["prob"] is None  # by which settings it was drawn is not known
    assert "sampling" not in run.log.open


def test_hook_points_of_transformer_lens(hooks: Any, logits: torch.Tensor, ids: torch.Tensor, tmp_path: Path) -> None:
    run = opened_again(kvscope.from_cache(hooks, tokens=ids, logits=logits, tokenizer=tokenizer()), tmp_path)
    assert run.model["computed_by"] == "TransformerLens"
    assert (run.model["kv_heads"], run.model["d"], run.level) == (KV_HEADS, 16, "qkv")
    values = run.values(0, 1)
    for name, hook in (("q", "hook_rot_q"), ("k", "hook_rot_k"), ("v", "hook_v")):
        expected = hooks[f"blocks.1.attn.{hook}"][0].transpose(0, 1).numpy()
        np.testing.assert_array_equal(values[name], expected)
    lengths = hooks["blocks.1.hook_resid_post"][0].norm(dim=-1).numpy()
    np.testing.assert_allclose(run.log.norms(0)["residual_norm"][1], lengths, rtol=1e-3)


def test_q_that_does_not_give_the_weights_is_not_offered_for_scores(
    hooks: Any, logits: torch.Tensor, ids: torch.Tensor
) -> None:
    scaled = {name: 3 * value if "rot_q" in name else value for name, value in hooks.items()}
    run = kvscope.from_cache(scaled, tokens=ids, logits=logits, tokenizer=tokenizer())
    assert (run.level, "score_width" in run.model) == ("kv", False)
    assert run.values(0, 0)["q"].shape == (HEADS, ids.shape[1], WIDTH)


def test_a_cache_that_knows_its_model_gives_facts_and_the_lens(hooks: Any, ids: torch.Tensor) -> None:
    class Hooked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            config = {"n_layers": LAYERS, "model_name": "hooked", "d_mlp": 64, "n_ctx": 128, "attn_scale": WIDTH**0.5}
            self.cfg = type("Config", (), config)()
            self.ln_final, self.unembed = torch.nn.LayerNorm(16), torch.nn.Linear(16, VOCAB)

    class Cache(dict[str, torch.Tensor]):
        model = Hooked()

    with torch.inference_mode():
        rows = hooks[f"blocks.{LAYERS - 1}.hook_resid_post"]
        logits = Cache.model.unembed(Cache.model.ln_final(rows))
    run = kvscope.from_cache(Cache(hooks), tokens=ids, logits=logits, tokenizer=tokenizer())
    assert (run.model["name"], run.model["d_mlp"], run.model["context"]) == ("hooked", 64, 128)
    last = run.lens(0)["layers"][-1]["chosen"]
    assert (last["rank"], last["prob"]) == (0, pytest.approx(run.steps[0]["token"]["raw_prob"], rel=1e-4))
    other = kvscope.from_cache(Cache(hooks), tokens=ids, logits=2 * logits, tokenizer=tokenizer())
    with pytest.raises(kvscope.NotThere, match="do not give its logits"):
        other.lens(0)


def test_attention_alone_is_enough_and_what_needs_more_says_so(
    hooks: Any, logits: torch.Tensor, ids: torch.Tensor, tmp_path: Path
) -> None:
    attention = np.stack([hooks[f"blocks.{layer}.attn.hook_pattern"][0].numpy() for layer in range(LAYERS)])
    made = kvscope.from_cache({"attention": attention}, tokens=ids[0], logits=logits[0, -1], tokenizer=tokenizer())
    run = opened_again(made, tmp_path)
    assert set(run.model) == {"computed_by", "name", "layers", "heads", "vocab"}
    assert "<iframe" in run._repr_html_()
    assert run.figure("attention").data
    for needs in (
        lambda: run.values(0, 0),
        lambda: run.lens(0),
        *(lambda k=k: run.figure(k) for k in ("cache", "time")),
    ):
        with pytest.raises(kvscope.NotThere, match="another program"):
            needs()
    for computes in (
        lambda: run.change([{"site": "layer", "op": "zero", "layer": 0}]),
        lambda: run.branch(0, 5),
        lambda: run.effects(0),
        lambda: run.head(0, 0, 0),
        lambda: run.block(0, 0),
        lambda: run.save(tmp_path / "values.safetensors", values=True),
    ):
        with pytest.raises(
            kvscope.CannotRun, match=r"another program computed the run\. What it returned is in attention"
        ):
            computes()


def arrays(hooks: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    def stacked(hook: str) -> np.ndarray:
        return np.stack([hooks[f"blocks.{layer}.attn.{hook}"][0].numpy() for layer in range(LAYERS)])

    k, v = (stacked(hook).swapaxes(1, 2) for hook in ("hook_rot_k", "hook_v"))
    return {"attention": stacked("hook_pattern"), "k": k, "v": v}


def put(array: np.ndarray, at: tuple[Any, ...], value: float) -> np.ndarray:
    changed = array.copy()
    changed[at] = value
    return changed


WRONG_ARRAYS = {
    "no weights": (lambda a: {"k": a["k"]}, "cache lacks attention"),
    "a foreign name": (lambda a: {**a, "scores": a["attention"]}, "cache has 'scores', which is not known"),
    "three axes": (lambda a: {**a, "attention": a["attention"][0]}, r"cache\['attention'\] has the shape .* 4 axes"),
    "NaN": (lambda a: {**a, "v": put(a["v"], (0, 0, 0, 0), np.nan)}, r"cache\['v'\] has a value that is not a finite"),
    "before softmax": (lambda a: {**a, "attention": 5 * a["attention"]}, "has the sum 5, not 1; pass weights after"),
    "half of a row": (lambda a: {**a, "attention": a["attention"] / 2}, "has the sum 0.5, not 1"),
    "negative": (lambda a: {**a, "attention": put(a["attention"], (0, 0, 5, 0), -0.5)}, "not 1; pass weights after"),
    "later keys": (lambda a: {**a, "attention": a["attention"][..., ::-1]}, "a query that looks at later tokens"),
    "fewer queries": (lambda a: {**a, "attention": a["attention"][:, :, 1:]}, "queries and .* keys; it must be of one"),
    "fewer layers": (
        lambda a: {**a, "k": a["k"][:1], "v": a["v"][:1]},
        "is of 1 layers and .*, and the attention of 2",
    ),
    "k alone": (lambda a: {"attention": a["attention"], "k": a["k"]}, "k and v belong together"),
    "three KV heads": (lambda a: {**a, "k": a["k"][:, [0, 1, 1]], "v": a["v"][:, [0, 1, 1]]}, "a number that divides"),
}


@pytest.mark.parametrize("wrong", WRONG_ARRAYS)
def test_arrays_that_do_not_fit_are_named(wrong: str, hooks: Any, logits: torch.Tensor, ids: torch.Tensor) -> None:
    change, says = WRONG_ARRAYS[wrong]
    with pytest.raises(kvscope.CannotRun, match=says):
        kvscope.from_cache(change(arrays(hooks)), tokens=ids, logits=logits, tokenizer=tokenizer())


def test_arguments_that_do_not_fit_are_named(
    hooks: Any, logits: torch.Tensor, ids: torch.Tensor, forward: Any, generated: Any
) -> None:
    def without(outputs: Any, **changes: Any) -> Any:
        changed = copy.copy(outputs)
        for name, value in changes.items():
            setattr(changed, name, value)
        return changed

    lacking = {name: value for name, value in hooks.items() if name != "blocks.0.attn.hook_pattern"}
    usual = {"cache": hooks, "tokens": ids, "logits": logits, "tokenizer": tokenizer()}
    nan = logits.clone()
    nan[0, -1, 3] = torch.nan
    for arguments, says in (
        ({"cache": lacking}, "cache lacks blocks.0.attn.hook_pattern, the attention of 1 of 2 layers"),
        ({"cache": [1, 2]}, "cache is a list; it must be a cache of TransformerLens"),
        ({"logits": None}, "logits is missing"),
        ({"logits": nan}, "logits of step 0 have NaN"),
        ({"logits": logits[:, 1:]}, "logits are of .* positions, and the attention of"),
        ({"logits": torch.stack([logits[0], logits[0]])}, "logits is of 2 sequences"),
        ({"tokens": None}, "tokens is missing"),
        ({"tokens": ids[:, 1:]}, "tokens has .* ids, and the attention is of"),
        ({"tokens": ids.repeat(2, 1)}, "tokens is of 2 sequences; pass one of them"),
        ({"cache": {"cross_attentions": ids}}, "cache is a dict, of an encoder-decoder"),
        ({"tokens": "text"}, "tokens must be a tensor or an array of numbers; it is a str"),
        ({"tokens": put(ids.numpy(), (0, 0), 999)}, "tokens has the id 999"),
        ({"logits": logits[..., :260], "tokens": ids.clamp(max=200)}, "tokenizer has 263 tokens, the logits 260"),
        ({"tokenizer": None}, "tokenizer must be the one"),
        ({"model": {"n_layers": 2}}, "model has 'n_layers', which no log has"),
        ({"model": {"kv_heads": 4}}, "model says kv_heads is 4, and the arrays have 2"),
        ({"model": {"context": "long"}}, "model.context is refused"),
        (
            {"cache": without(forward, attentions=None), "logits": None},
            'no attention weights.*attn_implementation="eager"',
        ),
        ({"cache": without(generated, logits=None), "logits": None, "tokens": None}, "output_logits=True"),
        ({"cache": without(generated, attentions=None), "logits": None, "tokens": None}, "no attention weights"),
        ({"cache": without(generated, attentions=((), ())), "logits": None, "tokens": None}, "no attention weights"),
        ({"cache": without(generated, attentions=((None,),)), "logits": None, "tokens": None}, "no attention weights"),
    ):
        with pytest.raises(kvscope.CannotRun, match=says):
            kvscope.from_cache(**{**usual, **arguments})
