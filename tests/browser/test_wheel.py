"""What an installation serves: the page as the wheel carries it, bundled, with nothing of the checkout behind it."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Page, Request, Response, expect

from kvscope.model.log import frames as codec
from tests.browser.server import Server
from tests.browser.stage import Stage
from tests.browser.test_export import PNG_START, save
from tests.browser.test_export_file import Asked, export, open_file
from tests.browser.test_sharing import share
from tests.test_packaging import STATIC, unpacked_wheel

MOST_BYTES = 180_000
"""Of JavaScript that a viewer may have to load, each file gzipped by itself."""
VIEWS = ("model", "block", "head", "pair", "tokens", "cache", "time")
PLACE = "#step=3&layer=13&head=8&query=8&key=1&view="
VIEW_CODE = re.compile(r"/chunks/(\w+)-view-\w+\.js$")

pytestmark = pytest.mark.timeout(400)  # the build fetches the bundler, and the model is loaded once more


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files."""
    return unpacked_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel_server(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("wheel-server"), code=unpacked)
    server.wait_until_ready()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def recorded_run(unpacked: Path) -> str:
    """A run that ships with the project."""
    session = (unpacked / "kvscope" / "app" / "recordings" / "animal.safetensors").read_bytes()
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


def test_the_server_has_the_bundle_and_no_other_module(wheel_server: Server, unpacked: Path) -> None:
    served = requests.get(f"{wheel_server.url}static/main.js", timeout=30)
    assert served.content == (unpacked / "kvscope" / "app" / "static" / "main.js").read_bytes()
    assert served.content != (STATIC / "main.js").read_bytes()
    for name in ("state/store.js", "page/app.js", "vendor/preact/dist/preact.mjs"):
        assert (STATIC / name).is_file()
        assert requests.get(f"{wheel_server.url}static/{name}", timeout=30).status_code == 404


def test_every_view_opens_and_the_whole_page_is_small(
    wheel_server: Server, new_page: Callable[..., Page], recorded_run: str
) -> None:
    page = new_page()
    traffic = Traffic(page)
    stage = Stage(page, wheel_server)
    for count, view in enumerate(VIEWS, 1):
        with page.expect_response(re.compile(f"/{view}-view-")):
            if count == 1:
                stage.open(recorded_run, PLACE + view)
            else:
                page.evaluate("hash => { location.hash = hash }", PLACE + view)
        expect(stage.region("Inspector").get_by_role("heading", level=2).first).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert traffic.views == set(VIEWS[:count]), "a view's code is loaded when the view is opened, not before"
    assert traffic.failed == []
    assert sum(traffic.scripts.values()) <= MOST_BYTES


def test_a_panel_is_saved_as_a_picture_and_words_are_defined(
    wheel_server: Server, new_page: Callable[..., Page], recorded_run: str
) -> None:
    """Both need files that the page asks for by itself: a library, fonts, the glossary."""
    page = new_page()
    traffic = Traffic(page)
    stage = Stage(page, wheel_server).open(recorded_run, PLACE + "head")
    expect(stage.matrix).to_be_visible()
    page.wait_for_load_state("networkidle")
    before = set(traffic.scripts)
    picture = Path(save(stage, "Inspector", "PNG").path()).read_bytes()
    assert picture.startswith(PNG_START)
    assert len(set(traffic.scripts) - before) == 1
    term = stage.region("Model map").get_by_role("button", name="KV cache", exact=True)
    term.hover()
    expect(term).to_have_accessible_description(re.compile("."))
    assert traffic.failed == []


def test_a_file_that_an_installation_writes_plays_by_itself(
    new_page: Callable[..., Page], wheel_server: Server, recorded_run: str, tmp_path: Path
) -> None:
    """The bundle is written into it, every view included."""
    session = share(wheel_server, recorded_run).id
    page = new_page(offline=True)
    asked = Asked().listen(page)
    file = export(wheel_server, session, tmp_path)
    stage = open_file(page, file, wheel_server, PLACE + "head")
    for view in VIEWS:
        page.evaluate("hash => { location.hash = hash }", PLACE + view)
        expect(stage.region("Inspector")).to_contain_text("Layer 13")
        page.wait_for_timeout(300)
    assert len(asked.urls) == 1
