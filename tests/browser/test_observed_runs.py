"""Runs that another program computed: every view shows what is there, and says what is not."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import kvscope
from tests.support.modules import module_of, tokenizer
from tests.support.pages import NewPage
from tests.support.written import missing_values, written_out

PROMPT = "in the end of the night"
VIEWS = ("Model", "Layer", "Head", "Query·key", "Next token", "Cache", "Time", "Effects")
LACKS = re.compile("another program computed")


def attention_alone() -> kvscope.Run:
    ids = tokenizer()(PROMPT)["input_ids"]
    weights = np.tril(np.ones((2, 4, len(ids), len(ids))))
    weights /= weights.sum(-1, keepdims=True)
    logits = np.linspace(-1, 1, 263)
    return kvscope.from_cache({"attention": weights}, tokens=ids, logits=logits, tokenizer=tokenizer())


RUNS = {
    "module": lambda: kvscope.run(PROMPT, module_of("starcoder2"), tokenizer=tokenizer(), max_new_tokens=3),
    "attention alone": attention_alone,
}


@pytest.fixture(scope="module", params=RUNS)
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page that a notebook shows, which plays by itself."""
    shown = re.search(r'srcdoc="(.*)"', RUNS[request.param]()._repr_html_(), re.DOTALL)
    assert shown
    path = tmp_path_factory.mktemp("observed") / f"{request.param}.html"
    path.write_text(unescape(shown[1]), "utf-8")
    return path


@pytest.fixture
def page(file: Path, new_page: NewPage) -> Page:
    page = new_page(reduced_motion="reduce")
    page.goto(file.as_uri())
    return page


def opened(page: Page, view: str) -> None:
    page.locator(".inspector").get_by_role("button", name=re.compile(f"^{view.split('·')[0]}")).first.click()
    expect(page.locator(".inspector")).not_to_contain_text("Loading")


def test_no_view_writes_out_what_is_not_there(page: Page) -> None:
    for view in VIEWS:
        opened(page, view)
        assert missing_values(written_out(page)) == [], view


def test_views_say_what_the_log_lacks_and_show_the_rest(page: Page, file: Path) -> None:
    whole = file.stem == "module"
    expect(page.get_by_role("group", name="Model")).to_contain_text("Starcoder2For" if whole else "another program")
    opened(page, "Head")
    expect(page.locator(".matrix-cells canvas")).to_be_visible()
    for card in ("KV cache", "Time"):
        there = page.get_by_role("region", name=card, exact=True)
        expect(there).to_contain_text(re.compile(r"\d") if whole else LACKS)
    for view in ("Layer", "Effects"):
        opened(page, view)
        expect(page.locator(".inspector .empty")).to_contain_text("computed the run")
