"""A static site of an installation: from a plain file server below a path, in a sandboxed frame and from a disk, every
kind of page plays, and asks for nothing that is not in the site.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Frame, Page, expect

from kvscope.app.settings import Settings
from tests.support.file_server import serving_files
from tests.support.pages import NewPage
from tests.support.places import PLACES, open_at
from tests.support.runs import WORDS, share
from tests.support.screens import PHONE, flaws, violations
from tests.support.server import Server
from tests.support.traffic import Asked
from tests.support.waiting import until

BELOW = "some/where/kv/"
ELSEWHERE = "https://kv.example/"
"""Where visitors of the site may run their own prompts."""
TITLE = "A session of the site"
"""Of no other test: the site has the sessions that those have saved on the same server."""
Check = Callable[[Frame], None]


@dataclass(frozen=True)
class Site:
    """`folder`: its files; `url`: where they are served; `session`: one with exact values."""

    folder: Path
    url: str
    session: str

    def open(self, page: Page, file: str, place: str) -> Frame:
        """The frame that shows a file of the site at one of PLACES."""
        return open_at(place, page, self.folder, self.url, file)


@pytest.fixture(scope="module")
def site(_server: Server, short_run: str, installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Written while the server is at work on the same data."""
    session = share(_server, short_run, **WORDS | {"title": TITLE}, values="block").id
    root = tmp_path_factory.mktemp("site")
    folder = root / BELOW
    command = [sys.executable, "-m", "kvscope", "--data", str(_server.data), "site", str(folder), "--server", ELSEWHERE]
    env = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=installed, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with serving_files(root) as url:
        yield Site(folder, f"{url}{BELOW}", session)


def stage(frame: Frame, opens: int = 3) -> None:
    root = frame.locator("html[data-state=paused]")
    expect(root).to_have_attribute("data-step", str(opens))
    frame.get_by_role("button", name="Next step", exact=True).click()
    expect(root).to_have_attribute("data-step", str(opens + 1))
    frame.get_by_role("button", name="Play", exact=True).click()
    expect(frame.locator("html")).not_to_have_attribute("data-step", str(opens + 1))


def workload(frame: Frame) -> None:
    expect(frame.get_by_text("pass 9 of 41", exact=True)).to_be_visible()
    frame.get_by_role("button", name="Next pass", exact=True).click()
    expect(frame.get_by_text("pass 10 of 41", exact=True)).to_be_visible()


def lesson(frame: Frame) -> None:
    heading = frame.locator("article h1, article h2").first
    picture = frame.frame_locator("iframe.lesson-picture")
    expect(picture.locator("html")).to_have_attribute("data-state", re.compile("paused|done"))
    # *Next* may wait for an answer, and a lesson opens at the step of the visit before.
    frame.get_by_role("button", name="Step 4", exact=True).click()
    expect(frame.get_by_text("step 4 of 6")).to_be_visible()
    fourth = heading.inner_text()
    frame.get_by_role("button", name="Step 2", exact=True).click()
    expect(heading).not_to_have_text(fourth)


def says(*texts: str | re.Pattern[str]) -> Check:
    def check(frame: Frame) -> None:
        for text in texts:
            expect(frame.get_by_text(text).first).to_be_visible()

    return check


def memory(frame: Frame) -> None:
    expect(frame.get_by_role("heading", name="How many tokens fit?")).to_be_visible()
    figure = frame.get_by_role("figure", name="Roofline")
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".js-plotly-plot")).to_be_visible()


def gallery(frame: Frame) -> None:
    expect(frame.locator(".card canvas")).to_have_count(len(list(Settings().recordings_dir.glob("*.safetensors"))))


def loop(frame: Frame) -> None:
    expect(frame.get_by_role("region", name="Counted and computed rows")).to_contain_text("with the cache")


def kinds(site: Site) -> dict[str, Check]:
    """A file of each kind of page, and how it is known to work."""
    lessons = "learn/01-what-is-a-token.html"
    by_hand = says("Check attention with a pencil", "Attention weight from “sat” to “cat”")
    no_model = says(re.compile("No model runs here|only what was recorded"))
    return {
        "index.html": partial(stage, opens=0),
        f"s/{site.session}.html": stage,
        f"embed/{site.session}.html": stage,
        "serving.html": workload,
        "embed/serving.html": workload,
        lessons: lesson,
        f"embed/{lessons}": lesson,
        "learn.html": says("What is a token?"),
        "learn/loop.html": loop,
        "learn/formulas.html": says("Formulas with the numbers of SmolLM2-135M-Instruct"),
        "learn/figures.html": says("1.31 GB"),
        "learn/reference.html": says("SmolLM2-135M-Instruct"),
        "learn/words.html": no_model,
        "learn/state.html": no_model,
        "by-hand/a.html": by_hand,
        "embed/by-hand/a.html": by_hand,
        "memory.html": memory,
        "embed/memory.html": memory,
        "gallery.html": gallery,
    }


