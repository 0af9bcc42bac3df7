"""Passes by native code show the same values as the modules at every hook point, and leave the same K and V."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from torch import Tensor, nn

from kvscope.model.config import ModelConfig
from kvscope.model.engine.batch import Entry
from kvscope.model.engine.changes import Changes, Changing, Edit
from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.runner import Observers
from kvscope.model.hooks import HookPoint, hook_points
from kvscope.model.kv_cache import KVCache
from kvscope.model.kv_cache import Sequence as Cached
from kvscope.model.native import Native
from kvscope.model.native.implemented import ANY_VALUE, OF_A_PASS, VALUES
from kvscope.model.native.steps import NativeStep, NativeSteps
from kvscope.model.settings import Kept
from kvscope.model.source.calls import step_calls
from kvscope.model.transformer import Batch, RMSNorm, Transformer
from tests.support.grouped import checkpoint_of, grouped_weights
from tests.support.native_models import CHANGED, MODELS
from tests.support.tiny import (
    GREEDY,
    SAMPLED,
    advance_all,
    check_cache,
    prompt,
    random_weights,
    steps,
    tiny_config,
    tokens,
)

LENGTHS = ([7], [20], [1], [12, 12, 12], [5, 20, 1, 12], [*range(1, 18)])
"""Of one run, of several alike, of several unlike: those have a mask. So have windows of fewer keys."""


class Counted:
    """Steps that count the passes they take."""

    by = NativeSteps.by

    def __init__(self, steps: NativeSteps):
        self.steps, self.taken, self.asked = steps, 0, 0
        self.can_apply, self.over = steps.can_apply, steps.over

    def for_pass(
        self, batch: Batch, observers: Observers, changing: Changing | None, **options: Any
    ) -> NativeStep | None:
        step = self.steps.for_pass(batch, observers, changing, **options)
        self.asked += 1
        self.taken += step is not None
        return step


@cache
def models(name: str, native: Native) -> tuple[Transformer, Transformer]:
    """The same model with torch's products and with native ones."""
    changes = dict(MODELS[name])
    kind = changes.pop("kind", Kind.Q4_1)
    config = tiny_config(**{"d_mlp": 64, **changes})
    weights = grouped_weights(config, kind)
    return Transformer.from_weights(config, weights), Transformer.from_weights(
        config, weights, products=native.products
    )


def engines(name: str, native: Native, **options: Any) -> tuple[Engine, Engine, Counted]:
    """Of the modules, and with native steps."""
    plain, fast = (Engine(model, **{"capacity": 1024, **options}) for model in models(name, native))
    steps = native.steps(fast.transformer, fast.cache)
    assert steps is not None
    counted = Counted(steps)
    fast.runner.steps = counted
    return plain, fast, counted


def decoded(
    engine: Engine, lengths: Sequence[int], names: Iterable[str], layers: int | None = None
) -> tuple[Tensor, dict[str, list[Tensor]], list[Tensor]]:
    """Logits of a pass of one row after each of so many, what the hook points `names` showed, and K and V of all."""
    cached, entries = [Cached() for _ in lengths], []
    for sequence, length in zip(cached, lengths, strict=True):
        ids = prompt(length, seed=length)
        new = engine.cache.extend(sequence, length)
        engine.runner.run([Entry(ids, 0, new, engine.cache.slots(sequence))], alike=True)
    for sequence, length in zip(cached, lengths, strict=True):
        new = engine.cache.extend(sequence, 1)
        entries.append(Entry([length % 7], length, new, engine.cache.slots(sequence)))
    seen: dict[str, list[Tensor]] = {name: [] for name in names}
    done = engine.runner.run(entries, {name: seen[name].append for name in seen}, layers=layers)
    stored = [engine.cache.read_all(engine.cache.slots(sequence)) for sequence in cached]
    for sequence in cached:
        engine.cache.release(sequence)
    return done.logits, seen, stored


def alike(found: Any, expected: Any, what: str) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-5, msg=lambda text: f"{what}: {text}")


@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda lengths: f"{len(lengths)} of {max(lengths)}")
@pytest.mark.parametrize("name", MODELS)
def test_every_hook_point_shows_what_it_shows_in_the_modules(name: str, lengths: list[int], native: Native) -> None:
    plain, fast, counted = engines(name, native)
    names = list(hook_points(plain.transformer))
    wanted_logits, wanted, wanted_stored = decoded(plain, lengths, names)
    logits, seen, stored = decoded(fast, lengths, names)
    assert (counted.asked, counted.taken) == (1, 1)
    for point in names:
        assert [value.shape for value in seen[point]] == [value.shape for value in wanted[point]], point
        alike(seen[point], wanted[point], point)
    alike(stored, wanted_stored, "K and V")
    alike(logits, wanted_logits, "logits")
    # It was other code that ran.
    assert any(not torch.equal(seen[point][0], wanted[point][0]) for point in names)


