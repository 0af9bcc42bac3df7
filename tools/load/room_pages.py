"""Real browsers that follow a room: how soon each shows what the presenter shows."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil
from playwright.sync_api import Page, expect, sync_playwright

SIZES = ((1440, 900), (1024, 768), (768, 1024), (390, 844))
NICENESS = 15
RECORDS = """
window.shownPlaces = [];
window.addEventListener("message", ({ data }) => {
  const { type, shown } = data ?? {};
  if (type === "picture") window.shownPlaces.push([Date.now() / 1000, shown.step, shown.layer, shown.head]);
});
"""
"""Keeps when the page in the frame says that it shows another place."""
Place = tuple[int, int, int]
"""Step, layer and head."""


@contextmanager
def following(url: str, code: str, count: int) -> Iterator[list[Page]]:
    """Opens pages that follow a room, in one browser for each size.

    They have a low priority: followers have machines of their own, and must not slow down this one's server.
    """
    with ExitStack() as stack:
        chromium = stack.enter_context(sync_playwright()).chromium
        path, pages = shutil.which("chromium"), list[Page]()
        for number in range(min(count, len(SIZES))):
            browser = chromium.launch(executable_path=path, args=["--no-sandbox"])
            stack.callback(browser.close)
            width, height = SIZES[number]
            for _ in range(number, count, len(SIZES)):
                page = browser.new_page(viewport={"width": width, "height": height})
                page.add_init_script(RECORDS)
                page.goto(f"{url}room/{code}")
                expect(page.frame_locator("iframe").locator("html[data-step]")).to_be_attached(timeout=60_000)
                pages.append(page)
        for process in psutil.Process().children(recursive=True):
            if "chrom" in process.name():
                process.nice(NICENESS)
        yield pages


def delays(pages: list[Page], sent: dict[Place, float]) -> tuple[list[float], int]:
    """Returns the seconds until each page showed each place, sorted, and how many pages do not show the last one.

    `sent`: when each was sent, by `time.time`.
    """
    last, wrong, seconds = max(sent, key=sent.__getitem__), 0, list[float]()
    for page in pages:
        latest = time.monotonic() + 20
        shown: list[tuple[float, int, int, int]] = []
        while (not shown or tuple(shown[-1][1:]) != last) and time.monotonic() < latest:
            shown = page.evaluate("window.shownPlaces")
            page.wait_for_timeout(50)
        wrong += not shown or tuple(shown[-1][1:]) != last
        first = {}
        for at, *place in shown:
            first.setdefault(tuple(place), at)
        seconds += [first[place] - at for place, at in sent.items() if place in first]
    return sorted(seconds), wrong
