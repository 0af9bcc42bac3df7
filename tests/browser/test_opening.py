"""What a visitor meets: something real at once, whether or not the model is ready."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from playwright.sync_api import expect

from tests.support.pages import NewPage
from tests.support.server import Server
from tests.support.stage import Stage
from tests.support.waiting import eventually


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The model loads once this file is there."""
    return tmp_path / "gate"


@pytest.fixture
def loading_server(start_server: Callable[..., Server], gate: Path) -> Server:
    return start_server("--service", "tests.support.gated_service:load_service", "--model", str(gate))


def test_a_recorded_run_plays_and_a_prompt_is_held_until_the_model_is_ready(
    loading_server: Server, gate: Path, new_page: NewPage
) -> None:
    stage = Stage(new_page(), loading_server)
    stage.page.goto(f"{loading_server.url}#view=head")
    stage.expect_phase("running")
    expect(stage.words.first).to_be_visible()
    expect(stage.slider).not_to_have_value("0")
    before = stage.picture("Model map")
    eventually(lambda: stage.picture("Model map") != before)
    assert not loading_server.ready
    # Until the engine's process is up, there is nothing to measure progress by.
    expect(stage.page.get_by_role("group", name="Model").get_by_role("progressbar")).to_be_visible(timeout=60_000)

    recorded = stage.run_id
    stage.type_prompt("The sea is")
    stage.set_number("new tokens", 3)
    stage.page.get_by_role("button", name="Run").click()
    expect(stage.page.get_by_role("status").filter(has_text="as soon as the model is ready")).to_be_visible()
    assert stage.run_id == recorded

    gate.touch()
    expect(stage.page.locator(f"html:not([data-run='{recorded}'])")).to_be_attached(timeout=90_000)
    stage.expect_phase("done")
    log = loading_server.log(stage.run_id)
    assert log.open["prompt"] == "The sea is"
    assert len(log.steps) == 3


def test_the_model_says_what_its_weights_are_held_as_and_what_was_compiled(stage: Stage) -> None:
    ready = requests.get(f"{stage.server.url}readyz", timeout=60).json()
    groups = {"4-bit groups": 66_355_200, "8-bit groups": 30_081_024}
    in_groups = ready["model"] | {"weights": {"stored": groups, "held": groups}}
    answer = ready | {"compiled": "no native code: why", "model": in_groups}
    stage.page.route("**/readyz", lambda route: route.fulfill(json=answer))
    stage.open()
    model = stage.page.get_by_role("group", name="Model", exact=True)
    title = re.compile(r"memory: 96\.4.MB in 4- and 8-bit groups · no native code: why$")
    expect(model.get_by_title(title)).to_contain_text("/ 3 KV · 4-bit · CPU")


def test_a_recorded_run_is_chosen_by_its_title_and_plays_to_its_end(stage: Stage) -> None:
    for width in (1440, 390):
        stage.page.set_viewport_size({"width": width, "height": 844})
        stage.open()
        first = stage.run_id
        choice = stage.page.get_by_label("Recorded runs")
        choice.click(trial=True)
        titles = [option.inner_text() for option in choice.get_by_role("option").all()]
        shown = choice.locator("option:checked").inner_text()
        choice.select_option(next(title for title in titles if title not in (shown, "choose one")))
        expect(stage.page.locator(f"html:not([data-run='{first}'])")).to_be_attached()
        stage.expect_phase("running")
        if width == 1440:
            stage.play_at("4×")
            stage.expect_phase("done")
            stage.expect_step(len(stage.server.log(stage.run_id).steps) - 1)
