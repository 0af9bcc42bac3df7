from __future__ import annotations

from unittest.mock import Mock

import pytest
import torch
from torch import Tensor

from kvscope.model.hooks import hook_points, observing
from tests.support.tiny import prompt, shared_model, whole_logits


def attached() -> list[str]:
    return [name for name, point in hook_points(shared_model()).items() if point.observers]


def test_names_are_module_paths_and_every_layer_has_the_same() -> None:
    points = hook_points(shared_model())
    first = {name.removeprefix("blocks.0.") for name in points if name.startswith("blocks.0.")}
    second = {name.removeprefix("blocks.1.") for name in points if name.startswith("blocks.1.")}
    assert first == second
    assert {"attn.scores", "attn.weights", "attn.k_rot", "attn.v", "mlp.hidden", "resid_out"} <= first
    assert set(points) - {f"blocks.{layer}.{name}" for layer in (0, 1) for name in first} == {"embedded", "final"}


@pytest.mark.parametrize("arch", ["llama", "gpt2"])
def test_every_hook_point_is_passed_and_shaped_as_declared(arch: str) -> None:
    model, seen = shared_model(arch), dict[str, Tensor]()
    points = hook_points(model)
    observers = {name: lambda value, name=name: seen.__setitem__(name, value) for name in points}
    with observing(points, observers):
        whole_logits(model, prompt(5))
    config = model.config
    sizes = {"T": 5, "D": config.d, "F": config.d_mlp, "H": config.heads, "Hkv": config.kv_heads, "G": config.group}
    sizes |= {"Dh": config.head_dim, "B": 1, "Q": 5, "K": 5, "N": 5}
    assert {name: tuple(seen[name].shape) for name in points} == {
        name: tuple(sizes[letter] for letter in point.shape.split()) for name, point in points.items()
    }


def test_observing_changes_no_value() -> None:
    model, ids = shared_model(), prompt(20)
    plain = whole_logits(model, ids)
    with observing(hook_points(model), {name: lambda value: torch.zeros(3) for name in hook_points(model)}):
        observed = whole_logits(model, ids)
    assert torch.equal(plain, observed)


def test_hooks_are_removed_after_an_observer_raises() -> None:
    fail = Mock(side_effect=RuntimeError("no room to look"))
    with observing(hook_points(shared_model()), {"embedded": fail, "final": fail}):
        assert attached() == ["embedded", "final"]
        with pytest.raises(RuntimeError, match="no room to look"):
            whole_logits(shared_model(), prompt(3))
    assert not attached()


def test_an_unknown_name_raises_and_detaches_those_before_it() -> None:
    names = {"embedded": print, "blocks.9.resid_out": print}
    with pytest.raises(KeyError, match=r"blocks\.9"), observing(hook_points(shared_model()), names):
        raise AssertionError("entered")
    assert not attached()


def test_observers_inside_one_another_each_see_and_leave() -> None:
    outer, inner, points = Mock(), Mock(), hook_points(shared_model())
    with observing(points, {"final": outer}):
        with observing(points, {"final": inner}):
            whole_logits(shared_model(), prompt(2))
        whole_logits(shared_model(), prompt(2))
    assert (outer.call_count, inner.call_count) == (2, 1)
