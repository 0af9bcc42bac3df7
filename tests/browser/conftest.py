"""A server with the real model, and pages that must not complain in the console."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.complaints import Complaints
from tests.browser.server import Server
from tests.browser.stage import Stage

SMALL_RUN = "The animal didn't cross the street because it was too"


@pytest.fixture(scope="session", autouse=True)
def _patience() -> None:
    """The model's steps take their time where others use the processor too."""
    expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.kill()


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


@pytest.fixture(autouse=True)
def complaints() -> Iterator[Complaints]:
    """No test ends well if a page complained."""
    complaints = Complaints()
    yield complaints
    assert complaints.heard == []


@pytest.fixture
def new_page(browser: Browser, complaints: Complaints) -> Iterator[Callable[..., Page]]:
    """Opens a page in a context of its own; options are those of `browser.new_context`."""
    contexts: list[BrowserContext] = []

    def make(**options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        complaints.listen(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def stage(new_page: Callable[..., Page], server: Server) -> Stage:
    """A viewer at a desktop, whose server has its model ready."""
    return Stage(new_page(), server)
