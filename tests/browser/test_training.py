"""Training beside inference: every position's prediction, what really came, and its loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.complaints import Complaints
from tests.support.numbers import number
from tests.support.screens import PHONE, SCHEMES, violations
from tests.support.server import Server
from tests.support.stage import Stage


def opened(stage: Stage, run: str) -> Locator:
    """The panel, asked for by keyboard."""
    stage.open(run, "#step=1&view=tokens").expect_step(1)
    panel = stage.region("Training beside inference")
    panel.get_by_role("button", name="Ask the model").press("Enter")
    return panel


def told_and_shown(stage: Stage, run: str) -> tuple[dict[str, Any], Locator]:
    """What the model answers, and the panel that shows it."""
    with stage.page.expect_response("**/losses") as answered:
        panel = opened(stage, run)
    return answered.value.json(), panel


def test_each_position_has_its_prediction_and_its_loss(stage: Stage, short_run: str) -> None:
    told, panel = told_and_shown(stage, short_run)
    prompt = stage.server.log(short_run).open["tokens"]
    rows = panel.get_by_role("table").first.get_by_role("row")
    expect(rows).to_have_count(len(prompt) + 1)
    for place, each in enumerate(told["positions"][:-1]):
        predicted, came, loss = rows.nth(place + 1).get_by_role("cell").all_inner_texts()[1:]
        assert predicted.startswith(each["best"]["text"].replace(" ", "·").replace("\n", "⏎"))
        assert came.startswith(prompt[place + 1]["text"].replace(" ", "·"))
        assert came.endswith(f"number {each['came']['rank'] + 1:,}")
        assert number(loss) == pytest.approx(each["came"]["loss"], abs=0.0051)
        assert each["came"]["loss"] == pytest.approx(-math.log(each["came"]["prob"]), rel=1e-6)
    expect(rows.last).to_contain_text("inference goes on from here")
    expect(panel).to_contain_text(f"the mean is {told['loss']:.3f}, a perplexity of {told['perplexity']:.1f}")


def test_beside_it_stands_what_inference_keeps(stage: Stage, short_run: str) -> None:
    told, panel = told_and_shown(stage, short_run)
    kept, log = told["bytes"], stage.server.log(short_run)
    count = len(log.open["tokens"])
    beside = panel.get_by_role("table", name="The same pass in training and in inference")
    logits = beside.get_by_role("row", name="logits kept")
    expect(logits).to_contain_text(f"[{count} × 49,152], {kept['logits']:,}\u202fB")
    expect(logits).to_contain_text(f"[1 × 49,152], {kept['last_logits']:,}\u202fB")
    assert kept["logits"] == count * kept["last_logits"]
    assert kept["kv"] == log.steps[0]["kv"]["bytes_used"]
    expect(beside.get_by_role("row", name="K and V")).to_contain_text(f"{kept['kv']:,}\u202fB, in the cache")
    expect(beside.get_by_role("row", name="weights")).to_contain_text("never changed")


def test_a_prompt_of_one_token_has_nothing_to_learn_from(stage: Stage) -> None:
    run = stage.server.finished_run("The", max_new_tokens=2)
    panel = opened(stage, run)
    expect(panel).to_contain_text("there is nothing to learn from it")
    expect(panel).to_contain_text("none: nothing came next")


def test_what_the_model_does_not_give_is_said(stage: Stage, short_run: str, complaints: Complaints) -> None:
    complaints.allow("losses")
    stage.page.route("**/losses", lambda route: route.abort())
    expect(opened(stage, short_run).get_by_role("status")).to_contain_text("Check that it is still running")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_opened_it_breaks_no_rule(new_page: Callable[..., Page], server: Server, short_run: str, scheme: str) -> None:
    stage = Stage(new_page(color_scheme=scheme, reduced_motion="reduce"), server)
    expect(opened(stage, short_run)).to_contain_text("perplexity")
    assert violations(stage.page) == []


def test_on_a_phone_nothing_scrolls_sideways(new_page: Callable[..., Page], server: Server, short_run: str) -> None:
    stage = Stage(new_page(**PHONE), server)
    panel = opened(stage, short_run)
    expect(panel).to_contain_text("perplexity")
    assert stage.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert panel.evaluate("(e) => e.scrollWidth <= e.clientWidth")
