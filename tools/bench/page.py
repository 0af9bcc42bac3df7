"""`python -m tools.bench.page`: measures the page in Chromium, with the longest run that there can be.

The run is a real one of the default model (30 layers × 9 heads) that ends at 512 positions, served by a checkout. The
size of the page's JavaScript is also that of an installation, where it is bundled and minified. Script time is read
from Chromium's own trace: all of it on the page's main thread, from one animation frame to the next. A task over 50 ms
is what the browser itself reports as a long task.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Request, Response, ViewportSize, sync_playwright

from tests.support.chromium import launched
from tests.support.server import ROOT, Server
from tests.support.stage import Stage
from tests.support.wheel import unpacked_wheel

POSITIONS = 512
NEW_TOKENS = 48
LIVE_TOKENS = 96
SHORT_TOKENS = 12
OPENINGS = 5
CODE_OPENINGS = 10
OPENING_MS = 6000
WINDOW: ViewportSize = {"width": 1440, "height": 900}
WORDS = 270
"""Words of a text with fewer tokens than a prompt may have."""
MAIN_THREAD = "CrRendererMain"
SCRIPT = {
    *("FunctionCall", "EvaluateScript", "FireAnimationFrame", "TimerFire", "EventDispatch", "RunMicrotasks"),
    *("FireIdleCallback", "v8.compile", "MinorGC", "MajorGC"),
}
FRAME = "FireAnimationFrame"
SAME_FRAME_US = 4000
"""Longest gap between callbacks of one animation frame, which follow each other at once."""
ON_PROCESSOR = "  of it on a processor"
VIEWS = ("head", "pair", "block", "model", "tokens", "cache", "time")

WATCH = """
window.longTasks = [];
new PerformanceObserver((list) => window.longTasks.push(...list.getEntries()))
  .observe({type: 'longtask', buffered: true});
window.arrivals = new Map();
window.arrived = [];
window.painted = [];
const Native = window.WebSocket;
window.WebSocket = class extends Native {
  constructor(...parts) {
    super(...parts);
    this.addEventListener('message', ({data}) => {
      if (!(data instanceof ArrayBuffer)) return;
      const at = performance.now();
      const size = Number(new DataView(data).getBigUint64(0, true));
      const meta = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 8, size))).__metadata__;
      if (meta.kind !== 'step') return;
      window.arrivals.set(JSON.parse(meta.data).step, at);
      window.arrived.push(at);
    });
  }
};
document.addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
  const step = Number(document.documentElement.dataset.step);
  const at = window.arrivals.get(step);
  if (at === undefined) return;
  window.arrivals.delete(step);
  requestAnimationFrame(() => setTimeout(() => window.painted.push(performance.now() - at)));
}).observe(document.documentElement, {attributeFilter: ['data-step']}));
"""

AFTER_LOAD = """() => {
  const {loadEventEnd} = performance.getEntriesByType('navigation')[0];
  return window.longTasks.filter(({startTime}) => startTime >= loadEventEnd).map(({duration}) => duration);
}"""

SCRUB = """(passes) => new Promise((done) => {
  const slider = document.querySelector('input[type=range][aria-label=Step]');
  const last = Number(slider.max);
  let at = 0;
  const move = () => {
    slider.value = String(Math.abs(((at + last) % (2 * last)) - last));
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    at += 1;
    if (at > passes * last) done();
    else requestAnimationFrame(move);
  };
  move();
})"""

SLIDE = """(times) => new Promise((done) => {
  const slider = document.querySelector('input[aria-label="What-if temperature"]');
  const took = [];
  const slide = () => {
    if (took.length === times) return done(took);
    const began = performance.now();
    slider.value = String(0.2 + ((took.length * 0.35) % 1.7));
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    requestAnimationFrame(() => requestAnimationFrame(() => {
      took.push(performance.now() - began);
      setTimeout(slide, 60);
    }));
  };
  slide();
})"""


CODE = """() => new Promise((done) => {
  const button = document.querySelector('.opens-code');
  button.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
  setTimeout(() => {
    const began = performance.now();
    button.click();
    const look = () => requestAnimationFrame(() => {
      if (!document.querySelector('.code-line')) return look();
      requestAnimationFrame(() => done(performance.now() - began));
    });
    look();
  }, 150);
})"""
"""The pointer reaches the button 150 ms before the click. The next frame begins once the lines are painted."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution of milliseconds."""

    values: list[float]

    def percentile(self, share: float) -> float:
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def __str__(self) -> str:
        if not self.values:
            return "nothing was measured"
        median, high = statistics.median(self.values), self.percentile(0.95)
        return f"{median:6.1f} {high:8.1f} {max(self.values):8.1f}   of {len(self.values)}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.page", description=__doc__)
    parser.add_argument("--positions", type=int, default=POSITIONS, help="positions of the run when it ends")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        wheel = unpacked_wheel(Path(folder))
        chromium = launched(playwright.chromium)
        with closing(chromium):
            with serving(Path(folder) / "installed", code=wheel) as server:
                report_javascript("as it is installed", chromium, server)
                code_panels(server, chromium)
            with serving(Path(folder) / "checkout") as server:
                report_javascript("of a checkout", chromium, server)
                measure(server, chromium, options.positions)