def test_values_are_the_same_whoever_looks(native: Native) -> None:
    _, fast, _ = engines("qwen3", native)
    names = list(hook_points(fast.transformer))
    logits, seen, stored = decoded(fast, [5, 9], names)
    none, _, kept = decoded(fast, [5, 9], [])
    assert torch.equal(none, logits)
    assert all(map(torch.equal, kept, stored))
    _, few, _ = decoded(fast, [5, 9], ["blocks.1.attn.k_raw"])
    assert torch.equal(few["blocks.1.attn.k_raw"][0], seen["blocks.1.attn.k_raw"][0])


def test_what_is_hidden_has_no_weight(native: Native) -> None:
    _, fast, _ = engines("mistral", native)
    _, seen, _ = decoded(fast, [5, 20], ["blocks.0.attn.weights"])
    (weights,) = seen["blocks.0.attn.weights"]
    assert (weights[0] != 0).sum(-1).unique().tolist() == [6]  # 5 before it and itself
    assert (weights[1] != 0).sum(-1).unique().tolist() == [9]  # the window
    assert torch.allclose(weights.sum(-1), torch.ones(()), atol=1e-6)


def test_the_first_layers_may_be_run_alone(native: Native) -> None:
    plain, fast, counted = engines("llama", native)
    wanted, _, _ = decoded(plain, [7, 3], [], layers=1)
    found, seen, _ = decoded(fast, [7, 3], ["blocks.1.resid_in"], layers=1)
    alike(found, wanted, "logits")
    assert counted.taken == 1
    assert seen["blocks.1.resid_in"] == []


def test_a_pass_goes_on_from_the_rows_that_enter_a_layer(native: Native) -> None:
    lengths = [7, 3, 12]
    for engine in engines("gemma3", native)[:2]:
        runner = engine.runner.beside(sum(lengths))
        cached = [Cached() for _ in lengths]
        slots = [runner.cache.extend(each, length) for each, length in zip(cached, lengths, strict=True)]
        entries = [Entry(prompt(len(each), seed=len(each)), 0, each, each) for each in slots]
        entering: list[Tensor] = []
        whole = runner.run(entries, {"blocks.1.resid_in": entering.append})
        by_place = dict(zip(whole.order, entering[0].split([lengths[index] for index in whole.order]), strict=True))
        later = runner.run(entries, entering=(1, [by_place[index] for index in range(len(lengths))]))
        assert later.order == whole.order
        assert torch.equal(later.logits, whole.logits)


def test_passes_of_any_rows_are_native(native: Native) -> None:
    _, fast, counted = engines("llama", native)
    with fast.replay(prompt(9), 4):  # rows 0 to 3, then 4 to 8
        pass
    with fast.replay(prompt(9), 8):
        pass
    assert (counted.asked, counted.taken) == (4, 4)


def test_the_distribution_is_that_of_the_logits(native: Native) -> None:
    config = tiny_config(d_mlp=64, vocab=1000)
    transformer = Transformer.from_weights(config, grouped_weights(config), products=native.products)
    engine = Engine(transformer, capacity=256)
    engine.runner.steps = native.steps(transformer, engine.cache)
    entries = [engine.scheduler.entry(Cached(), prompt(length), outputs=length) for length in (1, 5, 9)]
    done = engine.runner.run(entries, capture=True)
    assert done.by == "native"
    for each in done.distributions:
        expected = Distribution(each.logits)
        found, wanted = each.candidates, expected.candidates
        assert each.summary.best == expected.summary.best
        assert each.summary.log_z == pytest.approx(expected.summary.log_z, abs=1e-6)
        assert each.summary.entropy == pytest.approx(expected.summary.entropy, abs=1e-5)
        for name in ("ids", "logits", "tail_counts"):
            assert getattr(found, name).tolist() == getattr(wanted, name).tolist()
        assert (found.tail_low, found.tail_high) == (wanted.tail_low, wanted.tail_high)


