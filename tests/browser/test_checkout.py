"""What a checkout serves: the page's modules as they are written, two hundred files with the libraries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.support.pages import NewPage
from tests.support.runs import export, share
from tests.support.screens import VIEWS
from tests.support.server import ROOT, TINY_MODEL, Server, running
from tests.support.stage import Stage, open_file, open_link
from tests.support.wheel import STATIC

PLACE = "#step=3&layer=1&head=2&query=8&key=1&view="


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With a tiny model."""
    with running(Server(tmp_path_factory.mktemp("checkout"), *TINY_MODEL, code=ROOT)) as server:
        server.wait_until_ready()
        yield server


@pytest.fixture(scope="module")
def run(checkout: Server) -> str:
    return checkout.finished_run("The cat sat on", max_new_tokens=6, strategy="sample", temperature=1, seed=3)


def module_names(page: Page, server: Server) -> set[str]:
    """The modules that a page has loaded, by their paths in static/."""
    start = f"{server.url}static/"
    loaded = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    return {name.removeprefix(start) for name in loaded if name.startswith(start) and name.endswith((".js", ".mjs"))}


def test_every_view_opens_from_the_modules_as_they_are(new_page: NewPage, checkout: Server, run: str) -> None:
    page = new_page()
    page.add_init_script("performance.setResourceTimingBufferSize(1000)")
    stage = Stage(page, checkout).open(run, PLACE + VIEWS[0])
    for view in VIEWS:
        stage.look_at(PLACE + view)
        page.wait_for_url(f"**view={view}")
        expect(stage.region("Inspector").get_by_role("heading", level=2).first).to_be_visible()
        stage.rest()
    loaded = module_names(page, checkout)
    assert len(loaded) > 150
    assert {"main.js", "stage/state/store.js", "stage/page/app.js", "vendor/preact/dist/preact.mjs"} <= loaded
    assert requests.get(f"{checkout.url}static/main.js", timeout=30).content == (STATIC / "main.js").read_bytes()


def test_a_link_an_embed_the_gallery_and_a_file_open_from_them(
    new_page: NewPage, checkout: Server, run: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    session = share(checkout, run, title="From a checkout", open={"step": 2}).id
    page = new_page()
    open_link(page, checkout, session).expect_step(2)
    assert "main.js" in module_names(page, checkout)
    page.goto(f"{checkout.url}embed/{session}")
    expect(page.locator("html[data-step='2']")).to_be_attached()
    page.goto(f"{checkout.url}gallery")
    expect(page.locator("canvas").last).to_be_visible()
    assert "gallery.js" in module_names(page, checkout)
    file = export(checkout, session, tmp_path_factory.mktemp("file"))
    for view in VIEWS:
        stage = open_file(page, file, checkout, PLACE + view)
        expect(stage.region("Inspector").get_by_role("heading", level=2).first).to_be_visible()