@contextmanager
def serving(folder: Path, *options: str, **how: Any) -> Iterator[Server]:
    folder.mkdir()
    server = Server(folder, *options, **how)
    try:
        yield server
    finally:
        server.kill()


def measure(server: Server, chromium: Browser, positions: int) -> None:
    server.wait_until_ready()
    run = server.finished_run(prompt_of(server, positions - NEW_TOKENS), max_new_tokens=NEW_TOKENS)
    opened = server.log(run).open
    model, tokens = opened["model"], len(opened["tokens"])
    print(f"run: {model['layers']} layers, {model['heads']} heads, {tokens} + {NEW_TOKENS} tokens")
    print(f"{'':46}median      95%      max   ms")
    for view in VIEWS:
        with visit(chromium, f"{server.url}?run={run}#step=1&layer=13&head=8&view={view}") as page:
            scrubbed = script_per_frame(chromium, page, partial(page.evaluate, SCRUB, 3))
            report_both(f"script per frame, scrubbing, view {view}", scrubbed, page)
    with visit(chromium, f"{server.url}?run={run}#step=1&layer=13&head=8&view=tokens") as page:
        page.get_by_label("What-if temperature").first.wait_for()
        report("temperature slider to painted", Spread(page.evaluate(SLIDE, 40)), page)
    with visit(chromium, f"{server.url}?run={run}#step=1&layer=13&head=8&view=head") as page:
        report_both("script per frame, playing", script_per_frame(chromium, page, lambda: play(page)), page)
    prompt = prompt_of(server, positions - LIVE_TOKENS)
    live_typed(server, chromium, prompt)
    live_linked(server, chromium, prompt)
    memory(server, chromium, run)
    openings("a page with a recorded run, and that run", chromium, lambda: f"{server.url}#view=head")
    openings("a finished run of that length", chromium, lambda: f"{server.url}?run={run}#step=20&view=head")
    openings(
        "a run whose prompt goes through",
        chromium,
        lambda: f"{server.url}?run={server.start_run(prompt, max_new_tokens=SHORT_TOKENS)}",
    )


def code_panels(server: Server, chromium: Browser) -> None:
    """Measures from the click to the painted lines, each time in a page that has not opened the code before."""
    server.wait_until_ready()
    run = server.finished_run(prompt_of(server, SHORT_TOKENS), max_new_tokens=SHORT_TOKENS)
    addresses = {
        "view block": f"?run={run}#step=3&layer=13&head=8&view=block",
        "view head": f"?run={run}#step=3&layer=13&head=8&view=head",
        "by hand": "by-hand/a",
    }
    for what, address in addresses.items():
        took = []
        for _ in range(CODE_OPENINGS):
            context = chromium.new_context(viewport=WINDOW)
            page = context.new_page()
            page.goto(server.url + address)
            page.locator(".opens-code:enabled").wait_for()
            page.wait_for_timeout(2500)
            took.append(page.evaluate(CODE))
            context.close()
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        print(f"{f'opening the code, {what}, ms (load {load})':60}{Spread(took)}")


