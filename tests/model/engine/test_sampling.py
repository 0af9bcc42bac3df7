from __future__ import annotations

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from kvscope.model.engine.distribution import Distribution, NotFinite
from kvscope.model.engine.sampling import choose, pick, put, top_k, top_p, uniform, with_temperature
from kvscope.model.settings import Sampling

LOGITS = torch.tensor([0.5, 3.0, -1.0, 2.0, 2.5, -4.0])
LARGEST = 1 - 2**-53
"""The largest random number."""
logit_lists = st.lists(st.floats(-60, 60, width=32), min_size=1, max_size=40)


def draws(sampling: Sampling, count: int = 400, logits: Tensor = LOGITS) -> list[int]:
    return [choose(Distribution(logits), sampling, step).token for step in range(count)]


def test_greedy_takes_the_largest_and_reports_its_raw_probability() -> None:
    choice = choose(Distribution(LOGITS), Sampling(temperature=0.1, top_k=2, top_p=0.1), 0)
    probs = torch.softmax(LOGITS.double(), 0)
    assert choice.token == 1
    assert choice.prob == choice.raw_prob == pytest.approx(float(probs[1]), abs=1e-12)
    assert (choice.kept_top_k, choice.kept_top_p, choice.mass_top_k, choice.mass_top_p) == (6, 6, 1, 1)


def test_greedy_takes_the_first_of_equals() -> None:
    assert {choose(Distribution(torch.tensor([1.0, 7.0, 7.0])), Sampling(), step).token for step in range(20)} == {1}


def test_entropy_and_log_z_are_of_the_raw_logits_whatever_the_temperature() -> None:
    for sampling in (Sampling(), Sampling(strategy="sample", temperature=0.2, top_k=1)):
        choice = choose(Distribution(torch.zeros(8)), sampling, 0)
        assert choice.entropy == pytest.approx(3)
        assert choice.log_z == pytest.approx(math.log(8))
    assert choose(Distribution(torch.tensor([2.0])), Sampling(strategy="sample"), 0).entropy == 0


def test_the_same_seed_draws_the_same_tokens_and_another_does_not() -> None:
    assert draws(Sampling(strategy="sample", seed=3)) == draws(Sampling(strategy="sample", seed=3))
    assert draws(Sampling(strategy="sample", seed=3)) != draws(Sampling(strategy="sample", seed=4))


def test_draws_follow_the_probabilities_at_the_temperature() -> None:
    tokens = torch.tensor(draws(Sampling(strategy="sample", temperature=1.7, seed=1), 3000))
    frequency = torch.bincount(tokens, minlength=6) / 3000
    assert torch.allclose(frequency.double(), torch.softmax(LOGITS.double() / 1.7, 0), atol=0.03)


def test_top_k_and_top_p_keep_the_best_and_say_how_much() -> None:
    probs = torch.softmax(LOGITS.double(), 0)
    choice = choose(Distribution(LOGITS), Sampling(strategy="sample", top_k=3), 0)
    assert (choice.kept_top_k, choice.kept_top_p) == (3, 3)
    assert choice.mass_top_k == choice.mass_top_p == pytest.approx(float(probs[[1, 4, 3]].sum()))
    assert set(draws(Sampling(strategy="sample", top_k=3))) == {1, 4, 3}

    sampling = Sampling(strategy="sample", top_k=3, top_p=0.7)
    choice = choose(Distribution(LOGITS), sampling, 0)
    assert (choice.kept_top_k, choice.kept_top_p) == (3, 2)
    assert choice.mass_top_p == pytest.approx(float(probs[[1, 4]].sum()))
    assert set(draws(sampling)) == {1, 4}


def test_the_probability_reported_is_that_of_the_draw() -> None:
    choice = choose(Distribution(LOGITS), Sampling(strategy="sample", temperature=2.0, top_k=2), 0)
    kept = torch.softmax(LOGITS.double()[[1, 4]] / 2, 0)
    assert choice.prob == pytest.approx(float(kept[[1, 4].index(choice.token)]))
    assert choice.raw_prob == pytest.approx(float(torch.softmax(LOGITS.double(), 0)[choice.token]))


def test_top_p_is_judged_at_the_temperature() -> None:
    cold = choose(Distribution(LOGITS), Sampling(strategy="sample", temperature=0.1, top_p=0.9), 0)
    hot = choose(Distribution(LOGITS), Sampling(strategy="sample", temperature=5.0, top_p=0.9), 0)
    assert (cold.kept_top_p, hot.kept_top_p) == (1, 5)


def test_top_p_is_of_what_top_k_left() -> None:
    """0.4 and 0.3 are left: of them the first has 57 %."""
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    assert choose(Distribution(logits), Sampling(strategy="sample", top_k=2, top_p=0.5), 0).kept_top_p == 1


