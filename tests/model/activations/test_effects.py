from __future__ import annotations

import math

import pytest
from torch import Tensor

from kvscope.model.activations import effects as effects_module
from kvscope.model.activations.change import prepare
from kvscope.model.activations.effects import Prediction, count_of, effects
from kvscope.model.api import EffectOf
from kvscope.model.engine.changes import Changes
from kvscope.model.engine.engine import Engine
from kvscope.model.settings import Change, Site
from tests.support.loaded import logits_of_rows
from tests.support.tiny import GREEDY, check_cache, prompt, tiny_engine, whole_logits

IDS = prompt(11)
TOKEN = 7
SITES: dict[EffectOf, Site] = {"heads": "head", "attention": "attention", "mlp": "mlp", "layers": "layer"}


def single(engine: Engine, of: EffectOf, index: int, before: tuple[Change, ...] = ()) -> Tensor:
    """ln p [V] of the last row, in a run of its own: with a change as any run has it, or with a shorter text."""
    if of == "tokens":
        ids = IDS[:index] + IDS[index + 1 :]
        return whole_logits(engine.transformer, ids)[-1].double().log_softmax(-1)
    layer, head = divmod(index, 4) if of == "heads" else (index, None)
    change = Change(site=SITES[of], op="zero", layer=layer, head=head)
    return last_row(engine, prepare(engine, lambda text: [], IDS, [*before, change]))


def last_row(engine: Engine, changes: Changes | None) -> Tensor:
    return logits_of_rows(engine.under(changes), IDS)[-1].double().log_softmax(-1)


def all_of(engine: Engine, of: EffectOf) -> tuple[list[Prediction], list[int]]:
    """Of every part, and how many came at once."""
    found: list[Prediction] = []
    parts = []
    while len(found) < count_of(of, engine.transformer.config, IDS):
        some = effects(engine, IDS, TOKEN, of, len(found)).variants
        parts.append(len(some))
        found += some
    return found, parts


@pytest.mark.parametrize("arch", ["llama", "gpt2", "gemma2", "gemma3_text", "gpt_neox"])
@pytest.mark.parametrize("of", [*SITES, "tokens"])
def test_each_is_what_a_run_of_its_own_gives(arch: str, of: EffectOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects_module, "ROWS", 3 * len(IDS))
    engine = tiny_engine(arch)
    found, parts = all_of(engine, of)
    assert max(parts) == min(3, len(found))
    base = last_row(engine, None)
    for index, each in enumerate(found):
        alone = single(engine, of, index)
        assert each.logprob == pytest.approx(float(alone[TOKEN]), abs=1e-4)
        assert each.kl == pytest.approx(float((base.exp() * (base - alone)).sum()), abs=1e-4)
        assert alone[each.best] >= alone.max() - 1e-4
    assert max(each.kl for each in found) > 1e-3
    check_cache(engine)


def test_of_a_changed_run_its_changes_stay() -> None:
    engine = tiny_engine()
    mean = Change(site="mlp", op="mean", layer=0)
    changes = prepare(engine, lambda text: [], IDS, [mean])
    found = effects(engine.under(changes), IDS, TOKEN, "heads", 0)
    assert found.base.logprob == pytest.approx(float(last_row(engine, changes)[TOKEN]), abs=1e-4)
    for index, each in enumerate(found.variants):
        assert each.logprob == pytest.approx(float(single(engine, "heads", index, (mean,))[TOKEN]), abs=1e-4)


def test_what_is_held_of_other_runs_is_left_alone() -> None:
    engine = tiny_engine(capacity=16)
    engine.admit("a", prompt(4, seed=3), GREEDY, 4)
    engine.advance()
    before = engine.cache.refcounts[:]
    effects(engine, IDS, TOKEN, "heads", 0)
    assert engine.cache.refcounts == before


def test_the_step_as_it_was_has_no_distance_from_itself() -> None:
    base = effects(tiny_engine(), IDS, TOKEN, "layers", 0).base
    assert base.kl == 0
    assert math.exp(base.logprob) <= base.best_prob


@pytest.mark.parametrize(("of", "first"), [("heads", 8), ("layers", 2), ("tokens", 11), ("mlp", -1)])
def test_there_is_no_part_beyond_the_last(of: EffectOf, first: int) -> None:
    with pytest.raises(ValueError, match="there is no part"):
        effects(tiny_engine(), IDS, TOKEN, of, first)
