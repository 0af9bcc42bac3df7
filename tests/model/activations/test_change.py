"""Changes to a run, judged by `transformers` with hooks made by hand."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from kvscope.model.activations.change import PLACES, UnequalLength, prepare
from kvscope.model.activations.observe import observe
from kvscope.model.engine.changes import Changes
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import Record
from kvscope.model.settings import Change, Op, Site
from tests.support.hooked import Hooked
from tests.support.loaded import engine_of, logits_of_rows
from tests.support.tiny import GREEDY, SAMPLED, advance_all, answer, check_cache, prompt, steps, tiny_engine, tokens
from tests.support.tiny_files import VOCAB, write_folder

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "qwen3": ("qwen3", {"head_dim": 16}),
    "gpt2": ("gpt2", {}),
    "gemma3": (
        "gemma3_text",
        {
            "head_dim": 16,
            "num_key_value_heads": 1,
            "sliding_window": 5,
            "layer_types": ["sliding_attention", "full_attention"],
        },
    ),
    "gemma2": ("gemma2", {"head_dim": 16, "sliding_window": 5, "attn_logit_softcapping": 2.0}),
    "neox": ("gpt_neox", {}),
    "neox-sequential": ("gpt_neox", {"use_parallel_residual": False}),
}
POSITION = 4
DENSE = [site for site in PLACES if site != "expert"]
"""The sites of a model without experts."""
IDS, OTHER, THIRD = ([seed, *prompt(8, seed, len(VOCAB))] for seed in (1, 2, 3))
TEXTS = {"other": OTHER, "third": THIRD}


@pytest.fixture(scope="module", params=FAMILIES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Hooked, Engine]:
    arch, settings = FAMILIES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    reference = Hooked(write_folder(folder, arch, attn_implementation="eager", **settings).eval())
    return reference, engine_of(folder)


def change_of(site: Site, op: Op, **own: Any) -> Change:
    """In the second layer, of one token where it need be, or where the rows that are taken have a place."""
    return Change(
        site=site,
        op=op,
        layer=None if site == "token" else 1,
        head=(0 if site in ("k", "v") else 1) if site in ("head", "k", "v") else None,
        # The same row added to all keys adds the same number to all scores of a query, which softmax takes away.
        position=POSITION if site in ("token", "k") or op == "patch" else None,
        factor=-1.5,
        source="other" if op in ("patch", "steer") else None,
        away="third" if op == "steer" else None,
        **own,
    )


def by_hand(reference: Hooked, change: Change) -> Tensor:
    """Logits [T, V] of `IDS` with the change."""
    place = change.site, change.layer, change.head
    rows = {text: reference.rows(ids, *place) for text, ids in {**TEXTS, "own": IDS}.items()}

    def replace(given: Tensor) -> Tensor:
        changed = {
            "zero": torch.zeros_like(given),
            "mean": rows["own"].mean(0).expand_as(given),
            "scale": -1.5 * given,
            "patch": rows["other"],
            "steer": given - 1.5 * (rows["other"][-1] - rows["third"][-1]),
        }[change.op]
        if change.position is None:
            return changed
        given = given.clone()
        given[change.position] = changed[change.position]
        return given

    return reference.logits(IDS, *place, replace)


def ours(engine: Engine, changes: Changes | None) -> Tensor:
    """Logits [T, V] of `IDS`."""
    return logits_of_rows(engine.under(changes), IDS)


def logits_of(records: list[Record], run: str) -> list[np.ndarray]:
    """The largest of each step."""
    return [step.candidates.logits for step in steps(records, run)]


@pytest.mark.parametrize("op", get_args(Op))
@pytest.mark.parametrize("site", DENSE)
def test_logits_are_those_of_hooks_made_by_hand(pair: tuple[Hooked, Engine], site: Site, op: Op) -> None:
    reference, engine = pair
    change = change_of(site, op)
    changed = ours(engine, prepare(engine, TEXTS.__getitem__, IDS, [change]))
    expected = by_hand(reference, change)
    assert (changed - expected).abs().max() < 1e-4
    clean = ours(engine, None)
    assert (changed - clean).abs().max() > 1e-3 * clean.abs().max()


def test_off_again_every_bit_is_as_before(pair: tuple[Hooked, Engine]) -> None:
    _, engine = pair
    before = ours(engine, None)
    changes = prepare(engine, TEXTS.__getitem__, IDS, [change_of(site, "steer") for site in DENSE])
    first, again = ours(engine, changes), ours(engine, changes)
    assert torch.equal(first, again)
    assert not torch.equal(first, before)
    assert torch.equal(ours(engine, None), before)


@pytest.mark.parametrize("arch", ["llama", "gpt2", "gemma2", "gemma3_text", "gpt_neox"])
@pytest.mark.parametrize("site", DENSE)
def test_with_a_cache_as_without(arch: str, site: Site) -> None:
    engine = tiny_engine(arch)
    changes = prepare(engine, TEXTS.__getitem__, IDS, [change_of(site, "scale"), change_of("mlp", "mean")])
    for caching in ("kept", "none"):
        engine.admit(caching, IDS, SAMPLED, 12, caching=caching, changes=changes)
    engine.admit("plain", IDS, SAMPLED, 12)
    records = advance_all(engine)
    kept, none, plain = (logits_of(records, key) for key in ("kept", "none", "plain"))
    assert tokens(records, "kept") == tokens(records, "none")
    for mine, theirs in zip(kept, none, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-4, rtol=1e-4)
    assert abs(plain[0][0] - kept[0][0]) > 1e-3


def test_others_of_the_batch_are_as_alone_and_share_no_blocks_with_a_changed_run() -> None:
    engine, expected = tiny_engine(), answer(tiny_engine(), IDS, 8)
    changes = prepare(engine, TEXTS.__getitem__, IDS, [change_of("layer", "zero")])
    engine.admit("changed", IDS, GREEDY, 8, changes=changes)
    engine.admit("plain", IDS, GREEDY, 8)
    records = advance_all(engine)
    assert tokens(records, "plain") == expected != tokens(records, "changed")
    assert engine.scheduler.holder_of(IDS, len(IDS), ["changed"]) == (None, 0)
    assert engine.scheduler.holder_of(IDS, len(IDS), ["changed"], changes) == ("changed", len(IDS))
    again = engine.admit("again", IDS, GREEDY, 8, among=["changed"], changes=changes)
    assert again.reused == len(IDS) - 1
    assert tokens(advance_all(engine), "again") == tokens(records, "changed")
    check_cache(engine)


def test_it_begins_with_the_step_that_was_named() -> None:
    engine = tiny_engine()
    changes = prepare(engine, TEXTS.__getitem__, IDS, [change_of("residual", "scale", from_step=3)])
    engine.admit("changed", IDS, GREEDY, 8, changes=changes)
    engine.admit("plain", IDS, GREEDY, 8)
    records = advance_all(engine)
    changed, plain = (logits_of(records, key) for key in ("changed", "plain"))
    same = [abs(mine[0] - theirs[0]) < 1e-4 for mine, theirs in zip(changed, plain, strict=True)]
    assert same[:4] == [True, True, True, False]


def test_a_patch_needs_a_prompt_of_equal_length() -> None:
    engine = tiny_engine()
    with pytest.raises(UnequalLength) as raised:
        prepare(engine, lambda text: [1, 2, 3], IDS, [change_of("head", "zero"), change_of("head", "patch")])
    assert (raised.value.index, raised.value.source, raised.value.prompt) == (1, 3, len(IDS))


def test_an_unknown_operation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that somebody adds to the settings alone; it is not another name of zero."""
    engine = tiny_engine()
    unknown = Change.model_construct(**{**change_of("layer", "zero").model_dump(), "op": "rotate"})
    with pytest.raises(AssertionError, match="rotate"):
        prepare(engine, lambda text: TEXTS[text], IDS, [unknown])


