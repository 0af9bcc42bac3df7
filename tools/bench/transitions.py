"""`python -m tools.bench.transitions`: measures the frames that the page drops while one view grows into the next.

Each transition of a recorded run is made in Chromium some times, with its code loaded before. A frame counts as dropped
if the page's main thread did not get to it: the animation itself, of transform and opacity only, may still go on. The
time between two frames is first measured on the page at rest.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

from tests.support.chromium import launched
from tests.support.server import Server, running

SCREENS: dict[str, ViewportSize] = {
    "1440 × 900": {"width": 1440, "height": 900},
    "390 × 844": {"width": 390, "height": 844},
}
ADDRESS = "#step=3&layer=13&head=8&view=model"
GOING_IN = ("Layer 13", "Head 8", "Query·key")
PANELS = ("Next token", "Cache", "Time")
SETTLES_MS = 900
WATCH = """
window.transitions = [];
const { play } = Animation.prototype;
Animation.prototype.play = function () {
  if (this.effect.target.className === "zoom-frame") {
    const times = [];
    window.transitions.push(times);
    const end = performance.now() + this.effect.getTiming().duration;
    const note = (time) => {
      times.push(time);
      if (performance.now() < end) requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  }
  return play.call(this);
};
"""
AT_REST = """() => new Promise((done) => {
  const times = [];
  const note = (time) => (times.push(time) < 60 ? requestAnimationFrame(note) : done(times));
  requestAnimationFrame(note);
})"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.transitions", description=__doc__)
    parser.add_argument("--times", type=int, default=10, help="how often each transition is made")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        running(Server(Path(folder))) as server,
    ):
        server.wait_until_ready()
        chromium = launched(playwright.chromium)
        for name, screen in SCREENS.items():
            page = chromium.new_page(viewport=screen)
            page.add_init_script(WATCH)
            page.goto(server.url + ADDRESS)
            page.get_by_role("slider", name="Step", exact=True).wait_for()
            page.wait_for_timeout(3 * SETTLES_MS)
            measure(page, name, options.times)
            page.close()
        chromium.close()


def measure(page: Page, screen: str, times: int) -> None:
    period = statistics.median(gaps(page.evaluate(AT_REST)))
    all_dropped, all_due = 0, 0
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{screen}: {period:.1f} ms a frame at rest, load {load}")
    make(page, 1)
    for name, transitions in make(page, times).items():
        dropped = sum(round(gap / period) - 1 for each in transitions for gap in gaps(each))
        due = sum(round((each[-1] - each[0]) / period) for each in transitions)
        longest = max(gap for each in transitions for gap in gaps(each))
        print(f"  {name:32}{dropped:4} of {due:4}   longest {longest:5.0f} ms")
        all_dropped, all_due = all_dropped + dropped, all_due + due
    print(f"  {'all':32}{all_dropped:4} of {all_due:4}   {100 * all_dropped / all_due:.1f} %")


def make(page: Page, times: int) -> dict[str, list[list[float]]]:
    """Makes each transition `times` times, on a phone without those to the panels.

    Returns the times of their frames, in ms.
    """
    noted: dict[str, list[list[float]]] = {}
    path = page.get_by_role("navigation", name="Zoom")
    panels = [name for name in PANELS if path.get_by_role("button", name=name, exact=True).is_visible()]

    def act(name: str) -> None:
        page.evaluate("window.transitions.length = 0")
        if name.startswith("out of"):
            page.keyboard.press("Escape")
        else:
            path.get_by_role("button", name=name, exact=True).click()
        page.wait_for_timeout(SETTLES_MS)
        noted.setdefault(name, []).extend(page.evaluate("window.transitions"))

    for _ in range(times):
        for name in GOING_IN:
            act(name)
        for name in reversed(GOING_IN):
            act(f"out of {name}")
        for name in panels:
            act(name)
            act("Model")
    return noted


def gaps(times: list[float]) -> list[float]:
    """Returns the time between each two neighbours, in ms."""
    return [after - before for before, after in pairwise(times)]


if __name__ == "__main__":
    main()