def openings(what: str, chromium: Browser, begun: Callable[[], str]) -> None:
    """Opens the address that `begun` gives in a browser that has just been started, so nothing is cached. All long
    tasks count from the page's load event on.
    """
    longest = []
    for _ in range(OPENINGS):
        browser = launched(chromium.browser_type)
        page = browser.new_context(viewport=WINDOW).new_page()
        page.add_init_script(WATCH)
        page.goto(begun())
        page.wait_for_timeout(OPENING_MS)
        longest.append(max(page.evaluate(AFTER_LOAD), default=0))
        page.locator("html[data-state=done], html[data-state=paused]").wait_for(timeout=120_000)
        browser.close()
    tasks = ", ".join(f"{length:.0f}" if length else "none" for length in sorted(longest))
    print(f"longest task over 50 ms after load, opening {what}, ms: {tasks}")


def live_typed(server: Server, chromium: Browser, prompt: str) -> None:
    """Measures a run that is started on the page and watched while it decodes, at the newest step."""

    @contextmanager
    def typed() -> Iterator[tuple[Page, Callable[[], None]]]:
        with visit(chromium, f"{server.url}#view=head") as page:
            stage = Stage(page, server)
            shown = stage.run_id
            stage.type_prompt(prompt)
            stage.set_number("new tokens", LIVE_TOKENS)

            def start() -> None:
                stage.button("Run").click()
                page.locator(f"html:not([data-run='{shown}'])").wait_for(state="attached", timeout=120_000)
                follow(page)

            yield page, start

    report_live("decoding live", chromium, typed)


def live_linked(server: Server, chromium: Browser, prompt: str) -> None:
    """Measures a run for a viewer who opens its link during prefill, in a page that has shown nothing before."""

    @contextmanager
    def linked() -> Iterator[tuple[Page, Callable[[], None]]]:
        run = server.start_run(prompt, max_new_tokens=LIVE_TOKENS)
        with visit(chromium, f"{server.url}?run={run}") as page:
            yield page, lambda: follow(page)

    report_live("opened by link while live", chromium, linked)


def follow(page: Page) -> None:
    """Follows the newest step. Does not count the steps that had come before: the page shows them at once."""
    page.get_by_role("button", name="Live", exact=True).click()
    page.evaluate("window.arrivals.clear()")
    page.locator("html[data-state=done]").wait_for(timeout=120_000)


def report_live(
    what: str, chromium: Browser, begun: Callable[[], AbstractContextManager[tuple[Page, Callable[[], None]]]]
) -> None:
    """Prints two runs: one traced, for the script time, and one untraced, since a trace delays and lengthens everything
    else.
    """
    with begun() as (page, act):
        wall, processor = script_per_frame(chromium, page, act)
    print(f"{f'script per frame, {what}':44}{wall}")
    print(f"{ON_PROCESSOR:44}{processor}")
    with begun() as (page, act):
        page.evaluate("window.longTasks.length = window.painted.length = 0")
        act()
        report("step frame received to painted", Spread(page.evaluate("window.painted")), page)


def memory(server: Server, chromium: Browser, run: str) -> None:
    """Measures the page's heap after each of ten visits to the long run, with another run opened between them."""
    with visit(chromium, f"{server.url}?run={run}") as page:
        session = page.context.new_cdp_session(page)
        sizes = []
        for _ in range(10):
            page.get_by_label("Recorded runs").select_option(index=1)
            page.locator(f"html:not([data-run='{run}'])").wait_for(state="attached")
            page.wait_for_timeout(600)
            page.go_back()
            page.locator(f"html[data-run='{run}']").wait_for(state="attached")
            page.wait_for_timeout(1500)
            session.send("HeapProfiler.collectGarbage")
            sizes.append(session.send("Runtime.getHeapUsage")["usedSize"] / 1e6)
        print("heap after each of ten runs, MB: " + " ".join(f"{size:.1f}" for size in sizes))


def play(page: Page) -> None:
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_timeout(6000)


def report(what: str, spread: Spread, page: Page) -> None:
    print(f"{what:44}{spread}   {long_tasks(page)}")


def long_tasks(page: Page) -> str:
    """Returns how many there were since the last call, in words."""
    long = page.evaluate("window.longTasks.splice(0).map(({duration}) => duration)")
    return f"tasks over 50 ms: {len(long)}" + (f" (longest {max(long):.0f} ms)" if long else "")


def report_both(what: str, spreads: tuple[Spread, Spread], page: Page) -> None:
    wall, processor = spreads
    report(what, wall, page)
    print(f"{ON_PROCESSOR:44}{processor}")