def test_top_k_and_top_p_keep_the_fewest_that_reach_them() -> None:
    sorted_probs = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64)
    for k, kept in ((0, 4), (1, 1), (3, 3), (4, 4), (1000, 4)):
        assert top_k(sorted_probs, k) == kept
    edges = ((1e-300, 1), (0.5, 1), (0.5 + 1e-9, 2), (0.75, 2), (0.8, 3), (1 - 2**-53, 4), (1.0, 4))
    for sum_of_all in (1.0, 0.37):
        for p, kept in edges:
            assert top_p(sorted_probs.cumsum(0) * sum_of_all, p) == kept


def test_a_temperature_near_zero_is_greedy_and_finite() -> None:
    for temperature in (5e-324, 1e-300, 1e-5):
        choice = choose(Distribution(LOGITS), Sampling(strategy="sample", temperature=temperature), 0)
        assert (choice.token, choice.prob, choice.mass_top_k) == (1, 1, 1)
        assert with_temperature(LOGITS.double(), temperature).tolist() == [0, 1, 0, 0, 0, 0]


def test_pick_never_takes_what_has_no_probability() -> None:
    for total in (1.0, 0.9, 0.3):
        cumulative = torch.tensor([0.0, total, total], dtype=torch.float64)
        assert {pick(cumulative, u) for u in (0.0, 0.5, LARGEST)} == {1}


def test_pick_takes_each_as_often_as_its_probability_says() -> None:
    cumulative = torch.tensor([0.25, 0.75, 1.0], dtype=torch.float64)
    assert [pick(cumulative, u) for u in (0.0, 0.2499, 0.25, 0.7499, 0.75, LARGEST)] == [0, 0, 1, 1, 2, 2]


def test_random_numbers_are_those_of_splitmix64() -> None:
    """The 64 bits are published: for the seed 1234567 in Rosetta Code, for 0 in many generators' tests."""
    assert [int(uniform(1234567, step) * 2**53) for step in range(3)] == [
        number >> 11 for number in (6457827717110365317, 3203168211198807973, 9817491932198370423)
    ]
    assert int(uniform(0, 0) * 2**53) == 0xE220A8397B1DCDAF >> 11


def test_random_numbers_are_spread_evenly_over_seeds_and_over_steps() -> None:
    of_seeds, of_steps = [uniform(seed, 0) for seed in range(4000)], [uniform(7, step) for step in range(4000)]
    for numbers in (of_seeds, of_steps):
        counts = torch.histc(torch.tensor(numbers), 16, 0, 1)
        assert ((counts - 250) ** 2 / 250).sum() < 40  # chi-square with 15 degrees of freedom: above it in 0.05 %


@pytest.mark.parametrize("strategy", ["greedy", "sample"])
def test_logits_that_are_not_finite_raise(strategy: str) -> None:
    for bad in (math.nan, math.inf, -math.inf):
        with pytest.raises(NotFinite):
            choose(Distribution(torch.tensor([0.0, bad, 1.0])), Sampling(strategy=strategy), 0)


@given(
    logit_lists,
    st.floats(0, 5, exclude_min=True),
    st.integers(0, 50),
    st.floats(0, 1, exclude_min=True),
    st.integers(0, 2**31 - 1),
)
@example([0.0, 1.6826346057943516e-21], 1.0, 1, 1.0, 0)
def test_any_settings_leave_a_sound_choice(
    logits: list[float], temperature: float, k: int, p: float, seed: int
) -> None:
    choice = choose(
        Distribution(torch.tensor(logits)),
        Sampling(strategy="sample", temperature=temperature, top_k=k, top_p=p, seed=seed),
        0,
    )
    assert 0 <= choice.token < len(logits)
    assert 1 <= choice.kept_top_p <= choice.kept_top_k <= len(logits)
    assert 0 < choice.prob <= 1 + 1e-9
    assert 0 < choice.mass_top_p <= choice.mass_top_k <= 1 + 1e-9
    assert 0 <= choice.entropy <= math.log2(len(logits)) + 1e-9
    ranked = sorted(logits, reverse=True)
    assert logits[choice.token] >= ranked[choice.kept_top_p - 1]


def test_a_token_put_in_place_of_the_choice_has_its_raw_probability() -> None:
    logits = torch.tensor([1.0, 3.0, 2.0])
    drawn = choose(Distribution(logits), Sampling(strategy="sample", temperature=0.2, top_k=1), 0)
    given_token = put(drawn, Distribution(logits), 0)
    assert (drawn.token, given_token.token) == (1, 0)
    assert given_token.raw_prob == given_token.prob == pytest.approx(float(logits.softmax(0)[0]))
    assert (given_token.entropy, given_token.kept_top_k) == (drawn.entropy, drawn.kept_top_k)
