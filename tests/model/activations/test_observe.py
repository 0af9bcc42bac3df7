from __future__ import annotations

import pytest
import torch

from kvscope.model.activations.observe import observe
from kvscope.model.hooks import hook_points, observing
from kvscope.model.kv_cache import CacheFull
from tests.support.tiny import ARCHS, GREEDY, advance_all, check_cache, prompt, shared_model, tiny_engine, whole_logits

IDS = prompt(24)


@pytest.mark.parametrize("arch", ARCHS)
def test_every_hook_point_gives_what_passed_it(arch: str) -> None:
    made, seen = tiny_engine(arch), dict[str, torch.Tensor]()
    points = hook_points(shared_model(arch))
    observers = {name: lambda value, name=name: seen.__setitem__(name, value.clone()) for name in points}
    with observing(points, observers):
        whole_logits(shared_model(arch), IDS)
    found = observe(made, IDS, 0, points).values
    assert found.keys() == seen.keys()
    for name, value in found.items():
        # Logits are wanted of the last row alone.
        torch.testing.assert_close(value, seen[name][-1:] if name == "final" else seen[name], atol=1e-5, rtol=1e-4)


def test_only_the_rows_asked_for_are_seen_and_the_cache_is_of_all() -> None:
    made = tiny_engine()
    made.admit("a", IDS[:20], GREEDY, 1)
    advance_all(made)
    found = observe(made, IDS, 22, ["blocks.1.attn.k_rot", "blocks.0.resid_out"], cache_of=[1])
    assert list(found.block(1)) == ["attn.k_rot"]
    assert found.block(0)["resid_out"].shape == (2, 32)
    k, v = found.cache[1]
    assert k.shape == v.shape == (2, 24, 8)
    assert torch.equal(k[:, 22:].transpose(0, 1), found.block(1)["attn.k_rot"])
    assert found.cache.keys() == {1}
    check_cache(made)


@pytest.mark.parametrize("keep", [False, True])
def test_rows_stay_in_the_cache_where_that_is_asked_for(keep: bool) -> None:
    made = tiny_engine()
    for _ in range(2):
        observe(made, IDS, 0, [], keep=keep)
        check_cache(made)
    assert [each.ids for each in made.scheduler.kept.values()] == [IDS] * keep


def test_what_cannot_be_seen_leaves_nothing_behind() -> None:
    made = tiny_engine(capacity=32)
    with pytest.raises(CacheFull):
        observe(made, prompt(33), 0, ["final"])
    with pytest.raises(KeyError):
        observe(made, IDS, 0, ["final", "blocks.2.resid_out"])
    with pytest.raises(ValueError, match="no row"):
        observe(made, IDS, 25, ["final"])
    assert made.cache.free_blocks == made.cache.blocks
