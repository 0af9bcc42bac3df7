"""`python -m tools.bench.browser`: measures the model in a visitor's browser, on a static site shown in Chromium.

Times are from the click on *Run* to the arrival of frames in the page, which shows each of them meanwhile. Memory is
what the page's process holds alone: for the first visit with what the download left, which the browser frees when it
needs room.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from kvscope.app.settings import Settings
from kvscope.app.site.build import Options, build_site
from tests.support.chromium import launched
from tests.support.file_server import serving_files

SHORT = "The capital of France is Paris and the capital of Italy"
WORDS = "The quick brown fox jumps over the lazy dog near the river bank, then it runs away from the old farm. "
LONG = WORDS * 9
STORY = "Once upon a time there was a"
LINE = 100e6 / 8
"""Bytes a second of the emulated connection; its latency is 20 ms."""
IDLE_MS = 3000
WATCH = """
window.longTasks = [];
new PerformanceObserver((list) => window.longTasks.push(...list.getEntries()))
  .observe({type: 'longtask', buffered: true});
window.arrived = [];
const Native = window.Worker;
window.Worker = class extends Native {
  constructor(...parts) {
    super(...parts);
    this.addEventListener('message', ({data}) => {
      for (const bytes of data.frames?.payloads ?? []) {
        const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
        const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))).__metadata__;
        if (header.kind === 'step') window.arrived.push(performance.now());
      }
    });
  }
};
"""
RUN = """async ([prompt, tokens, limit]) => {
  const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));
  const put = (field, value) => {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, value);
    for (const kind of ['input', 'change', 'blur']) field.dispatchEvent(new Event(kind, {bubbles: true}));
  };
  while (!document.querySelector('form textarea')) {
    document.querySelector('#ask')?.click();
    await sleep(100);
  }
  put(document.querySelector('form textarea'), prompt);
  const named = [...document.querySelectorAll('form label')].find((label) => label.textContent.includes('new tokens'));
  put(named.control, String(tokens));
  await sleep(1500);
  window.arrived.length = window.longTasks.length = 0;
  const clicked = performance.now();
  document.querySelector('form .run-button').click();
  for (let before = -1; window.arrived.length < tokens; ) {
    const count = window.arrived.length;
    if (count > 0 && count === before) break;  // the model ended its answer
    before = count;
    await sleep(count ? limit : 100);
  }
  const tasks = window.longTasks.map(({duration}) => duration);
  return {times: window.arrived.map((at) => at - clicked), tasks};
}"""
"""Returns when each step arrived. `limit`: ms without a step after which the answer has ended."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.browser", description=__doc__)
    parser.add_argument("--model", default=None, help="as of `kvscope site`")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        build_site(Settings(), Path(folder) / "site", Options(engine=True, model=options.model), print)
        with serving_files(Path(folder)) as url:
            chromium = launched(playwright.chromium)
            visits(chromium, f"{url}site/index.html")
            chromium.close()


def visits(chromium: Browser, address: str) -> None:
    """Measures a first visit over the emulated connection, and a second one with the model in the browser's storage."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    first = opened(context, address)
    first.context.new_cdp_session(first).send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": 20, "downloadThroughput": LINE, "uploadThroughput": LINE},
    )
    report("first visit, 100 Mbit/s", first, SHORT, 32)
    first.close()
    page = opened(context, address)
    report("second visit", page, SHORT, 32)
    report("11 tokens", page, SHORT + " is", 64)
    report("200 tokens", page, LONG, 32)
    for _ in range(3):
        report("256 new tokens", page, STORY, 256)


def opened(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(WATCH)
    page.goto(address)
    page.wait_for_timeout(IDLE_MS)
    engine = [url for url in asked if "/engine/" in url]
    print(f"requests of the engine before a run: {len(engine)}; memory {memory(page)} MB")
    return page


def report(what: str, page: Page, prompt: str, tokens: int) -> None:
    measured: dict[str, Any] = page.evaluate(RUN, [prompt, tokens, IDLE_MS])
    times = measured["times"]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    tasks = f"{len(measured['tasks'])} tasks over 50 ms, longest {max(measured['tasks'], default=0):.0f}"
    speed = f"{statistics.median(gaps):.1f} ms a token ({1000 / statistics.mean(gaps):.1f} tokens/s)"
    print(f"{what:26}first token {times[0]:6.0f} ms, then {speed} x {len(gaps)}; {tasks}; {memory(page)} MB")


def memory(page: Page) -> int:
    """Returns the memory that the page's process has alone, in MB: of all processes for pages, the largest."""
    session = page.context.browser.new_browser_cdp_session()  # type: ignore[union-attr]
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    pages = [psutil.Process(each["id"]) for each in processes if each["type"] == "renderer"]
    return round(max(process.memory_full_info().uss for process in pages) / 1e6)


if __name__ == "__main__":
    print("load " + ", ".join(f"{each:.1f}" for each in os.getloadavg()))
    main()
