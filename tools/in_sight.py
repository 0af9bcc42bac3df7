"""`python -m tools.in_sight [LESSON ...]`: what each step of a lesson shows, lessons 1 to 8 by default.

Opens the lessons of this checkout in Chromium. Of each step it prints how many controls are in sight in the picture,
and which terms of the glossary are that neither the lesson nor an earlier one introduces. A last line has the median
and the sum. A term is in sight where its name is written or an element is marked with it. Not read are the text of
canvases and the line that opens what is folded, which only names it. Marks of origin, such as *computed*, are not
counted: all figures have them. Ends with status 1 if a term is untaught.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml
from playwright.sync_api import Frame, Page, sync_playwright

from kvscope.app.paths import STATIC
from tests.support.chromium import launched
from tests.support.server import ROOT, Server, running

LESSONS = ROOT / "kvscope" / "lessons" / "en"
FIRST = 8
SCREEN = {"width": 1440, "height": 900}
ORIGINS = {"measured", "disturbed", "computed", "estimated"}
SETTLES_MS = 1500
"""A step's picture is drawn within this time."""
IN_SIGHT = """() => {
  const inSight = (element, { left, right, top, bottom } = element.getBoundingClientRect()) => {
    let [x0, x1] = [Math.max(0, left), Math.min(innerWidth, right)];
    let [y0, y1] = [Math.max(0, top), Math.min(innerHeight, bottom)];
    for (let around = element.parentElement; around; around = around.parentElement) {
      if (getComputedStyle(around).overflowY === "visible") continue;
      const box = around.getBoundingClientRect();
      [x0, x1] = [Math.max(x0, box.left), Math.min(x1, box.right)];
      [y0, y1] = [Math.max(y0, box.top), Math.min(y1, box.bottom)];
    }
    return x1 - x0 > 2 && y1 - y0 > 2 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
      && !element.closest(".visually-hidden, .focus-rest");
  };
  const all = (selector) => [...document.querySelectorAll(selector)].filter((element) => inSight(element));
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    if (inSight(walker.currentNode.parentElement, range.getBoundingClientRect())) texts.push(walker.currentNode.data);
  }
  const controls = "a[href], button, input, select, textarea, summary, [role=button]";
  return { controls: all(controls).length, marked: all("[data-term]").map((element) => element.dataset.term), texts };
}"""


def introduced(lesson: Path) -> set[str]:
    """Returns the ids of the terms that a lesson explains."""
    return set(yaml.safe_load(lesson.read_text("utf-8").split("---\n")[1]).get("introduces", []))


def terms_in(texts: list[str], names: dict[str, str]) -> set[str]:
    """Returns the ids of the terms whose names are whole words of the texts, also with an s at their end.

    `names`: by id.
    """
    text = "\n".join(texts).lower()
    return {term for term, name in names.items() if re.search(rf"(?<!\w){re.escape(name.lower())}s?(?!\w)", text)}


def steps_of(page: Page) -> Iterator[tuple[int, Frame]]:
    """Goes through the steps of an opened lesson. Yields each with the frame of its picture, once that is drawn."""
    buttons = page.get_by_role("list", name="Steps of the lesson").get_by_role("button")
    for index in range(buttons.count()):
        buttons.nth(index).click()
        page.wait_for_timeout(SETTLES_MS)
        frame = page.locator("iframe.lesson-picture").element_handle().content_frame()
        if frame:
            yield index + 1, frame


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    lessons = sorted(LESSONS.glob("*.md"))
    numbers = range(1, len(lessons) + 1)
    parser.add_argument("lesson", nargs="*", type=int, help=f"number, from 1 to {len(lessons)}")
    chosen = parser.parse_args().lesson or range(1, FIRST + 1)
    if unknown := set(chosen) - set(numbers):
        parser.error(f"no lesson has the number {min(unknown)}")
    glossary = json.loads((STATIC / "shared" / "words" / "glossary.json").read_text("utf-8"))
    names = {term: entry["name"] for term, entry in glossary.items()}
    controls, untaught, known = [], 0, set[str]()
    with tempfile.TemporaryDirectory() as folder, running(Server(Path(folder))) as server, sync_playwright() as tool:
        server.wait_until_ready()
        page = launched(tool.chromium).new_page(viewport=SCREEN)
        for number, path in zip(numbers, lessons, strict=True):
            known |= introduced(path)
            if number not in chosen:
                continue
            page.goto(f"{server.url}learn/{path.stem}")
            for step, frame in steps_of(page):
                seen = frame.evaluate(IN_SIGHT)
                new = sorted((terms_in(seen["texts"], names) | set(seen["marked"])) - known - ORIGINS)
                controls.append(seen["controls"])
                untaught += len(new)
                print(f"lesson {number}, step {step}: {seen['controls']:3} controls  {' '.join(new)}", flush=True)
    print(f"{len(controls)} steps: {statistics.median(controls):g} controls (median), {untaught} untaught terms")
    return untaught > 0


if __name__ == "__main__":
    sys.exit(main())
