"""The page as its viewers know it: by the names of its parts, never by its markup."""

from __future__ import annotations

import operator
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Download, FloatRect, Frame, Locator, Page, Request, expect

from tests.support.server import Server


def expect_same_text(one: Locator, other: Locator, alike: Callable[[str, str], bool] = operator.eq) -> None:
    """Two pages come to show the same. Each draws as its values arrive, so one of them may be later."""
    deadline = time.monotonic() + 10
    while not (same := all_alike(texts := (one.all_inner_texts(), other.all_inner_texts()), alike)):
        if time.monotonic() > deadline:
            break
        one.page.wait_for_timeout(50)
    assert same, texts


def region(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def field(page: Page, name: str) -> Locator:
    return page.get_by_role("textbox", name=name, exact=True)


def box_of(element: Locator) -> FloatRect:
    """The box of an element that is drawn, in CSS pixels of the window."""
    box = element.bounding_box()
    assert box, element
    return box


def found_in(text: str, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Match[str]:
    found = re.search(pattern, text, flags)
    assert found, text
    return found


def all_alike(texts: tuple[list[str], list[str]], alike: Callable[[str, str], bool]) -> bool:
    return len(texts[0]) == len(texts[1]) and all(map(alike, *texts))


QUIET = """(ms) => new Promise((done) => {
  let timer;
  const look = () => (document.getAnimations().some(({ playState }) => playState === "running") ? wait() : end());
  const wait = () => { clearTimeout(timer); timer = setTimeout(look, ms); };
  const seen = new MutationObserver(wait);
  const end = () => { seen.disconnect(); done(); };
  seen.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  wait();
})"""
QUIET_MS = 250
"""The page asks for exact values once a place has been in sight for 180 ms."""
CRUMBS = {
    "model": "Model",
    "block": re.compile(r"^Layer \d+$"),
    "head": re.compile(r"^Head \d+$"),
    "pair": "Query·key",
    "tokens": "Next token",
    "cache": "Cache",
    "time": "Time",
    "effects": "Effects",
}
"""What the path over the inspector calls each view."""
PAINTED = """async (frames) => {
  const all = () => [...document.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()).join();
  let before;
  do {
    before = all();
    for (let i = 0; i < frames; i += 1) await new Promise(requestAnimationFrame);
  } while (before !== all());
}"""
FRAMES = "async (count) => { for (let i = 0; i < count; i += 1) await new Promise(requestAnimationFrame); }"
STILL_FRAMES = 20
"""In each frame one of nineteen parts is shown, or a painting’s slice, at least (static/shared/painting/queue.js)."""
PNG_START = b"\x89PNG\r\n\x1a\n"


class Rest:
    """Knows when a page is at rest: nothing it asked for is on its way, and nothing in it has changed for a while."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._on_the_way: set[Request] = set()
        self._came = 0
        page.on("request", lambda request: self._on_the_way.add(request))
        page.on("requestfinished", self._on_end)
        page.on("requestfailed", self._on_end)

    def wait(self, frame: Page | Frame | None = None, quiet_ms: int = QUIET_MS) -> None:
        """`frame`: where nothing may change, if not in the page's own."""
        deadline = time.monotonic() + 90
        came = -1
        # What came in the meantime may not be shown yet.
        while self._on_the_way or came != self._came:
            assert time.monotonic() < deadline, [request.url for request in self._on_the_way]
            came = self._came
            (frame or self._page).evaluate(QUIET, quiet_ms)

    def _on_end(self, request: Request) -> None:
        self._on_the_way.discard(request)
        self._came += 1


def open_link(page: Page, server: Server, session: str, hash: str = "") -> Stage:
    """A shared run, by its link."""
    page.goto(f"{server.url}s/{session}{hash}")
    stage = Stage(page, server)
    # It plays as slowly as it was made, on a machine that may have been busy.
    expect(stage.ending).to_be_attached(timeout=60_000)
    return stage


def open_file(page: Page, file: Path, server: Server, hash: str = "") -> Stage:
    """A run saved as a page, from the disk."""
    page.goto(f"{file.as_uri()}{hash}")
    stage = Stage(page, server)
    expect(stage.ending).to_be_attached()
    return stage


def share_dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Share this run")


def share_by_dialog(stage: Stage, title: str) -> Locator:
    """Share the run in sight; the dialog, which has its link."""
    stage.button("Share").click()
    form = share_dialog(stage.page)
    form.get_by_label("Title").fill(title)
    form.get_by_role("button", name="Make link").click()
    return form


class Stage:
    """One viewer of one server."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server
        self._rest = Rest(page)

    def rest(self, quiet_ms: int = QUIET_MS) -> Stage:
        """Until what it shows is all there and stands still."""
        self._rest.wait(quiet_ms=quiet_ms)
        return self

    def still(self) -> Stage:
        """Until nothing has changed for a while, whatever has been asked for."""
        self.page.evaluate(QUIET, QUIET_MS)
        return self

    def frames(self, count: int) -> None:
        """So many animation frames."""
        self.page.evaluate(FRAMES, count)

    def open(self, run: str | None = None, hash: str = "") -> Stage:
        """The front page past its intro, or a run by its link with a step to look at."""
        self.page.goto(f"{self.server.url}?run={run}{hash}" if run else f"{self.server.url}#view=head")
        expect(self.page.locator("html[data-run]")).to_be_attached()
        if run:
            expect(self.words.first).to_be_attached()
        return self

    def open_finished(self, run: str) -> Stage:
        """A run that has ended, at its first step, at rest."""
        self.open(run, "#step=0")
        self.expect_step(0)
        expect(self.ending).to_be_visible()
        return self

    @property
    def prompt(self) -> Locator:
        return self.page.get_by_role("textbox", name="Prompt", exact=True)

    def ask(self) -> None:
        """Open the sheet with the prompt and the settings, unless it is open."""
        if not self.prompt.is_visible():
            self.button("Try your own").click()
            expect(self.prompt).to_be_focused()

    def type_prompt(self, prompt: str) -> None:
        self.ask()
        self.prompt.fill(prompt)

    def set_number(self, name: str, value: Any) -> None:
        if not self.prompt.is_visible():
            self.ask()
        form = self.page.get_by_role("form", name="New run")
        field = form.get_by_label(name)
        if not field.is_visible():
            form.get_by_text("Settings", exact=True).click()
        field.fill(str(value))
        field.blur()

    def run(self, prompt: str, new_tokens: int, speed: str = "4×") -> str:
        """Type a prompt, press Run; the id of the run that was started. It is played at `speed` where there is one."""
        before = self.run_id
        self.play_at(speed)
        self.type_prompt(prompt)
        self.set_number("new tokens", new_tokens)
        self.button("Run").click()
        expect(self.page.locator(f"html:not([data-run='{before}'])")).to_be_attached(timeout=60_000)
        expect(self.words.first).to_be_attached(timeout=60_000)
        return self.run_id

    def play_at(self, speed: str) -> None:
        """Where there is room for the choice."""
        if (choice := self.page.get_by_label("Speed")).is_visible():
            choice.select_option(speed)

    @property
    def run_id(self) -> str:
        return self.page.locator("html").get_attribute("data-run") or ""

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def region(self, name: str) -> Locator:
        return self.page.get_by_role("region", name=name, exact=True)

    @property
    def slider(self) -> Locator:
        return self.page.get_by_role("slider", name="Step", exact=True)

    @property
    def answer(self) -> Locator:
        """The prompt and what came after it, as one text."""
        return self.page.get_by_role("group", name="Prompt and answer", exact=True)

    @property
    def words(self) -> Locator:
        """A piece of the answer per generated token that may be seen."""
        return self.page.get_by_role("group", name="Answer", exact=True).locator("[data-step]")

    @property
    def place(self) -> Locator:
        """Which step is in sight, and which layer of it while it sweeps or is walked."""
        return self.page.get_by_role("status", name="Step and layer", exact=True)

    @property
    def ending(self) -> Locator:
        return self.region("Timeline").get_by_text(
            re.compile("^(limit of new tokens reached|the model ended its answer|stopped|interrupted)$")
        )

    @property
    def matrix(self) -> Locator:
        return self.page.get_by_role("application", name="Arrow keys choose query and key")

    @property
    def map(self) -> Locator:
        return self.page.get_by_role("application", name="The arrow keys select layer and head")

    @property
    def alert(self) -> Locator:
        return self.page.get_by_role("alert")

    def expect_phase(self, *phases: str) -> None:
        """`loading`, `idle`, `running`, `paused`, `done` or `error`."""
        expect(self.page.locator(", ".join(f"html[data-state={phase}]" for phase in phases))).to_be_attached()

    def expect_step(self, step: int) -> Stage:
        """The slider leads; the page is shown part by part, and its root says when the last part shows the step."""
        expect(self.slider).to_have_value(str(step))
        expect(self.page.locator(f'html[data-step="{step}"]')).to_be_attached()
        return self

    def skip_to_the_end(self) -> None:
        """Without watching the steps go by."""
        deadline = time.monotonic() + 60
        ended = self.page.locator("html[data-state=done], html[data-state=error]")
        while not ended.count():
            assert time.monotonic() < deadline
            self.slider.press("End")
            self.page.wait_for_timeout(50)

    def expect_view(self, view: str) -> None:
        """The path over the inspector names the view, and the view is there with a heading."""
        crumb = self.page.get_by_role("navigation", name="Zoom").locator("[aria-current=page]")
        expect(crumb).to_have_text(CRUMBS[view])
        shown = self.region("Inspector").locator(f".view-{view}")
        expect(shown.get_by_role("heading", level=2).first).to_be_visible()

    def painted(self) -> Stage:
        """Until no canvas has changed over a number of animation frames: what was to be painted or to move has been."""
        self.page.evaluate(PAINTED, STILL_FRAMES)
        return self

    def show(self, run: str, place: str) -> Stage:
        """A place in a run: gone to where the page has that run already, opened by its link where not."""
        if self.page.url.startswith(f"{self.server.url}?run={run}"):
            self.look_at(place)
            return self
        return self.open(run, place)

    def at(self, run: str, step: int, view: str, *, layer: int = 13, head: int = 8, more: str = "") -> Locator:
        """A view of a step of a run, gone to; the inspector."""
        self.show(run, f"#step={step}&layer={layer}&head={head}{more}&view={view}").expect_step(step)
        self.expect_view(view)
        return self.region("Inspector")

    def look_at(self, hash: str) -> None:
        """Go to another place in the run that is open, as by its link, without loading the page again."""
        self.page.evaluate("hash => { location.hash = hash }", hash)

    def save(self, panel: str, kind: str) -> Download:
        """A panel, saved from its menu."""
        self.button(f"Save {panel}").click()
        menu = self.page.get_by_role("group", name=f"Save {panel} as")
        with self.page.expect_download() as download:
            menu.get_by_role("button", name=kind).click()
        expect(menu.get_by_role("status")).to_have_text("Saved")
        self.button(f"Save {panel}").click()
        expect(menu).to_have_count(0)
        return download.value

    def picture(self, name: str) -> str:
        """What a region's canvas shows, as a data URL."""
        return str(self.region(name).locator("canvas").first.evaluate("canvas => canvas.toDataURL()"))

    def overflow(self) -> int:
        """By how many CSS pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))
