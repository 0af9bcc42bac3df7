"""The worked examples, as published and as recomputed in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kvscope.model.by_hand.derivation import Derivation, Step, derive, example_lines
from kvscope.model.by_hand.examples import NORM_EPS, A, B, C, Example, Head

PRINTED = 0.0005
"""Three decimals."""


def test_example_a_gives_what_was_published() -> None:
    made = derive(A)
    first, second = made.prefill, made.decode
    assert_allclose(first.q[0], [[1, 0], [0, 1], [1, 1]])
    assert_allclose(first.k[0], [[0, 1], [1, 0], [1, 1]])
    assert_allclose(first.v[0], [[1, 1], [1, -1], [2, 0]])
    assert_allclose(first.scaled[0, 2], [0.707, 0.707, 1.414], atol=PRINTED)
    assert_allclose(first.weights[0, 2], [0.248, 0.248, 0.503], atol=PRINTED)
    assert_allclose(first.mixed[0, 2], [1.503, 0], atol=PRINTED)
    assert_allclose(second.x, [[0.5, 0.5]])
    assert_allclose(second.scaled[0, 0], [0.354, 0.354, 0.707, 0.354], atol=PRINTED)
    assert_allclose(second.weights[0, 0], [0.226, 0.226, 0.322, 0.226], atol=PRINTED)
    assert_allclose(second.mixed[0, 0], [1.322, 0], atol=PRINTED)
    assert (first.logits, made.token) == (None, 3)


def test_example_b_gives_what_was_published_but_for_what_was_misprinted() -> None:
    made = derive(B)
    step = made.prefill
    assert_allclose(step.x, [[0.8, 1.3, -0.2, 1.5], [1.2, 1.1, 0.8, 0.7]], atol=1e-6)
    assert_allclose(step.q, [[[0.83, 0.87], [0.87, 1.03]], [[0.81, 0.93], [1.02, 0.89]]], atol=1e-6)
    assert_allclose(step.k, [[[0.73, 1.31], [0.93, 1.15]], [[0.95, 1.28], [1.08, 1.03]]], atol=1e-6)
    assert_allclose(step.v, [[[1.37, 0.79], [1.19, 0.95]], [[1.28, 0.92], [1.15, 1.07]]], atol=1e-6)
    assert_allclose(step.weights[0, 1], [0.498, 0.502], atol=PRINTED)
    assert_allclose(step.weights[1, 1], [0.5159, 0.4841], atol=0.00005)  # printed as 0.503 and 0.497
    assert_allclose(step.output, [[0.939, 1.082, 0.873, 1.011], [0.921, 1.054, 0.856, 0.989]], atol=PRINTED)
    assert_allclose(step.logits, [0.933, 1.002, 0.919, 1.272, 0.933], atol=PRINTED)
    assert_allclose(step.probabilities, [0.183, 0.196, 0.181, 0.257, 0.183], atol=PRINTED)
    assert B.words[made.token] == "AI"
    assert_allclose(made.decode.x, [[1.4, -0.8, 0.8, 1.8]], atol=1e-6)


def test_example_c_is_b_with_the_rest_of_a_block() -> None:
    made = derive(C)
    assert_allclose(made.prefill.x, derive(B).prefill.x)
    assert C.words[made.token] == "AI"
    prompt = list(C.prompt)
    assert_same(made.prefill, recomputed(C, prompt), slice(None))
    assert_same(made.decode, recomputed(C, [*prompt, made.token]), slice(-1, None))
    for step in (made.prefill, made.decode):
        assert step.rest is not None
        assert_allclose(step.rest["final"], normed(step.rest["out"])[-1:], rtol=1e-5)
        again = made.without_cache.rest
        assert again is not None
    assert made.decode.rest is not None
    assert_allclose(made.decode.rest["out"][0], again["out"][-1], atol=1e-6)


@pytest.mark.parametrize(("example", "without"), [(A, 12), (B, 9), (C, 9)])
def test_a_step_projects_one_row_with_the_cache_and_all_without_and_gives_the_same(
    example: Example, without: int
) -> None:
    made = derive(example)
    assert (made.decode.projections, made.without_cache.projections) == (3, without)
    for name in ("q", "scaled", "weights", "mixed"):
        assert_allclose(getattr(made.decode, name)[:, 0], getattr(made.without_cache, name)[:, -1], atol=1e-6)
    assert_allclose(made.decode.k, made.without_cache.k, atol=1e-6)


def recomputed(example: Example, ids: list[int]) -> dict[str, np.ndarray]:
    """All rows, in float64, straight from the formula."""
    x = np.array(example.embeddings, float)[ids]
    if example.positions is not None:
        x = x + np.array(example.positions, float)[: len(ids)]
    read, mixed = x if example.mlp is None else normed(x), []
    for head in example.heads:
        q, k, v = (read @ np.array(matrix, float) for matrix in (head.w_q, head.w_k, head.w_v))
        scores = np.where(np.tri(len(ids)) > 0, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
        shares = np.exp(scores - scores.max(1, keepdims=True))
        mixed.append(shares / shares.sum(1, keepdims=True) @ v)
    found = {"x": x, "mixed": np.stack(mixed)}
    if example.w_o is not None:
        found["output"] = np.concatenate(mixed, 1) @ np.array(example.w_o, float)
        width = len(mixed[0][0])
        parts = [np.array(example.w_o[head * width : (head + 1) * width], float) for head in range(len(mixed))]
        found["by_head"] = np.stack([each @ part for each, part in zip(mixed, parts, strict=True)])
    if example.mlp is not None:
        found |= {f"rest {name}": value for name, value in whole(example, x, found["output"]).items()}
    if example.lm_head is not None:
        last = found["output"] if example.mlp is None else normed(found["rest out"])
        found["logits"] = last[-1] @ np.array(example.lm_head, float).T
    return found


def normed(rows: np.ndarray) -> np.ndarray:
    return rows / np.sqrt((rows**2).mean(1, keepdims=True) + NORM_EPS)


def whole(example: Example, x: np.ndarray, output: np.ndarray) -> dict[str, np.ndarray]:
    """What a block has besides attention, in float64."""
    assert example.mlp is not None
    gate_of, up_of, down = (np.array(getattr(example.mlp, name), float) for name in ("w_gate", "w_up", "w_down"))
    mid = x + output
    gate, up = normed(mid) @ gate_of, normed(mid) @ up_of
    hidden = gate / (1 + np.exp(-gate)) * up
    between = {"mid": mid, "mlp_normed": normed(mid), "gate": gate, "up": up, "hidden": hidden, "change": hidden @ down}
    return {"normed": normed(x), **between, "out": mid + hidden @ down}


def assert_same(step: Step, expected: dict[str, np.ndarray], rows: slice) -> None:
    for name, values in expected.items():
        wanted = values if name == "logits" else values[..., rows, :]
        # float32 knows a sum to a share of its terms.
        of_rest = name.removeprefix("rest ")
        computed = getattr(step, name) if of_rest == name else (step.rest or {})[of_rest]
        assert_allclose(computed, wanted, rtol=1e-4, atol=1e-4 * (1 + abs(values).max()))


numbers = st.floats(-9, 9, width=32).map(lambda value: round(value, 2))


def matrices(rows: int, columns: int) -> st.SearchStrategy[tuple[tuple[float, ...], ...]]:
    return st.lists(st.tuples(*[numbers] * columns), min_size=rows, max_size=rows).map(tuple)


@settings(max_examples=25)
@given(st.data())
def test_any_numbers_give_what_float64_gives(data: st.DataObject) -> None:
    drawn = Head(*(data.draw(matrices(4, 2)) for _ in range(3)))
    source = data.draw(st.sampled_from([B, C]))
    changes = {"embeddings": data.draw(matrices(5, 4)), "w_o": data.draw(matrices(4, 4))}
    example = replace(source, heads=(B.heads[0], drawn), **changes)
    made: Derivation = derive(example)
    prompt = list(example.prompt)
    assert_same(made.prefill, recomputed(example, prompt), slice(None))
    assert_same(made.decode, recomputed(example, [*prompt, made.token]), slice(-1, None))


@pytest.mark.parametrize("value", [1000, -1000, 1e-30])
def test_huge_and_tiny_numbers_leave_the_shares_finite(value: float) -> None:
    made = derive(replace(A, embeddings=((value, value), *A.embeddings[1:])))
    assert_allclose(made.decode.weights.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("example", [A, B, C])
def test_the_lines_have_the_shapes_of_the_arrays(example: Example) -> None:
    made = derive(example)
    for phase, step in (("prefill", made.prefill), ("decode", made.decode)):
        lines = example_lines(example, phase)
        hooks = {fact.of: fact.shape for facts in lines.lines["transformer.py"].values() for fact in facts if fact.hook}
        heads, rows, width = step.q.shape
        assert lines.rows == rows
        assert hooks["embedded"] == step.x.shape
        assert hooks["attn.q"] == hooks["attn.mixed"] == (rows, heads, width)
        assert hooks["attn.weights"] == (1, heads, 1, rows, step.k.shape[1])
        assert not lines.ran["engine/sampling.py"]  # no line chose the token
        assert any(name.startswith("mlp.") for name in hooks) == (example.mlp is not None)