def chosen_in(engine: Engine, changes: Changes | None, layer: int) -> list[list[int]]:
    """The experts that the router chose for each row of `IDS`."""
    point = f"blocks.{layer}.mlp.chosen"
    rows: list[list[int]] = observe(engine.under(changes), IDS, 0, [point]).values[point].tolist()
    return rows


def test_an_expert_that_is_off_is_never_chosen_and_others_take_its_place() -> None:
    engine = tiny_engine("qwen3_moe")
    before = chosen_in(engine, None, 2)
    off = before[3][0]
    changes = prepare(engine, TEXTS.__getitem__, IDS, [Change(site="expert", op="zero", layer=2, head=off)])
    after = chosen_in(engine, changes, 2)
    assert any(off in row for row in before)
    assert not any(off in row for row in after)
    for row, other in zip(before, after, strict=True):
        assert len(set(other)) == len(row)
        assert (row == other) == (off not in row)
    assert (ours(engine, changes) - ours(engine, None)).abs().max() > 1e-3
    assert chosen_in(engine, None, 2) == before


def test_an_expert_that_is_off_at_one_position_is_chosen_elsewhere() -> None:
    engine = tiny_engine("qwen3_moe")
    before = chosen_in(engine, None, 0)
    off = before[POSITION][0]
    change = Change(site="expert", op="zero", layer=0, head=off, position=POSITION)
    after = chosen_in(engine, prepare(engine, TEXTS.__getitem__, IDS, [change]), 0)
    assert off not in after[POSITION]
    assert [row for at, row in enumerate(after) if at != POSITION] == [
        row for at, row in enumerate(before) if at != POSITION
    ]


@pytest.mark.parametrize("op", ["mean", "patch", "steer"])
def test_an_expert_takes_no_rows_of_other_prompts(op: Op) -> None:
    texts = {"source": "other" if op != "mean" else None, "away": "third" if op == "steer" else None}
    with pytest.raises(ValueError, match="op"):
        Change(site="expert", op=op, layer=0, head=0, **texts)
