"""What an installation serves: the page as the wheel carries it, bundled, with nothing of the checkout behind it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Page, Request, Response, expect

from kvscope.model.log import frames as codec
from tests.support.pages import NewPage
from tests.support.runs import PLACE
from tests.support.screens import VIEWS
from tests.support.server import Server
from tests.support.stage import PNG_START, Stage
from tests.support.wheel import STATIC

MOST_BYTES = 230_000
"""Of JavaScript that a viewer may have to load, each file gzipped by itself."""
MOST_TO_OPEN = 120_000
"""Of the same, to open the page with its first view."""
FIRST = "head"
"""The view that the page opens with."""
VIEW_CODE = re.compile(r"/chunks/(\w+)-view-\w+\.js$")


@pytest.fixture(scope="module")
def recorded_run(installed: Path) -> str:
    """A run that ships with the project."""
    session = (installed / "kvscope" / "app" / "recordings" / "animal.safetensors").read_bytes()
    return str(codec.raw_header(session)["__metadata__"]["run"])


class Traffic:
    """What a page loads, and what it asks for in vain."""

    def __init__(self, page: Page) -> None:
        self.scripts: dict[str, int] = {}
        """Bytes of JavaScript by address, gzipped."""
        self.failed: list[str] = []
        page.on("response", self._on_response)
        page.on("requestfailed", self._on_failure)

    @property
    def views(self) -> set[str]:
        """Whose code is there."""
        return {found[1] for address in self.scripts if (found := VIEW_CODE.search(address))}

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.failed.append(f"{response.status} {response.url}")
        elif response.request.resource_type == "script":
            self.scripts[response.url] = len(gzip.compress(response.body()))

    def _on_failure(self, request: Request) -> None:
        self.failed.append(f"{request.failure} {request.url}")


def test_the_server_has_the_bundle_and_no_other_module(server: Server, installed: Path) -> None:
    served = requests.get(f"{server.url}static/main.js", timeout=30)
    assert served.content == (installed / "kvscope" / "static" / "main.js").read_bytes()
    assert served.content != (STATIC / "main.js").read_bytes()
    for name in ("stage/state/store.js", "stage/page/app.js", "vendor/preact/dist/preact.mjs"):
        assert (STATIC / name).is_file()
        assert requests.get(f"{server.url}static/{name}", timeout=30).status_code == 404


def test_the_page_opens_with_little_code_and_every_view_adds_its_own(
    server: Server, new_page: NewPage, recorded_run: str
) -> None:
    page = new_page(own=True)
    traffic = Traffic(page)
    stage = Stage(page, server)
    views = [FIRST, *(view for view in VIEWS if view != FIRST)]
    for count, view in enumerate(views, 1):
        with page.expect_response(re.compile(f"/{view}-view-")):
            if count == 1:
                stage.open(recorded_run, PLACE + view)
            else:
                stage.look_at(PLACE + view)
        expect(stage.region("Inspector").get_by_role("heading", level=2).first).to_be_visible()
        stage.rest()
        assert traffic.views == set(views[:count]), "a view's code is loaded when the view is opened, not before"
        if count == 1:
            assert sum(traffic.scripts.values()) <= MOST_TO_OPEN
    assert traffic.failed == []
    assert sum(traffic.scripts.values()) <= MOST_BYTES


def test_a_panel_is_saved_as_a_picture_and_words_are_defined(
    server: Server, new_page: NewPage, recorded_run: str
) -> None:
    """Both need files that the page asks for by itself: a library, fonts, the glossary."""
    page = new_page(own=True)
    traffic = Traffic(page)
    stage = Stage(page, server).open(recorded_run, PLACE + "head")
    expect(stage.matrix).to_be_visible()
    stage.rest()
    before = set(traffic.scripts)
    picture = Path(stage.save("Inspector", "PNG").path()).read_bytes()
    assert picture.startswith(PNG_START)
    # What a panel can be saved as, and the library that draws it.
    assert len(set(traffic.scripts) - before) == 2
    term = stage.region("Model map").get_by_role("button", name="KV cache", exact=True)
    term.hover()
    expect(term).to_have_accessible_description(re.compile("."))
    assert traffic.failed == []
