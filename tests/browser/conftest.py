"""A server with the real model, and pages that must not complain in the console.

The server is an installed one: the page is bundled there, and opens in half the time of a checkout's 200 modules.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, Page, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage, Pages
from tests.support.runs import SMALL_RUN
from tests.support.screens import PHONE
from tests.support.server import TINY_MODEL, Server, running
from tests.support.stage import Stage
from tests.support.wheel import unpacked_wheel

LESSONS = Path(__file__).resolve().parents[1] / "fixtures" / "lessons"
"""Shown after those that ship."""


@pytest.fixture(scope="session", autouse=True)
def _patience() -> None:
    """The model's steps take their time where others use the processor too."""
    expect.set_options(timeout=40_000)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of an installation, the same for all workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with FileLock(folder / "wheel.lock"):
        if not (folder / "wheel").exists():
            unpacked_wheel(folder / "new").parent.rename(folder / "wheel")
    return folder / "wheel" / "unpacked"


@pytest.fixture(scope="module")
def start_server(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Starts an installed server with options, which ends after the module."""
    with ExitStack() as servers:
        yield lambda *options: servers.enter_context(
            running(Server(tmp_path_factory.mktemp("server"), *options, code=installed))
        )


@pytest.fixture(scope="session")
def _server(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server(tmp_path_factory.mktemp("server"), "--lessons", str(LESSONS), code=installed)) as server:
        yield server


@pytest.fixture(scope="session")
def _tiny(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Server(tmp_path_factory.mktemp("tiny"), *TINY_MODEL, "--model", "endless", code=installed)) as server:
        yield server


@pytest.fixture
def tiny(_tiny: Server, complaints: Complaints) -> Server:
    """One with a tiny model, which is soon back when a test kills it, and for which every recorded run is another's."""
    complaints.allow("status of 409")  # the recorded run that the page begins with is of another model
    _tiny.wait_until_ready()
    return _tiny


@pytest.fixture
def server(_server: Server) -> Server:
    """The server all tests share, its model ready."""
    _server.wait_until_ready()
    return _server


@pytest.fixture(scope="session")
def short_run(_server: Server) -> str:
    """A finished greedy run of 6 tokens."""
    _server.wait_until_ready()
    return _server.finished_run(SMALL_RUN, max_new_tokens=6)


@pytest.fixture(scope="session")
def sampled_run(_server: Server) -> str:
    """A finished run that drew each of 4 tokens from the 3 largest."""
    _server.wait_until_ready()
    settings = {"strategy": "sample", "temperature": 0.8, "top_k": 3, "top_p": 1.0, "seed": 4}
    return _server.finished_run(SMALL_RUN, max_new_tokens=4, **settings)


@pytest.fixture(scope="session")
def _complaints() -> Complaints:
    return Complaints()


@pytest.fixture(scope="session")
def _pages(browser: Browser, _complaints: Complaints) -> Pages:
    return Pages(browser, _complaints)


@pytest.fixture(autouse=True)
def complaints(_complaints: Complaints) -> Iterator[Complaints]:
    """No test ends well if a page complained."""
    _complaints.forget()
    yield _complaints
    assert _complaints.heard == []


@pytest.fixture
def new_page(_pages: Pages, complaints: Complaints) -> Iterator[NewPage]:
    """Opens a page that knows of no other; options are those of `browser.new_context`, and see `Pages`."""
    yield _pages.new
    _pages.take_back()


@pytest.fixture
def visit(new_page: NewPage, server: Server) -> NewPage:
    """Opens an address of the server; options are those of `new_page`."""

    def open_it(address: str, **options: Any) -> Page:
        page = new_page(**options)
        page.goto(f"{server.url}{address}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        return page

    return open_it


@pytest.fixture
def stage(new_page: NewPage, server: Server) -> Stage:
    """A viewer at a desktop, whose server has its model ready."""
    return Stage(new_page(), server)


@pytest.fixture
def phone(new_page: NewPage, server: Server) -> Stage:
    """A viewer with a phone."""
    return Stage(new_page(**PHONE), server)
