"""`python -m tools.record.screens FOLDER`: takes pictures of every page, on a phone and a desktop, light and dark.

Each picture has what is visible first and, if a page is longer than the window, the whole page beside it.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.chromium import launched
from tests.support.runs import PLACE, SMALL_RUN, WORDS, share
from tests.support.screens import DESKTOP, PHONE, SCHEMES, VIEWS
from tests.support.server import Server

SIZES = {"desktop": DESKTOP, "phone": PHONE}
SETTLING_MS = 1500
"""Time in which a page fetches the rest and animations end."""
TOUR_MOMENTS = 5
"""Moments after which the intro's picture is taken: a decode step."""
SCROLLED = """async () => {
  for (let top = 0; top < document.documentElement.scrollHeight; top += innerHeight) {
    scrollTo(0, top);
    await new Promise((done) => setTimeout(done, 120));
  }
  scrollTo(0, 0);
}"""


def addresses(server: Server) -> dict[str, str]:
    """Returns the addresses of every page and every zoom of the Stage, by the name of its picture."""
    run = server.finished_run(SMALL_RUN, max_new_tokens=6)
    session = share(server, run, **WORDS).id
    stage = {f"stage-{view}": f"?run={run}{PLACE}{view}" for view in VIEWS}
    return {
        "first-visit": "",
        "tour": f"?run={run}#view=intro",
        "stage-map": f"?run={run}#step=3",
        **stage,
        "by-hand-a": "by-hand/a",
        "by-hand-b": "by-hand/b",
        "memory": "memory",
        "serving": "serving",
        "gallery": "gallery",
        "session": f"s/{session}",
        "embed": f"embed/{session}",
        "missing": "s/aaaaaaaaaaaaaaaaaaaaaaaaaa",
    }


def take(page: Page, address: str, path: Path) -> None:
    """Takes a picture of what is visible, and of the whole page if it is longer."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(SETTLING_MS)
    for _ in range(TOUR_MOMENTS if path.name.startswith("tour") else 0):
        page.keyboard.press("ArrowRight")
    page.screenshot(path=path)
    if page.evaluate("document.documentElement.scrollHeight > innerHeight"):
        # Parts that are drawn once they are visible are drawn then.
        page.evaluate(SCROLLED)
        page.wait_for_timeout(SETTLING_MS)
        page.screenshot(path=path.with_stem(f"{path.stem}-whole"), full_page=True)


def take_all(browser: Browser, server: Server, folder: Path, only: str) -> None:
    named = {name: path for name, path in addresses(server).items() if only in name}
    for (size, screen), scheme in itertools.product(SIZES.items(), SCHEMES):
        context = browser.new_context(**screen, color_scheme=scheme)
        for name, path in named.items():
            page = context.new_page()
            take(page, server.url + path, folder / f"{name}-{size}-{scheme}.png")
            page.close()
        context.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.record.screens", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="pages whose name has this in it")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        server = Server(Path(data))
        browser = launched(playwright.chromium)
        try:
            server.wait_until_ready()
            take_all(browser, server, asked.folder, asked.only)
        finally:
            browser.close()
            server.kill()


if __name__ == "__main__":
    main()
