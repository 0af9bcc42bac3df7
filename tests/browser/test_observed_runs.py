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


def of_arrays(*names: str) -> kvscope.Run:
    """A run of its attention weights and these other arrays."""
    ids = tokenizer()(PROMPT)["input_ids"]
    weights = np.tril(np.ones((2, 4, len(ids), len(ids))))
    weights /= weights.sum(-1, keepdims=True)
    rows = np.random.default_rng(0).standard_normal((2, 4, len(ids), 8))
    arrays = {"attention": weights, **dict.fromkeys(names, rows)}
    return kvscope.from_cache(arrays, tokens=ids, logits=np.linspace(-1, 1, 263), tokenizer=tokenizer())


RUNS = {
    "module": lambda: kvscope.run(PROMPT, module_of("starcoder2"), tokenizer=tokenizer(), max_new_tokens=3),
    "attention alone": of_arrays,
    "attention, K and V": lambda: of_arrays("k", "v"),
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


def test_each_view_shows_what_is_there_and_says_what_the_log_lacks(page: Page, file: Path) -> None:
    whole, inspector = file.stem == "module", page.locator(".inspector")
    expect(page.get_by_role("group", name="Model")).to_contain_text("Starcoder2For" if whole else "another program")
    there = {"KV cache": file.stem != "attention alone", "Time": whole}
    for card, is_there in there.items():
        region = page.get_by_role("region", name=card, exact=True)
        expect(region).to_contain_text(re.compile(r"\d") if is_there else LACKS)
    for view in VIEWS:
        inspector.get_by_role("button", name=re.compile(f"^{view.split('·')[0]}")).first.click()
        expect(inspector).not_to_contain_text("Loading")
        assert missing_values(written_out(page)) == [], view
        if view == "Model":
            expect(inspector.locator(".guess-words")).to_contain_text("After each layer" if whole else "did not return")
        if view == "Head":
            expect(inspector.locator(".matrix-cells canvas")).to_be_visible()
        if view in ("Layer", "Effects"):
            expect(inspector.locator(".empty")).to_contain_text("computed the run")
