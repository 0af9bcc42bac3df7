"""The prompt is cut into tokens while it is typed, and a token opens to what was learned of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import requests
from playwright.sync_api import Locator, Page, Route, expect

from tests.support.complaints import Complaints
from tests.support.screens import PHONE, SCHEMES, violations
from tests.support.server import Server
from tests.support.stage import Stage

CATS = 7680
"""The id of " cats"."""


def typed(stage: Stage, run: str, text: str) -> Locator:
    """The tokens of a prompt of one's own."""
    stage.open(run, "#step=1&view=head")
    stage.ask()
    stage.prompt.fill(text)
    return tokens(stage)


def tokens(stage: Stage) -> Locator:
    return stage.region("The prompt as tokens").get_by_role("button")


def said(stage: Stage) -> Locator:
    return stage.region("The prompt as tokens").get_by_role("status")


def texts(found: Locator) -> list[str]:
    return [each.split("\n")[0] for each in found.all_inner_texts()]


def embedding(server: Server, token: int) -> dict[str, Any]:
    told: dict[str, Any] = requests.get(f"{server.url}api/embedding?token={token}", timeout=60).json()
    return told


def test_spaces_new_lines_and_pieces_of_characters_are_seen(stage: Stage, short_run: str) -> None:
    shown = typed(stage, short_run, "Antidisestablishmentarianism  cats\nשלום")
    expect(said(stage)).to_have_text("13 tokens, each with its id. Press one for what was learned of it.")
    pieces = ["Ant", "idis", "establish", "ment", "arianism", "·", "·cats", "⏎", "ש", "ל", "ו", "\\xD7", "\\x9D"]
    assert texts(shown) == pieces
    expect(shown.nth(6)).to_have_accessible_name(f"·cats, id {CATS}: what was learned of it")
    stage.page.get_by_label("chat").check()
    expect(said(stage)).to_contain_text("with the chat template")
    assert "<|im_start|>" in texts(shown)
    assert "".join(texts(shown)).count("establish") == 1


def test_what_cannot_be_cut_is_said(stage: Stage, short_run: str, complaints: Complaints) -> None:
    shown = typed(stage, short_run, "")
    expect(said(stage)).to_have_text("Here the text is cut into tokens, as you type it.")
    stage.prompt.fill("a" * 8193)
    expect(said(stage)).to_have_text("8,193 characters; at most 8,192 are taken.")
    expect(shown).to_have_count(0)
    stage.prompt.fill("a b " * 2048)
    expect(said(stage)).to_contain_text("a prompt may have 512, and so many are shown.")
    expect(shown).to_have_count(512)
    complaints.allow("tokens")
    stage.prompt.evaluate(
        "(e) => { e.value = 'half \\ud83d'; e.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    expect(said(stage)).to_have_text("prompt is not valid Unicode: it has half of a surrogate pair.")


def test_the_newest_answer_wins(stage: Stage, short_run: str) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if not held:
            held.append(route)
        else:
            route.continue_()

    stage.page.route("**/api/tokens", hold)
    with stage.page.expect_request(lambda request: (request.post_data_json or {}).get("prompt") == "one"):
        shown = typed(stage, short_run, "one")
    stage.prompt.fill("one two three")
    expect(shown).to_have_count(3)
    held[0].continue_()
    stage.rest()
    assert texts(shown) == ["one", "·two", "·three"]


def test_by_keyboard_from_the_prompt_to_a_tokens_row_and_its_neighbours(stage: Stage, short_run: str) -> None:
    shown = typed(stage, short_run, "Dogs, cats")
    expect(shown).to_have_count(3)
    stage.page.keyboard.press("Tab")
    for _ in range(3):
        stage.page.keyboard.press("ArrowRight")
    expect(shown.nth(2)).to_be_focused()
    stage.page.keyboard.press("Enter")
    told = embedding(stage.server, CATS)
    dialog = stage.page.get_by_role("dialog", name="·cats token 7,680")
    near = dialog.get_by_role("region", name="Nearest rows").get_by_role("listitem")
    expect(near).to_have_count(len(told["nearest"]))
    cosines = [text.split()[-1] for text in near.all_inner_texts()]
    assert cosines == [f"{each['cosine']:.3f}" for each in told["nearest"]]
    expect(dialog).to_contain_text("[49,152 × 576]")
    expect(dialog).to_contain_text("The LM head is this same table (tied weights)")
    kept = f"{100 * told['plane']['kept']:.1f}\u202f%"
    expect(dialog).to_contain_text("A projection: 576 dimensions drawn in 2, the two along which these 13 rows")
    expect(dialog).to_contain_text(f"It keeps {kept} of their variance")
    expect(dialog.get_by_role("img", name=re.compile("^576 numbers from"))).to_be_visible()
    expect(dialog.get_by_role("img", name="Projection of ·cats and the 12 rows nearest to it")).to_be_visible()
    near.first.get_by_role("button").press("Enter")
    first = told["nearest"][0]
    title = stage.page.get_by_role("heading", name=f"{first['text'].replace(' ', '·')} token {first['id']:,}")
    expect(title).to_be_focused()
    stage.page.get_by_role("button", name="Back to ·cats").click()
    expect(dialog).to_be_visible()
    stage.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(stage.prompt).to_have_value("Dogs, cats")


def test_a_token_of_a_run_opens_in_the_model_view(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=0&view=model").expect_step(0)
    fed = stage.region("Inspector").get_by_role("group", name="Tokens and ids of this step")
    fed.get_by_role("button", name=re.compile("^·animal: its row")).click()
    token = stage.server.log(short_run).open["tokens"][1]
    dialog = stage.page.get_by_role("dialog", name=f"·animal token {token['id']:,}")
    expect(dialog.get_by_role("listitem")).to_have_count(12)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


def test_a_row_that_cannot_be_had_is_said(stage: Stage, short_run: str, complaints: Complaints) -> None:
    complaints.allow("embedding")
    stage.page.route("**/api/embedding?*", lambda route: route.abort())
    typed(stage, short_run, "cats").first.click()
    expect(stage.page.get_by_role("dialog").get_by_role("status")).to_contain_text("Check that it is still running")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_neither_breaks_a_rule(new_page: Callable[..., Page], server: Server, short_run: str, scheme: str) -> None:
    stage = Stage(new_page(color_scheme=scheme, reduced_motion="reduce"), server)
    shown = typed(stage, short_run, "Dogs, cats " * 60)
    expect(shown).not_to_have_count(0)
    assert violations(stage.page) == []
    shown.first.click()
    expect(stage.page.get_by_role("dialog").get_by_role("listitem")).to_have_count(12)
    assert violations(stage.page) == []


def test_on_a_phone_nothing_scrolls_sideways(new_page: Callable[..., Page], server: Server, short_run: str) -> None:
    stage = Stage(new_page(**PHONE), server)
    shown = typed(stage, short_run, "Dogs, cats " * 60)
    expect(shown).not_to_have_count(0)
    expect(stage.button("Run")).to_be_in_viewport()
    fits = "document.documentElement.scrollWidth <= innerWidth"
    assert stage.page.evaluate(fits)
    shown.first.tap()
    dialog = stage.page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem")).to_have_count(12)
    assert stage.page.evaluate(fits)
    assert dialog.evaluate("(e) => e.scrollWidth <= e.clientWidth")
