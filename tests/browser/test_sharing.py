"""Sharing: a run and a moment in it become a link that opens elsewhere, over HTTP alone, and is taken back."""

from __future__ import annotations

import json
import re

import requests
from playwright.sync_api import Locator, Route, expect

from kvscope.app.store.manifest import label_of
from kvscope.model.log.frames import from_stream, relabel
from tests.support.complaints import Complaints
from tests.support.numbers import same_but_for_rounding
from tests.support.pages import NewPage
from tests.support.pixels import colours
from tests.support.runs import HOSTILE, PLACE, note, share
from tests.support.screens import PHONE
from tests.support.server import Server
from tests.support.stage import Stage, expect_same_text, open_link, share_by_dialog, share_dialog
from tests.support.traffic import sockets_of
from tests.support.waiting import eventually
from tools.record.__main__ import recipes


def test_a_shared_moment_opens_from_its_link_in_another_browser(
    stage: Stage, new_page: NewPage, short_run: str
) -> None:
    stage.open(short_run, PLACE + "head").expect_step(3)
    stage.button("Share").click()
    form = share_dialog(stage.page)
    expect(form.get_by_label("Title")).to_have_value("The animal didn't cross the street because it was too")
    form.get_by_label("Title").fill("What “it” means")
    form.get_by_label("Note on step 3").fill("Look at the row of it.")
    form.get_by_role("checkbox", name="Pin it to layer 13, head 8").check()
    form.get_by_role("button", name="Add note").click()
    form.get_by_role("button", name="Make link").click()
    link = form.get_by_label("Link", exact=True)
    expect(link).to_have_value(re.compile(rf"^{stage.server.url}s/[a-z2-7]{{12,}}$"))

    page = new_page()
    opened = sockets_of(page)
    page.goto(link.input_value())
    other = Stage(page, stage.server)
    other.expect_step(3)
    expect(page.get_by_role("heading", name="What “it” means")).to_be_visible()
    pinned = other.region("Notes").get_by_role("button", name="layer 13, head 8")
    expect(pinned).to_have_attribute("aria-pressed", "true")
    page.wait_for_url(re.compile(r"/s/[a-z2-7]+#step=3&layer=13&head=8&query=8&key=1&view=head$"))
    name = "This query and this key"
    expect(other.region(name)).to_contain_text("softmax over 9 keys")
    expect_same_text(other.region(name), stage.region(name), same_but_for_rounding)
    for name in ("KV cache", "Time"):
        expect_same_text(other.region(name), stage.region(name))
    assert opened == []
    run, session = (
        list(from_stream(requests.get(f"{stage.server.url}api/{log}/frames?after=-1", timeout=60).content))
        for log in (f"runs/{short_run}", f"sessions/{link.input_value().rpartition('/')[2]}")
    )
    label = label_of(short_run)
    assert [relabel(payload, label, seq).payload for seq, payload in enumerate(run)] == session != []


