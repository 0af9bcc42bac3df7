"""A run with changes: composed in a list, refused where it cannot be computed, and shown beside its original."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.runs import export, share
from tests.support.screens import PHONE
from tests.support.server import Server
from tests.support.stage import Stage, box_of, open_file, open_link

LAYER, HEAD = 13, 8


def panel(stage: Stage) -> Locator:
    return stage.page.get_by_role("dialog", name="What if", exact=True)


def switch_off(stage: Stage, run: str, step: int = 3) -> Locator:
    """Open the panel with the head in sight switched off."""
    stage.at(run, step, "head", layer=LAYER, head=HEAD).get_by_role(
        "button", name=f"What if… Switch off head {HEAD} of layer {LAYER}"
    ).click()
    expect(panel(stage).get_by_role("listitem")).to_have_count(1)
    return panel(stage)


def run_with_changes(stage: Stage, original: str) -> str:
    """Start the run that the panel composed; its id, once it is shown."""
    panel(stage).get_by_role("button", name="Run with changes").click()
    expect(stage.page.locator(f"html:not([data-run='{original}'])")).to_be_attached()
    expect(stage.region("Beside the original")).to_be_visible()
    expect(stage.ending).to_be_attached()
    return stage.run_id


def test_a_head_is_switched_off_and_the_run_stands_beside_its_original(stage: Stage, short_run: str) -> None:
    switch_off(stage, short_run)
    changed = run_with_changes(stage, short_run)
    stage.expect_step(0)
    words = f"head {HEAD} of layer {LAYER} switched off (zero)"
    expect(stage.page.get_by_role("group", name="Changes of this run")).to_contain_text(f"Changed: {words}.")
    expect(stage.page.locator("#map-changed")).to_contain_text(f"head {HEAD} of layer {LAYER}")
    said = stage.region("Beside the original").get_by_role("status")
    expect(said).to_contain_text(f"With {words}, ")
    tokens = [[step["token"] for step in stage.server.log(run).steps] for run in (short_run, changed)]
    parting = next(i for i, (one, other) in enumerate(zip(*tokens, strict=True)) if one["id"] != other["id"])
    expect(said).to_contain_text(f"The answer parts at its token {parting + 1}, ")
    before, after = re.findall(r"(\d+\.\d+) %", said.inner_text().replace("\u202f", " "))[:2]
    log = stage.server.log(changed)
    shares = np.exp(log.logits(parting) - log.steps[parting]["log_z"]).tolist()
    listed = dict(zip(log.ids(parting), shares, strict=True))
    assert abs(float(before) - 100 * tokens[0][parting]["raw_prob"]) < 0.06
    assert abs(float(after) - 100 * listed[tokens[0][parting]["id"]]) < 0.06
    stage.button("What differs from the original").click()
    expect(stage.region("Inside the model")).to_be_visible()
    stage.button("Back to the original").click()
    expect(stage.page.locator(f"html[data-run='{short_run}']")).to_be_attached()
    expect(stage.region("Branches")).to_contain_text("changed run")


def test_a_second_prompt_of_another_length_is_refused_beside_its_change_and_kept(
    stage: Stage, complaints: Complaints, short_run: str
) -> None:
    complaints.allow("status of 422")
    composed = switch_off(stage, short_run)
    composed.get_by_label("How").select_option(label="take from a second prompt")
    source = composed.get_by_role("textbox", name="Second prompt")
    source.fill("The sky")
    needed = len(stage.server.opened(short_run)["tokens"])
    expect(composed.get_by_role("status").filter(has_text="2 tokens")).to_contain_text(f"has {needed}")
    composed.get_by_role("button", name="Run with changes").click()
    expect(composed.get_by_role("alert")).to_contain_text("patch needs two of equal length")
    expect(source).to_have_attribute("aria-invalid", "true")
    expect(source).to_have_value("The sky")
    assert stage.run_id == short_run


def test_the_list_is_edited_and_undone(stage: Stage, short_run: str) -> None:
    composed = switch_off(stage, short_run)
    name = composed.get_by_role("listitem").locator("b")
    composed.get_by_label("Where").select_option(label="MLP")
    expect(name).to_have_text(f"the MLP of layer {LAYER} switched off (zero)")
    composed.get_by_label("How").select_option(label="switch off: mean over the prompt")
    expect(name).to_have_text(f"the MLP of layer {LAYER} switched off (mean over the prompt)")
    composed.get_by_role("heading").press("Control+z")
    expect(name).to_have_text(f"the MLP of layer {LAYER} switched off (zero)")
    composed.get_by_role("button", name="Remove").click()
    expect(composed).to_contain_text("No change yet.")
    expect(composed.get_by_role("button", name="Run with changes")).to_be_disabled()
    composed.get_by_role("button", name="Undo").click()
    composed.get_by_role("button", name="Undo").click()
    expect(name).to_have_text(f"head {HEAD} of layer {LAYER} switched off (zero)")
    composed.get_by_role("heading").press("Escape")
    expect(panel(stage)).to_have_count(0)
    stage.page.keyboard.press("ArrowUp")
    switch = stage.region("Inspector").get_by_role("button", name=re.compile("^What if"))
    expect(switch).to_have_accessible_name(re.compile(f"layer {LAYER + 1}"))
    switch.click()
    expect(name).to_have_count(2)
    composed.get_by_role("button", name="Keep only the new one").click()
    expect(name).to_have_count(1)
    expect(name).to_have_text(f"head {HEAD} of layer {LAYER + 1} switched off (zero)")


def test_changes_that_are_composed_are_in_the_address_which_opens_the_panel_with_them(
    stage: Stage, short_run: str
) -> None:
    composed = switch_off(stage, short_run)
    composed.get_by_label("How").select_option(label="multiply")
    stage.page.wait_for_url(re.compile(rf"change=scale\+head\+layer\+{LAYER}\+head\+{HEAD}\+factor\+0\.5$"))
    stage.page.goto(stage.page.url + "&change=zero+mlp+layer+99&change=zero+mlp+layer+2")
    stage.page.reload()
    names = panel(stage).get_by_role("listitem").locator("b")
    words = [f"head {HEAD} of layer {LAYER} multiplied by 0.5", "the MLP of layer 2 switched off (zero)"]
    expect(names).to_have_text(words)
    expect(panel(stage).get_by_role("alert")).to_contain_text("layer is 99; it must be a whole number from 0 to 29.")
    changed = run_with_changes(stage, short_run)
    stage.page.wait_for_url(re.compile(f"run={changed}"))
    expect(panel(stage)).to_have_count(0)
    stage.page.go_back()
    expect(stage.page.locator(f"html[data-run='{short_run}']")).to_be_attached()
    expect(names).to_have_text(words)
    panel(stage).get_by_role("button", name="Close").click()
    stage.page.wait_for_url(lambda url: "change=" not in url)


def test_a_shared_changed_run_says_what_is_changed_and_has_no_way_to_an_original(
    new_page: NewPage, server: Server, short_run: str, tmp_path: Path
) -> None:
    changed = server.changed_run(short_run, {"site": "layer", "op": "mean", "layer": LAYER})
    session = share(server, changed, title="Changed").id
    page = new_page(**PHONE)
    file = export(server, session, tmp_path)
    for opened in (partial(open_link, page, server, session), partial(open_file, page, file, server)):
        stage = opened()
        changes = stage.page.get_by_role("group", name="Changes of this run")
        expect(changes).to_contain_text(f"layer {LAYER} switched off (mean over the prompt)")
        expect(changes.get_by_role("button")).to_have_count(0)
        expect(changes.get_by_role("link")).to_have_count(0)
        expect(stage.region("Beside the original")).to_have_count(0)


def test_on_a_phone_the_path_is_one_line_and_the_notice_opens(phone: Stage, short_run: str) -> None:
    stage = phone
    changed = stage.server.changed_run(short_run, {"site": "head", "op": "zero", "layer": LAYER, "head": HEAD})
    inspector = stage.at(changed, 3, "head", layer=LAYER, head=HEAD)
    opener = inspector.get_by_role("button", name=f"What if… Switch off head {HEAD} of layer {LAYER}")
    first, last = (box_of(inspector.get_by_role("button", name=name, exact=True)) for name in ("Model", "Code"))
    assert first["y"] == pytest.approx(last["y"], abs=1)
    assert box_of(opener)["y"] < first["y"] + first["height"]
    notice = stage.page.get_by_role("group", name="Changes of this run")
    back = notice.get_by_role("button", name="Back to the original")
    expect(back).to_be_hidden()
    notice.get_by_text("Changed:").click()
    expect(notice.get_by_role("listitem")).to_have_text(f"head {HEAD} of layer {LAYER} switched off (zero)")
    back.click()
    expect(stage.page.locator(f"html[data-run='{short_run}']")).to_be_attached()


def test_experiments_that_a_changed_run_cannot_have_say_so(stage: Stage, short_run: str) -> None:
    changed = stage.server.changed_run(short_run, {"site": "mlp", "op": "zero", "layer": LAYER})
    inspector = stage.at(changed, 3, "cache")
    expect(inspector.get_by_text("this run has changes")).to_have_count(3)
    expect(inspector.get_by_role("button", name="Run it without the mask")).to_have_count(0)
    expect(inspector.get_by_role("button", name="Measure on this run")).to_have_count(0)
