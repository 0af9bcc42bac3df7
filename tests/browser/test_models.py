"""A server with several models: visitors choose the one that computes their run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.support import tiny_files as tiny
from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.screens import PHONE
from tests.support.server import Server
from tests.support.stage import Stage, box_of


@pytest.fixture(scope="module")
def _two_models(start_server: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server with two models, and one whose terms nobody has accepted."""
    folder = tmp_path_factory.mktemp("models")
    for name, arch in (("one", "llama"), ("two", "qwen2")):
        tiny.write_gguf(folder / f"{name}.gguf", arch)
    models = (folder / "one.gguf", folder / "two.gguf", "gemma-3-270m")
    options = [part for model in models for part in ("--model", str(model))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KVSCOPE_CACHE", str(folder / "cache"))
        return start_server(*options)


@pytest.fixture
def open_stage(_two_models: Server, new_page: NewPage, complaints: Complaints) -> Callable[..., Stage]:
    """Opens the Stage for another visitor; options are those of `new_page`."""
    complaints.allow("status of 409")  # the recorded run that the page begins with is of another model
    complaints.allow("status of 503")  # a model that is not loaded
    _two_models.wait_until_ready()
    return lambda **options: Stage(new_page(own=True, **options), _two_models).open()


def picker_of(stage: Stage) -> Locator:
    return stage.page.get_by_role("combobox", name="model", exact=True)


def run(stage: Stage) -> str:
    """Start a run with what the form says; its id, once it has ended."""
    before = stage.run_id
    stage.set_number("new tokens", 4)
    stage.button("Run").click()
    expect(stage.page.locator(f"html:not([data-run='{before}'])")).to_be_attached()
    stage.server.wait_for_the_end(stage.run_id)
    return stage.run_id


def test_two_visitors_use_two_models(open_stage: Callable[..., Stage]) -> None:
    one, two = open_stage(), open_stage()
    for stage in (one, two):
        stage.type_prompt("the inn")
    picker = picker_of(two)
    expect(picker).to_have_value("one")
    picker.press("ArrowDown")
    expect(picker).to_have_value("two")
    runs = [run(stage) for stage in (two, one)]
    assert [two.server.opened(each)["model"]["name"] for each in runs] == ["two", "one"]
    for stage, name in ((one, "one"), (two, "two")):
        expect(stage.page.get_by_role("group", name="Model")).to_contain_text(name)
    one.open(runs[0])  # by its link, whose model is chosen for the next run too
    expect(one.page.get_by_role("group", name="Model")).to_contain_text("two")
    one.ask()
    expect(picker_of(one)).to_have_value("two")


def test_a_model_that_cannot_be_used_says_why_and_cannot_be_chosen(open_stage: Callable[..., Stage]) -> None:
    stage = open_stage(**PHONE)
    stage.ask()
    form = stage.page.get_by_role("form", name="New run")
    expect(form.get_by_role("option", name="gemma-3-270m")).to_be_disabled()
    expect(form).to_contain_text("--accept-terms gemma")
    box = box_of(picker_of(stage))
    assert box["x"] + box["width"] <= stage.page.evaluate("innerWidth")


def test_a_model_can_be_loaded_before_its_first_run(open_stage: Callable[..., Stage]) -> None:
    stage = open_stage()
    stage.type_prompt("the inn")
    picker_of(stage).select_option("two")
    load = stage.button("Load it now")
    if load.is_visible():  # the order of the tests says whether it is loaded
        load.click()
    about = stage.page.locator("#about-model")
    expect(about).to_contain_text("of memory (measured)")
    expect(about).to_contain_text("4 query heads share 2 sets of keys and values")
    expect(stage.region("The prompt as tokens")).to_contain_text("tokens with their ids")