def test_runs_that_come_and_go_choose_the_same_tokens(native: Native) -> None:
    texts = []
    *both, counted = engines("qwen2", native)
    for engine in both:
        for number in range(6):
            sampling = SAMPLED if number % 2 else GREEDY
            engine.admit(str(number), prompt(3 + 5 * number, number), sampling, 4 + 3 * number)
        records = engine.advance()
        engine.admit("later", prompt(30), GREEDY, 12)
        records += advance_all(engine)
        texts.append({run: tokens(records, run) for run in (*map(str, range(6)), "later")})
    assert texts[0] == texts[1]
    assert counted.taken > 10


def test_rows_that_are_dropped_for_the_attention_they_get_are_the_same(native: Native) -> None:
    texts = []
    *both, counted = engines("llama", native)
    for engine in both:
        run = engine.admit("a", prompt(20), GREEDY, 12, keeping=Kept(sinks=1, recent=4, heavy=3), recorded="tokens")
        advance_all(engine)
        texts.append(run.ids)
    assert texts[0] == texts[1]
    assert counted.taken


@pytest.mark.parametrize("matrix", ["blocks.1.mlp.down.weight", "blocks.0.attn.qkv.weight", "embed.weight"])
def test_a_matrix_that_is_in_no_groups_is_multiplied_as_it_is(matrix: str, native: Native) -> None:
    config = tiny_config(d_mlp=64)
    weights = grouped_weights(config) | {matrix: random_weights(config)[matrix]}
    plain = Engine(Transformer.from_weights(config, weights), capacity=256)
    fast = Engine(Transformer.from_weights(config, weights, products=native.products), capacity=256)
    fast.runner.steps = native.steps(fast.transformer, fast.cache)
    assert fast.runner.steps is not None
    alike(*(decoded(engine, [7, 3], [])[0] for engine in (fast, plain)), "logits")


@dataclass(frozen=True)
class NewField(ModelConfig):
    """What somebody adds to a config whose models compute otherwise."""

    new: float = 1.0


class NewNorm(RMSNorm):
    """One that multiplies by 1 + weight."""


class NewCache(KVCache):
    """One that keeps K and V otherwise."""


def new_part(part: nn.Module, place: str = "new") -> Callable[[Transformer], None]:
    """Puts it into the attention of the last block."""
    return lambda transformer: setattr(transformer.blocks[-1].attn, place, part)


class TestUnknown:
    """Whatever is not known to be implemented leaves steps to the modules."""

    def steps(self, native: Native, config: ModelConfig, **options: Any) -> NativeSteps | None:
        add: Callable[[Transformer], None] = options.pop("add", lambda transformer: None)
        transformer = Transformer.from_weights(config, grouped_weights(config), products=native.products)
        add(transformer)
        return native.steps(transformer, options.get("cache", KVCache)(config, 8, **options.get("kept", {})))

    def test_all_that_is_known_is_native(self, native: Native) -> None:
        for arch in ("llama", "mistral", "qwen2", "qwen3", "gemma3_text", "gpt2"):
            assert self.steps(native, tiny_config(arch, d_mlp=64)) is not None

    def test_gemma_2_without_caps_is_native_and_with_caps_not(self, native: Native) -> None:
        assert self.steps(native, tiny_config("gemma2", d_mlp=64)) is None
        assert self.steps(native, tiny_config("gemma2", d_mlp=64, score_cap=None, logit_cap=None)) is not None

    def test_gpt_neox_is_not(self, native: Native) -> None:
        assert self.steps(native, tiny_config("gpt_neox", d_mlp=64)) is None

    def test_a_new_field_of_the_config(self, native: Native) -> None:
        assert self.steps(native, NewField(**asdict(tiny_config(d_mlp=64)))) is None

    def test_every_field_is_listed_once(self) -> None:
        listed = [*ANY_VALUE, *VALUES]
        assert sorted(listed) == sorted(field.name for field in fields(ModelConfig))

    @pytest.mark.parametrize(
        "changed",
        [
            {"norm": "none"},
            {"mlp": "none"},
            {"positions": "none"},
            {"residual": False},
            {"score_cap": 50.0},
            {"logit_cap": 30.0},
            {"parallel": True},
            {"mlp": "gelu_erf"},
        ],
        ids=str,
    )
    def test_another_value_of_a_field(self, changed: dict[str, Any], native: Native) -> None:
        assert self.steps(native, tiny_config(**{"d_mlp": 64, **changed})) is None

    @pytest.mark.parametrize(
        "add",
        [
            new_part(nn.Identity()),
            new_part(nn.Parameter(torch.zeros(4))),
            new_part(NewNorm(32, 1e-5), "norm"),
            new_part(nn.GroupNorm(1, 32), "norm"),
            lambda transformer: transformer.blocks[-1].register_buffer("scale", torch.ones(1)),
        ],
        ids=["a module", "a weight", "a kind of norm", "another norm", "a buffer"],
    )
    def test_a_new_part_of_a_block(self, add: Callable[[Transformer], None], native: Native) -> None:
        assert self.steps(native, tiny_config(d_mlp=64), add=add) is None

    @pytest.mark.parametrize("options", [{"cache": NewCache}, {"kept": {"dtype": torch.bfloat16}}], ids=str)
    def test_a_new_way_to_keep_k_and_v(self, options: dict[str, Any], native: Native) -> None:
        assert self.steps(native, tiny_config(d_mlp=64), **options) is None

    @pytest.mark.parametrize("described", OF_A_PASS)
    def test_a_new_field_of_a_pass(self, described: type, native: Native, monkeypatch: pytest.MonkeyPatch) -> None:
        fewer = OF_A_PASS[described] - {max(OF_A_PASS[described])}
        monkeypatch.setitem(OF_A_PASS, described, fewer)  # type: ignore[arg-type]
        assert self.steps(native, tiny_config(d_mlp=64)) is None

    def test_a_new_hook_point_is_seen_where_somebody_looks(self, native: Native) -> None:
        config = tiny_config(d_mlp=64)
        transformer = Transformer.from_weights(config, grouped_weights(config), products=native.products)
        attn = transformer.blocks[0].attn
        attn.new = HookPoint("T D")
        plainly = attn.forward
        attn.forward = lambda rows, *around: attn.new(plainly(rows, *around))
        fast = Engine(transformer, capacity=1024)
        steps = native.steps(transformer, fast.cache)
        assert steps is not None
        fast.runner.steps = counted = Counted(steps)
        _, seen, _ = decoded(fast, [7, 3], ["blocks.0.attn.new"])
        assert len(seen["blocks.0.attn.new"]) == 1
        _, seen, _ = decoded(fast, [7, 3], ["blocks.0.attn.change"])
        assert len(seen["blocks.0.attn.change"]) == 1
        assert (counted.asked, counted.taken) == (2, 1)


