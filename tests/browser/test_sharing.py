"""Sharing: a run and a moment in it become a link that opens elsewhere, over HTTP alone, with the same frames."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import requests
from playwright.sync_api import Page, Route, expect

from kvscope.app.store.sessions import label_of
from kvscope.model.log.frames import from_stream, relabel
from tests.support.complaints import Complaints
from tests.support.numbers import same_but_for_rounding
from tests.support.pixels import colours
from tests.support.runs import HOSTILE, PLACE, note, share
from tests.support.screens import DESKTOP, PHONE, SCHEMES, violations
from tests.support.server import Server
from tests.support.stage import Stage, expect_same_text, open_link, share_by_dialog, share_dialog
from tests.support.traffic import sockets_of
from tests.support.waiting import eventually
from tools.record.__main__ import recipes


def test_a_shared_moment_opens_from_its_link_in_another_browser(
    stage: Stage, new_page: Callable[..., Page], short_run: str
) -> None:
    stage.open(short_run, PLACE + "head")
    stage.expect_step(3)
    stage.button("Share").click()
    form = share_dialog(stage.page)
    expect(form.get_by_label("Title")).to_have_value("The animal didn't cross the street because it was too")
    form.get_by_label("Title").fill("What “it” means")
    expect(form).to_contain_text("Step 3, layer 13, head 8, in the view “head”")
    form.get_by_label("Note on step 3").fill("Look at the row of it.")
    form.get_by_role("checkbox", name="Pin it to layer 13, head 8").check()
    form.get_by_role("button", name="Add note").click()
    expect(form.get_by_role("list", name="Notes added").get_by_role("listitem")).to_contain_text(
        ["Look at the row of it."]
    )
    form.get_by_role("button", name="Make link").click()
    link = form.get_by_label("Link", exact=True)
    expect(link).to_have_value(re.compile(rf"^{stage.server.url}s/[a-z2-7]{{12,}}$"))

    page = new_page()
    opened = sockets_of(page)
    page.goto(link.input_value())
    other = Stage(page, stage.server)
    other.expect_step(3)
    expect(page.get_by_role("heading", name="What “it” means")).to_be_visible()
    expect(other.region("Notes")).to_contain_text("Look at the row of it.")
    expect(other.region("Notes").get_by_role("button", name="layer 13, head 8")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(other.region("Inspector").get_by_role("heading", level=2)).to_have_text("“it” looks back at “animal”")
    expect(other.region("Inspector")).to_contain_text("softmax over 9 keys")
    page.wait_for_url(re.compile(r"/s/[a-z2-7]+#step=3&layer=13&head=8&query=8&key=1&view=head$"))
    name = "This query and this key"
    expect_same_text(other.region(name), stage.region(name), same_but_for_rounding)
    for name in ("KV cache", "Time"):
        expect_same_text(other.region(name), stage.region(name))
    assert opened == []


def test_the_frames_of_a_link_are_the_runs_own_under_another_label(server: Server, short_run: str) -> None:
    shared = share(server, short_run)
    run, session = (
        list(from_stream(requests.get(f"{server.url}api/{log}/frames?after=-1", timeout=60).content))
        for log in (f"runs/{short_run}", f"sessions/{shared.id}")
    )
    label = label_of(short_run)
    assert [relabel(payload, label, seq).payload for seq, payload in enumerate(run)] == session != []


def test_the_link_is_copied_and_deleted_again(
    new_page: Callable[..., Page], server: Server, short_run: str, complaints: Complaints
) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    stage = Stage(page, server).open(short_run, "#step=1")
    form = share_by_dialog(stage, "To be deleted")
    link = form.get_by_label("Link", exact=True).input_value()
    form.get_by_role("button", name="Copy link").click()
    expect(form.get_by_role("button", name="Copied link")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == link
    assert requests.get(link, timeout=60).status_code == 200
    form.get_by_role("button", name="Delete this link").click()
    expect(form).to_contain_text("Deleted.")
    expect(form.get_by_label("Title")).to_have_value("To be deleted")
    complaints.allow("status of 410")
    page.goto(link)
    expect(page.get_by_role("link", name="Open KVScope")).to_be_visible()


def test_sharing_takes_only_the_keyboard(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=3&head=1")
    stage.expect_step(2)
    keys = stage.page.keyboard
    stage.button("Try your own").focus()
    keys.press("Tab")
    keys.press("Enter")
    form = share_dialog(stage.page)
    expect(form).to_be_visible()
    keys.press("Escape")
    expect(form).to_be_hidden()
    expect(stage.button("Share")).to_be_focused()
    keys.press("Enter")
    form.get_by_label("Note on step 2").focus()
    keys.type("Typed. ")
    keys.press("Escape")
    expect(form).to_be_hidden()
    # What was typed waits, and what is shared is where one has gone meanwhile.
    stage.button("Next step").focus()
    keys.press("Enter")
    stage.expect_step(3)
    stage.button("Share").focus()
    keys.press("Enter")
    expect(form.get_by_label("Note on step 3")).to_have_value("Typed. ")
    form.get_by_label("Title").focus()
    keys.press("Enter")
    link = form.get_by_label("Link", exact=True)
    expect(link).to_be_focused()
    session = link.input_value().rpartition("/")[2]
    manifest = requests.get(f"{stage.server.url}api/sessions/{session}", timeout=60).json()
    assert manifest["notes"] == [note(3, "Typed.")]
    assert (manifest["open"]["step"], manifest["open"]["layer"], manifest["open"]["head"]) == (3, 3, 1)


def test_a_run_that_grows_cannot_be_shared_yet_and_the_button_says_so(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=0")
    stage.run("Once upon a time", 200)
    expect(stage.button("Share")).to_be_disabled()
    expect(stage.button("Share")).to_have_attribute("title", "Possible when the run has ended")
    stage.button("Stop").click()
    expect(stage.button("Share")).to_be_enabled()


def test_a_refusal_stands_by_its_field_and_nothing_typed_is_lost(
    stage: Stage, short_run: str, complaints: Complaints
) -> None:
    complaints.allow("status of 422")
    stage.open(short_run, "#step=1")
    stage.button("Share").click()
    form = share_dialog(stage.page)
    title = "upside \u202e down"
    form.get_by_label("Title").fill(title)
    form.get_by_label("Note on step 1").fill("kept")
    form.get_by_role("button", name="Make link").click()
    expect(form.get_by_role("alert")).to_be_visible()
    expect(form.get_by_label("Title")).to_have_attribute("aria-invalid", "true")
    expect(form.get_by_label("Title")).to_have_value(title)
    expect(form.get_by_role("listitem")).to_contain_text(["kept"])
    form.get_by_label("Title").fill("upright")
    form.get_by_role("button", name="Make link").click()
    expect(form.get_by_label("Link", exact=True)).to_be_visible()


def test_title_and_notes_are_text_whatever_they_hold(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    shared = share(server, short_run, title=HOSTILE, notes=[note(2, HOSTILE)], open={"step": 2})
    page = new_page()
    stage = open_link(page, server, shared.id)
    stage.expect_step(2)
    expect(stage.region("Notes")).to_contain_text(HOSTILE)
    expect(page.get_by_role("group", name="Shared run")).to_contain_text(HOSTILE)
    assert page.locator("img, [onerror], .page script").count() == 0


def test_notes_lead_from_step_to_step(new_page: Callable[..., Page], server: Server, short_run: str) -> None:
    notes = [note(4, "Last.", 20, 2), note(0, "First."), note(4, "Also here.")]
    shared = share(server, short_run, title="Notes", notes=notes, open={"step": 0})
    stage = open_link(new_page(), server, shared.id)
    words = stage.region("Notes")
    expect(words).to_contain_text("First.")
    stage.button("Next note").click()
    stage.expect_step(4)
    expect(words.get_by_role("listitem")).to_contain_text(["Last.", "Also here."])
    stage.page.wait_for_url(re.compile("step=4&layer=20&head=2"))
    stage.button("Next note").click()
    expect(words.get_by_role("listitem")).to_contain_text(["Also here.", "Last."])
    expect(stage.button("Next note")).to_have_attribute("aria-disabled", "true")
    expect(stage.page.get_by_title("has a note")).to_have_count(2)
    stage.button("Previous step").click()
    expect(words).to_contain_text("No note on this step. 3 notes on steps 0 and 4.")


def test_on_a_phone_each_note_is_read_by_itself(new_page: Callable[..., Page], server: Server) -> None:
    """Those of one place too, and the selection and the picture go with them."""
    recipe = next(recipe for recipe in recipes() if recipe["name"] == "animal")
    page = new_page(**PHONE)
    page.goto(f"{server.url}gallery")
    page.get_by_role("link", name=recipe["title"], exact=True).click()
    stage = Stage(page, server)
    note = stage.region("Notes").get_by_role("listitem").filter(visible=True)
    read = []
    for number, place in enumerate(
        ("layer=13&head=8&query=8&key=1", "layer=13&head=8", "layer=21&head=6&query=8", "layer=21&head=6"), 1
    ):
        expect(note).to_have_count(1)
        expect(note).to_contain_text(f"{number} of 4")
        page.wait_for_url(re.compile(rf"#step={recipe['note'][number - 1]['step']}&{place}"))
        read.append(note.locator("bdi").inner_text())
        if number < 4:
            stage.button("Next note").click()
    assert len(set(read)) == 4
    expect(stage.button("Next note")).to_have_attribute("aria-disabled", "true")
    stage.expect_step(1)
    stage.button("Previous note").click()
    expect(note).to_contain_text("3 of 4")
    stage.expect_step(0)


def test_what_a_saved_run_cannot_do_is_said(new_page: Callable[..., Page], server: Server, short_run: str) -> None:
    stage = open_link(new_page(), server, share(server, short_run).id, "#step=2&view=tokens")
    stage.expect_step(2)
    expect(stage.button("Share")).to_have_count(0)
    expect(stage.region("Beam search").get_by_role("status")).to_contain_text("run its prompt again")
    expect(stage.page.get_by_role("button", name=re.compile("^Branch"))).to_have_count(0)
    stage.region("Inspector").get_by_role("button", name="Cache").click()
    expect(stage.region("Why keep K and V")).to_contain_text("run its prompt again")
    expect(stage.page.get_by_role("button", name="Run it without a cache")).to_have_count(0)


def test_run_on_a_link_starts_a_new_run_and_back_returns(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    shared = share(server, short_run, title="Back again", open={"step": 1})
    page = new_page()
    stage = open_link(page, server, shared.id)
    stage.expect_step(1)
    page.wait_for_url(re.compile("#step=1"))
    run = stage.run("The sky is", 2)
    page.wait_for_url(f"{server.url}?run={run}*")
    expect(page.get_by_label("Recorded runs")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Back again")).to_be_visible()
    expect(page.locator(f"html[data-run='{label_of(short_run)}']")).to_be_attached()
    stage.expect_step(1)


def test_without_its_model_a_link_says_what_is_not_stored(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    shared = share(server, short_run)
    page = new_page()
    model = requests.get(f"{server.url}readyz", timeout=60).json()
    model["model"]["sha256"] = "0" * 64
    page.route("**/readyz", lambda route: route.fulfill(body=json.dumps(model), content_type="application/json"))
    stage = open_link(page, server, shared.id, PLACE + "head")
    for view in ("head", "block", "pair", "model"):
        stage.look_at(PLACE + view)
        stage.expect_view(view)
        expect(stage.region("Inspector")).to_contain_text(
            "not stored with this session, and its model does not run here"
        )


def test_a_refusal_by_the_engine_reads_the_same(
    new_page: Callable[..., Page], server: Server, short_run: str, complaints: Complaints
) -> None:
    complaints.allow("status of 409")
    page = new_page()
    problem = '{"title": "Conflict", "status": 409, "detail": "Another model made this run."}'
    page.route(
        "**/head?*", lambda route: route.fulfill(status=409, body=problem, content_type="application/problem+json")
    )
    stage = open_link(page, server, share(server, short_run).id, PLACE + "head")
    expect(stage.region("Inspector")).to_contain_text("not stored with this session")


def test_a_sandboxed_frame_without_storage_shows_the_run(
    new_page: Callable[..., Page], server: Server, short_run: str
) -> None:
    shared = share(server, short_run, title="In a frame", notes=[note(2, "Framed.")], open={"step": 2})
    page = new_page()
    opened = sockets_of(page)

    def host(route: Route) -> None:
        frame = f'<iframe sandbox="allow-scripts" src="/s/{shared.id}" width="1400" height="860"></iframe>'
        route.fulfill(body=frame, content_type="text/html")

    page.route("**/host", host)
    page.goto(f"{server.url}host")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("slider", name="Step", exact=True)).to_have_value("2")
    expect(frame.get_by_role("region", name="Notes")).to_contain_text("Framed.")
    inside = page.frames[1]
    assert (
        inside.evaluate("(() => { try { return String(localStorage) } catch (error) { return error.name } })()")
        == "SecurityError"
    )
    eventually(lambda: colours(frame.get_by_role("region", name="Model map").locator("canvas").first) > 20)
    frame.get_by_role("button", name="Dark theme").click()
    expect(frame.locator("html[data-theme=dark]")).to_be_attached()
    frame.get_by_role("button", name="Next step", exact=True).click()
    expect(frame.get_by_role("slider", name="Step", exact=True)).to_have_value("3")
    expect(frame.get_by_role("button", name="Try your own", exact=True)).to_be_disabled()
    assert opened == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_dialog_and_link_break_no_rule(
    new_page: Callable[..., Page], server: Server, short_run: str, scheme: str, screen: dict[str, Any]
) -> None:
    page = new_page(**screen, color_scheme=scheme, reduced_motion="reduce")
    stage = Stage(page, server).open(short_run, PLACE + "head")
    stage.expect_step(3)
    stage.button("Share").click()
    form = share_dialog(page)
    form.get_by_label("Note on step 3").fill("A note.")
    form.get_by_role("button", name="Add note").click()
    assert violations(page) == []
    form.get_by_role("button", name="Make link").click()
    link = form.get_by_label("Link", exact=True)
    expect(link).to_be_visible()
    assert violations(page) == []
    assert stage.overflow() <= 0
    page.goto(link.input_value())
    stage.expect_step(3)
    expect(stage.region("Notes")).to_contain_text("A note.")
    stage.rest()
    assert violations(page) == []
    assert stage.overflow() <= 0