@contextmanager
def visit(chromium: Browser, url: str) -> Iterator[Page]:
    """Yields a page that shows the run and has finished loading, the model's answer included. Long tasks of loading are
    dropped.
    """
    context = chromium.new_context(viewport=WINDOW)
    page = context.new_page()
    page.add_init_script(WATCH)
    unanswered: set[Request] = set()
    page.on("request", lambda request: unanswered.add(request))
    page.on("requestfinished", lambda request: unanswered.discard(request))
    page.on("requestfailed", lambda request: unanswered.discard(request))
    page.goto(url)
    page.get_by_role("slider", name="Step", exact=True).wait_for()
    page.wait_for_timeout(2500)
    while unanswered:
        page.wait_for_timeout(100)
    page.evaluate("window.longTasks.length = 0")
    yield page
    context.close()


def script_per_frame(chromium: Browser, page: Page, act: Callable[[], Any]) -> tuple[Spread, Spread]:
    """Returns the script time between animation frames while `act` runs, in ms: by the wall clock, and by the thread's
    clock, which stops while the model or the browser's other processes use the processors.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        chromium.start_tracing(page=page, path=path, categories=["devtools.timeline", "v8"])
        act()
        chromium.stop_tracing()
        calls = page_calls(json.loads(path.read_text())["traceEvents"])
        return Spread(script_ms(calls, "ts", "dur")), Spread(script_ms(calls, "tts", "tdur"))


def page_calls(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns what the page's main thread did in script."""
    mains = {
        (e["pid"], e["tid"]) for e in events if e.get("name") == "thread_name" and e["args"]["name"] == MAIN_THREAD
    }
    calls = [e for e in events if e.get("ph") == "X" and (e["pid"], e["tid"]) in mains and e["name"] in SCRIPT]
    busiest = max(mains, key=lambda thread: sum(e["name"] == FRAME for e in calls if (e["pid"], e["tid"]) == thread))
    return [e for e in calls if (e["pid"], e["tid"]) == busiest and "tts" in e]


def script_ms(calls: list[dict[str, Any]], at: str, length: str) -> list[float]:
    """Returns ms per animation frame, by the clock whose times are under keys `at` and `length`, in microseconds."""
    spans = sorted((call[at], call[at] + call.get(length, 0), call["name"], call["ts"]) for call in calls)
    spent: list[float] = []
    frame_at, end = None, 0
    for start, stop, name, time in spans:
        if name == FRAME and (frame_at is None or time - frame_at > SAME_FRAME_US):
            frame_at = time
            spent.append(0.0)
        if frame_at is not None:  # spans nest: only the part after the ones before counts
            spent[-1] += max(0, stop - max(start, end)) / 1000
        end = max(end, stop)
    return spent


def prompt_of(server: Server, tokens: int) -> str:
    """Returns a prompt of that many tokens, or a few less, from the project's own words."""
    words = (ROOT / "docs" / "frames.md").read_text("utf-8").split()[:WORDS]
    known = server.log(server.finished_run(" ".join(words), max_new_tokens=1)).open["tokens"]
    return "".join(token["text"] for token in known[:tokens])


def report_javascript(whose: str, chromium: Browser, server: Server) -> None:
    """Prints the sizes of the scripts, each gzipped by itself: those that opening the page loads, and those of every
    view.
    """
    context = chromium.new_context()
    page = context.new_page()
    loaded: dict[str, int] = {}

    def keep(response: Response) -> None:
        if response.url.partition("?")[0].endswith((".js", ".mjs")):
            loaded[response.url] = len(gzip.compress(response.body()))

    page.on("response", keep)
    page.goto(f"{server.url}#view=head")
    page.get_by_role("slider", name="Step", exact=True).wait_for()
    page.wait_for_timeout(1500)
    opening = sum(loaded.values())
    for view in VIEWS:
        page.evaluate(f"location.hash = 'view={view}'")
        page.wait_for_timeout(700)
    context.close()
    first, every = (f"{size / 1000:.1f} KB" for size in (opening, sum(loaded.values())))
    print(f"JavaScript {whose}, gzipped: {first} to open the page, {every} with every view")


if __name__ == "__main__":
    main()