@pytest.mark.parametrize("edit", CHANGED, ids=lambda edit: edit.point)
def test_a_changed_run_is_computed_with_the_others(edit: Edit, native: Native) -> None:
    off = Changes("off", (edit, CHANGED[1]))
    texts = []
    for engine in (plain_fast := engines("llama", native))[:2]:
        engine.admit("ordinary", prompt(5), GREEDY, 6)
        engine.admit("changed", prompt(6), GREEDY, 6, changes=off)
        records = advance_all(engine)
        texts.append([tokens(records, key) for key in ("ordinary", "changed")])
        logits = [record.candidates.logits for key in ("ordinary", "changed") for record in steps(records, key)]
        texts.append(logits)
        check_cache(engine)
    assert texts[0] == texts[2]
    for found, expected in zip(texts[3], texts[1], strict=True):
        torch.testing.assert_close(torch.from_numpy(found), torch.from_numpy(expected), rtol=1e-4, atol=1e-4)
    counted = plain_fast[2]
    assert counted.asked == counted.taken == 6  # one pass for both


def test_a_change_at_another_hook_point_is_left_to_the_modules(native: Native) -> None:
    _, fast, counted = engines("llama", native)
    fast.admit("a", prompt(5), GREEDY, 2, changes=Changes("other", (Edit("blocks.0.attn.normed", 0, None, 0.0),)))
    assert [record.by for record in steps(advance_all(fast), "a")] == ["lines"] * 2
    assert counted.taken == 0


def built(path: Path) -> dict[str, Any]:
    checkpoint = checkpoint_of(path, grouped=False)
    return {"config": checkpoint.config, "weights": checkpoint.weights}


def test_a_step_says_what_computed_it_and_its_calls_are_those_of_the_native_code(native: Native) -> None:
    *_, counted = both = engines("llama", native)
    assert counted.taken == 0
    fast = both[1]
    fast.admit("a", prompt(5), GREEDY, 3)
    assert [record.by for record in steps(advance_all(fast), "a")] == ["native"] * 3
    calls = step_calls(fast, prompt(7), GREEDY)
    for phase in ("prefill", "decode"):
        assert "NativeStep.__call__" in str(calls[phase])
        assert "Attention.forward" not in str(calls[phase])
