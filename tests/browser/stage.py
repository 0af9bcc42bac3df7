"""The page as its viewers know it: by the names of its parts, never by its markup."""

from __future__ import annotations

import re
import time
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.server import Server


def expect_same_text(one: Locator, other: Locator) -> None:
    """Two pages come to show the same. Each draws as its values arrive, so one of them may be later."""
    deadline = time.monotonic() + 10
    while (texts := (one.all_inner_texts(), other.all_inner_texts()))[0] != texts[1] and time.monotonic() < deadline:
        one.page.wait_for_timeout(50)
    assert texts[0] == texts[1]


class Stage:
    """One viewer of one server."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server

    def open(self, run: str | None = None, hash: str = "") -> Stage:
        """The front page, or a run by its link, and wait for a step to look at."""
        self.page.goto(f"{self.server.url}?run={run}{hash}" if run else self.server.url)
        expect(self.page.locator("html[data-run]")).to_be_attached()
        expect(self.chips.first).to_be_visible()
        return self

    def open_finished(self, run: str) -> Stage:
        """A run that has ended, at its first step, at rest."""
        self.open(run, "#step=0")
        self.expect_step(0)
        expect(self.ending).to_be_visible()
        return self

    def type_prompt(self, prompt: str) -> None:
        self.page.get_by_label("Prompt", exact=True).fill(prompt)

    def set_number(self, name: str, value: Any) -> None:
        field = self.page.get_by_role("form", name="New run").get_by_label(name)
        field.fill(str(value))
        field.blur()

    def run(self, prompt: str, new_tokens: int) -> str:
        """Type a prompt, press Run; the id of the run that was started."""
        before = self.run_id
        self.type_prompt(prompt)
        self.set_number("new tokens", new_tokens)
        self.button("Run").click()
        expect(self.page.locator(f"html:not([data-run='{before}'])")).to_be_attached(timeout=60_000)
        expect(self.chips.first).to_be_visible()
        return self.run_id

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
    def chips(self) -> Locator:
        """A button per generated token."""
        return self.region("Timeline").get_by_role("list").get_by_role("button")

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
        return self.page.get_by_role("application", name="Arrow keys choose layer and head")

    @property
    def alert(self) -> Locator:
        return self.page.get_by_role("alert")

    def expect_phase(self, *phases: str) -> None:
        """`loading`, `idle`, `running`, `paused`, `done` or `error`."""
        expect(self.page.locator(", ".join(f"html[data-state={phase}]" for phase in phases))).to_be_attached()

    def expect_step(self, step: int) -> None:
        """The slider leads; the page is shown part by part, and its root says when the last part shows the step."""
        expect(self.slider).to_have_value(str(step))
        expect(self.page.locator(f'html[data-step="{step}"]')).to_be_attached()

    def skip_to_the_end(self) -> None:
        """Without watching the steps go by."""
        expect(self.ending).to_be_visible(timeout=60_000)
        self.button("Last step").click()

    def picture(self, name: str) -> str:
        """What a region's canvas shows, as a data URL."""
        return str(self.region(name).locator("canvas").first.evaluate("canvas => canvas.toDataURL()"))

    def overflow(self) -> int:
        """By how many CSS pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))