def test_sharing_takes_only_the_keyboard_and_loses_nothing_typed(
    new_page: NewPage, server: Server, short_run: str, complaints: Complaints
) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    stage, keys = Stage(page, server), page.keyboard
    stage.open(short_run, "#step=2&layer=3&head=1").expect_step(2)
    stage.button("Share").focus()
    keys.press("Enter")
    form = share_dialog(page)
    form.get_by_label("Note on step 2").focus()
    keys.type("Typed. ")
    keys.press("Escape")
    expect(form).to_be_hidden()
    expect(stage.button("Share")).to_be_focused()
    # What was typed waits, and what is shared is where one has gone meanwhile.
    stage.button("Next step").focus()
    keys.press("Enter")
    stage.expect_step(3)
    stage.button("Share").focus()
    keys.press("Enter")
    expect(form.get_by_label("Note on step 3")).to_have_value("Typed. ")
    complaints.allow("status of 422")
    title = "upside \u202e down"
    form.get_by_label("Title").fill(title)
    keys.press("Enter")
    expect(form.get_by_role("alert")).to_be_visible()
    expect(form.get_by_label("Title")).to_have_value(title)
    form.get_by_label("Title").fill("upright")
    keys.press("Enter")
    link = form.get_by_label("Link", exact=True)
    expect(link).to_be_focused()
    address = link.input_value()
    manifest = requests.get(address.replace("/s/", "/api/sessions/"), timeout=60).json()
    assert manifest["notes"] == [note(3, "Typed.")]
    assert [manifest["open"][name] for name in ("step", "layer", "head")] == [3, 3, 1]
    form.get_by_role("button", name="Copy link").click()
    expect(form.get_by_role("button", name="Copied link")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == address
    form.get_by_role("button", name="Delete this link").click()
    expect(form).to_contain_text("Deleted.")
    complaints.allow("status of 410")
    page.goto(address)
    expect(page.get_by_role("link", name="Open KVScope")).to_be_visible()


def test_notes_are_text_and_lead_from_step_to_step(new_page: NewPage, server: Server, short_run: str) -> None:
    notes = [note(4, "Last.", 20, 2), note(0, HOSTILE), note(4, "Also here.")]
    stage = open_link(new_page(), server, share(server, short_run, title=HOSTILE, notes=notes, open={"step": 0}).id)
    words = stage.region("Notes")
    expect(words).to_contain_text(HOSTILE)
    expect(stage.page.get_by_role("group", name="Shared run")).to_contain_text(HOSTILE)
    assert stage.page.locator("img, [onerror], .page script").count() == 0
    stage.button("Next note").click()
    stage.expect_step(4)
    expect(words.get_by_role("listitem")).to_contain_text(["Last.", "Also here."])
    stage.page.wait_for_url(re.compile("step=4&layer=20&head=2"))
    stage.button("Next note").click()
    expect(words.get_by_role("listitem")).to_contain_text(["Also here.", "Last."])
    expect(stage.button("Next note")).to_have_attribute("aria-disabled", "true")
    stage.button("Previous step").click()
    expect(words).to_contain_text("No note on this step. 3 notes on steps 0 and 4.")


def test_on_a_phone_each_note_is_read_by_itself(new_page: NewPage, server: Server) -> None:
    """Those of one place too, and the selection and the picture go with them."""
    recipe = next(recipe for recipe in recipes() if recipe["name"] == "animal")
    page = new_page(**PHONE)
    page.goto(f"{server.url}gallery")
    page.get_by_role("link", name=recipe["title"], exact=True).click()
    stage = Stage(page, server)
    shown = stage.region("Notes").get_by_role("listitem").filter(visible=True)
    places = ("layer=13&head=8&query=8&key=1", "layer=13&head=8", "layer=21&head=6&query=8", "layer=21&head=6")
    for number, place in enumerate(places, 1):
        expect(shown).to_contain_text([f"{number} of 4"])
        page.wait_for_url(re.compile(rf"#step={recipe['note'][number - 1]['step']}&{place}"))
        if number < 4:
            stage.button("Next note").click()
    expect(stage.button("Next note")).to_have_attribute("aria-disabled", "true")
    stage.button("Previous note").click()
    expect(shown).to_contain_text(["3 of 4"])
    expect(stage.button("Delete…")).to_have_count(0)


def test_a_saved_run_says_what_it_cannot_do_and_a_run_started_from_it_leads_back(
    new_page: NewPage, server: Server, short_run: str
) -> None:
    page = new_page()
    stage = open_link(page, server, share(server, short_run, title="Back again").id, "#step=1&view=tokens")
    stage.expect_step(1)
    expect(stage.button("Share")).to_have_count(0)
    expect(stage.region("Beam search").get_by_role("status")).to_contain_text("Run its prompt again")
    expect(page.get_by_role("button", name=re.compile("^Branch"))).to_have_count(0)
    run = stage.run("The sky is", 2)
    page.wait_for_url(f"{server.url}?run={run}*")
    expect(page.get_by_label("Recorded runs")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Back again")).to_be_visible()
    expect(page.locator(f"html[data-run='{label_of(short_run)}']")).to_be_attached()


def test_without_its_model_a_link_says_what_is_not_stored(
    new_page: NewPage, server: Server, short_run: str, complaints: Complaints
) -> None:
    session, page = share(server, short_run).id, new_page()
    model = requests.get(f"{server.url}readyz", timeout=60).json()
    model["model"]["sha256"] = "0" * 64
    page.route("**/readyz", lambda route: route.fulfill(body=json.dumps(model), content_type="application/json"))
    stage = open_link(page, server, session, PLACE + "head")
    for view in ("block", "pair", "model", "head"):
        stage.look_at(PLACE + view)
        stage.expect_view(view)
        expect(stage.region("Inspector")).to_contain_text("and its model cannot be asked for them here")
    complaints.allow("status of 409")
    problem = '{"title": "Conflict", "status": 409, "detail": "Another model made this run."}'
    refused = {"status": 409, "body": problem, "content_type": "application/problem+json"}
    page.unroute("**/readyz")
    page.route("**/head?*", lambda route: route.fulfill(**refused))
    page.reload()
    expect(stage.region("Inspector")).to_contain_text("not stored with this session")


def test_a_sandboxed_frame_without_storage_shows_the_run(new_page: NewPage, server: Server, short_run: str) -> None:
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
    storage = "(() => { try { return String(localStorage) } catch (error) { return error.name } })()"
    assert page.frames[1].evaluate(storage) == "SecurityError"
    eventually(lambda: colours(frame.get_by_role("region", name="Model map").locator("canvas").first) > 20)
    frame.get_by_role("button", name="Dark theme").click()
    expect(frame.locator("html[data-theme=dark]")).to_be_attached()
    frame.get_by_role("button", name="Next step", exact=True).click()
    expect(frame.get_by_role("slider", name="Step", exact=True)).to_have_value("3")
    expect(frame.get_by_role("button", name="Try your own", exact=True)).to_be_disabled()
    assert opened == []


def ask_to_delete(stage: Stage) -> Locator:
    """The dialog, opened."""
    stage.button("Delete…").click()
    dialog = stage.page.get_by_role("dialog", name="Delete this run")
    expect(dialog.get_by_label("Delete token")).to_be_focused()
    return dialog


def status_of(server: Server, session: str) -> int:
    return requests.get(f"{server.url}api/sessions/{session}", timeout=60).status_code


def test_only_its_token_deletes_a_shared_run_and_the_browser_that_shared_it_has_it(
    new_page: NewPage, server: Server, short_run: str, complaints: Complaints
) -> None:
    complaints.allow("status of (403|410)")
    page = new_page()
    stage = Stage(page, server).open(short_run, "#step=1")
    form = share_by_dialog(stage, "Kept by the browser")
    link, token = (form.get_by_label(name, exact=True).input_value() for name in ("Link", "Delete token"))
    manifest = requests.get(link.replace("/s/", "/api/sessions/"), timeout=60).json()
    other = share(server, short_run, **{word: manifest[word] for word in ("title", "notes", "open")})
    assert link.endswith(other.id)
    page.goto(link)
    dialog = ask_to_delete(stage)
    expect(dialog.get_by_label("Delete token")).to_have_value(token)
    dialog.get_by_role("button", name="Delete it for everybody").click()
    # Somebody else has shared the same run in the same words.
    expect(dialog.get_by_role("status")).to_contain_text("this page stays")
    dialog.get_by_role("button", name="Close").click()
    dialog = ask_to_delete(stage)
    field = dialog.get_by_label("Delete token")
    expect(field).to_have_value("")
    for wrong in ("not-the-token", "schlüssel"):
        field.fill(wrong)
        field.press("Enter")
        expect(dialog.get_by_role("alert")).to_have_text("This is not a delete token of this run. Nothing was deleted.")
        expect(field).to_have_value(wrong)
    assert status_of(server, other.id) == 200
    field.fill(f" {other.delete_token} ")
    dialog.get_by_role("button", name="Delete it for everybody").click()
    expect(page.get_by_role("heading", name="This session was deleted")).to_be_visible()
    assert status_of(server, other.id) == 410