@pytest.mark.parametrize("place", PLACES)
def test_every_kind_of_page_plays_and_asks_for_nothing_else(new_page: NewPage, site: Site, place: str) -> None:
    page = new_page()
    asked = Asked().listen(page)
    for file, check in kinds(site).items():
        check(site.open(page, file, place))
    assert len(asked.urls) > 50
    inside = site.folder.as_uri() if place == "disk" else site.url
    assert [url for url in asked.urls if not url.startswith(inside)] == []
    assert {Path(url.partition("?")[0]).suffix for url in asked.urls} <= {".html", ".js", ".css", ".svg", ".png"}


def test_stored_exact_values_are_shown_and_what_is_not_stored_is_said(new_page: NewPage, site: Site) -> None:
    page = new_page()
    site.open(page, f"s/{site.session}.html", "server")
    inspector = page.get_by_role("region", name="Inspector")
    expect(inspector).not_to_contain_text("error up to")
    expect(inspector).to_contain_text("looks at")
    site.open(page, "index.html#step=0&layer=12&head=8&view=head", "server")
    expect(inspector).to_contain_text("Exact values are not stored")


def test_a_recording_shows_the_exact_values_of_the_layer_that_lessons_open(new_page: NewPage, site: Site) -> None:
    page = new_page()
    inspector = page.get_by_role("region", name="Inspector")
    for place in ("step=3&layer=13&head=8&view=block", "step=0&layer=13&head=8&query=8&view=block"):
        site.open(page, f"index.html#{place}", "server")
        expect(inspector).to_contain_text("These values are stored with this session")
    site.open(page, "index.html#step=3&layer=13&head=8&view=head", "server")
    expect(inspector).to_contain_text("looks at")
    expect(inspector).not_to_contain_text("Exact values are not stored")


def test_the_search_leads_to_pages_of_the_site(new_page: NewPage, site: Site) -> None:
    page = new_page()
    loop(site.open(page, "learn/loop.html", "disk"))
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search").fill(TITLE)
    option = page.get_by_role("option").first
    expect(option).to_contain_text(TITLE)
    option.click()
    expect(page.locator("html[data-step='3']")).to_be_attached()
    assert page.url.startswith(f"{site.folder.as_uri()}/s/{site.session}.html")


def test_a_page_from_a_disk_leads_to_the_others(new_page: NewPage, site: Site) -> None:
    page = new_page()
    site.open(page, "index.html", "disk")
    page.get_by_role("button", name="Pages").click()
    page.get_by_role("link", name="Learn").first.click()
    page.wait_for_url(f"{site.folder.as_uri()}/learn.html")


def test_an_embed_says_and_does_what_an_embed_of_a_server_does(new_page: NewPage, site: Site) -> None:
    page = new_page()
    page.set_content(f'<div id="demo" data-kvscope="embed/{site.session}.html?step=1"></div>')
    page.add_script_tag(url=f"{site.url}static/embed.js")
    page.evaluate("""() => {
      globalThis.steps = [];
      addEventListener("stepchange", ({ detail }) => steps.push(detail.step));
      demo.kvscope.goto({ step: 4 });
    }""")
    until(page, "steps.at(-1) === 4")
    frame = page.locator("#demo iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts allow-popups allow-popups-to-escape-sandbox"
    until(page, "demo.querySelector('iframe').clientHeight > 600")
    with page.expect_popup() as popup:
        page.frame_locator("#demo iframe").get_by_role("link", name="Open in KVScope").click()
    expect(popup.value.locator("html[data-step='4']")).to_be_attached()


def test_own_runs_are_started_on_the_server_that_was_named(new_page: NewPage, site: Site) -> None:
    page = new_page()
    site.open(page, f"s/{site.session}.html", "server")
    expect(page.get_by_role("link", name="Try your own")).to_have_attribute("href", ELSEWHERE)
    for name in ("Save as file", "Share", "Open a file", "Delete"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    site.open(page, "serving.html", "server")
    expect(page.get_by_role("link", name="Run your own")).to_have_attribute("href", f"{ELSEWHERE}serving")
    expect(page.get_by_role("button", name=re.compile("Save as file|Delete"))).to_have_count(0)


@pytest.mark.parametrize("screen", [{}, PHONE], ids=["desktop", "phone"])
def test_no_rule_of_axe_is_broken(new_page: NewPage, site: Site, screen: dict[str, Any]) -> None:
    page = new_page(**screen)
    gallery(site.open(page, "gallery.html", "server"))
    assert flaws(page) == []
    site.open(page, "index.html", "server")
    expect(page.locator("html[data-state=paused]")).to_be_attached()
    assert flaws(page) == []
    page.emulate_media(color_scheme="light")  # axe takes the page's paper for white
    site.open(page, "install.html", "server")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
