"""`python -m tools.bench.serving_page`: measures the Serving page for two viewers who request fifteen answers each, and
while a workload of many requests is computed and replayed.

Then measures the memory after as many requests as come in an hour. Script time is read from Chromium's trace, as in
`tools.bench.page`.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from tests.support.chromium import launched
from tests.support.server import Server
from tools.bench.page import ON_PROCESSOR, WATCH, WINDOW, long_tasks, report, script_per_frame, serving

PEOPLE = 15
AN_HOUR = 60
"""Workloads in an hour if a viewer presses Run once a minute."""
MANY = 500
"""Requests of the workload that is watched; two of its three prompts are short."""
WORDS = ("The sky is", "Name three colours.", "The quick brown fox jumps over the lazy dog near the river bank. " * 6)
PLAYED_MS = 20_000
MB = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.serving_page", description=__doc__)
    parser.add_argument("--workloads", type=int, default=AN_HOUR, help="how many go through before memory is told")
    parser.add_argument("--requests", type=int, default=MANY, help="of the workload that is watched")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        serving(Path(folder) / "data") as server,
    ):
        server.wait_until_ready()
        together(server, playwright)
        many(server, playwright, options.requests)
        memory(server, playwright, options.workloads)


def opened(browser: Browser, server: Server) -> Page:
    """Opens the Serving page, set to as many requests as one page of this bench sends."""
    page = browser.new_context(viewport=WINDOW).new_page()
    page.add_init_script(WATCH)
    page.goto(f"{server.url}serving")
    page.get_by_role("textbox", name="Requests", exact=True).fill(str(PEOPLE))
    page.wait_for_timeout(1000)
    page.evaluate("window.longTasks.length = 0")
    return page


def ask(page: Page) -> None:
    page.get_by_role("button", name="Run", exact=True).click()


def answered(page: Page) -> None:
    page.get_by_text(f"All {PEOPLE} requests are done").wait_for(timeout=300_000)


def together(server: Server, playwright: Playwright) -> None:
    """Measures the script time of one of two browsers while both are answered."""
    with closing(launched(playwright.chromium)) as one, closing(launched(playwright.chromium)) as other:
        watched, beside = opened(one, server), opened(other, server)

        def act() -> None:
            ask(beside)
            ask(watched)
            answered(watched)

        wall, processor = script_per_frame(one, watched, act)
        print(f"{'':46}median      95%      max   ms")
        report(f"script per frame, two times {PEOPLE} requests", wall, watched)
        print(f"{ON_PROCESSOR:44}{processor}")
        answered(beside)
        scrubbed, _ = script_per_frame(one, watched, partial(scrub, watched))
        report("script per frame, scrubbing what was recorded", scrubbed, watched)


def many(server: Server, playwright: Playwright, requests: int) -> None:
    """Measures the page while it shows a workload of so many requests, live and from its start again."""
    asked = [{"prompt": WORDS[at % 3], "max_new_tokens": 8, "arrives_ms": 20 * at} for at in range(requests)]
    with closing(launched(playwright.chromium)) as browser:
        page = opened(browser, server)
        run = server.start_workload(requests=asked, rounds=[{"at_once": 16}])
        page.goto(f"{server.url}serving?run={run}")
        page.get_by_role("slider", name="Pass", exact=True).wait_for()
        page.evaluate("window.longTasks.length = 0")
        done = page.get_by_role("heading", name=f"{requests} of {requests} requests answered in this round")
        done.wait_for(timeout=600_000)
        print(f"{f'{requests} requests live':44}{long_tasks(page)}")
        scrub(page)
        print(f"{'scrubbing what was recorded':44}{long_tasks(page)}")
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_timeout(PLAYED_MS)
        print(f"{'replaying it':44}{long_tasks(page)}")


def scrub(page: Page) -> None:
    slider = page.get_by_role("slider", name="Pass", exact=True)
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(120):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(25)


def memory(server: Server, playwright: Playwright, workloads: int) -> None:
    """Measures the engine's memory and a page's heap, before and after."""
    with closing(launched(playwright.chromium)) as browser:
        page = opened(browser, server)
        session = page.context.new_cdp_session(page)
        for number in range(workloads + 1):
            if number:
                page.get_by_role("button", name="Run again" if number > 1 else "Run", exact=True).click()
                page.wait_for_timeout(500)
                answered(page)
            if number in (0, 1, workloads // 2, workloads):
                session.send("HeapProfiler.collectGarbage")
                heap = session.send("Runtime.getHeapUsage")["usedSize"] / MB
                told = f"engine {server.engine_bytes / MB:6.0f} MB, page {heap:5.1f} MB"
                print(f"after {number:3} workloads of {PEOPLE}: {told}")


if __name__ == "__main__":
    main()
