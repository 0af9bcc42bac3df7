"""The widget in a notebook's page: it follows a run, asks its kernel, and plays on without one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import kvscope
from tests.support.tiny_files import write_folder
from tests.support.widget_host import Notebook, notebook, reopened

PROMPT = "in the end"
ENDED = "document.documentElement.dataset.state === 'done'"
SAYS = "Boolean(document.querySelector('#kernel'))"
STRICT = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; frame-src 'none'"
)
"""A webview that gives nothing more than what the widget needs."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "llama"
    write_folder(folder, "llama", attn_implementation="eager")
    return folder


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page, faults = browser.new_page(viewport={"width": 1000, "height": 900}), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    yield page
    page.close()
    assert faults == []


@pytest.fixture
def cells(page: Page) -> Iterator[Notebook]:
    with notebook(page) as cells:
        yield cells


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[kvscope.Run]:
    with kvscope.run(PROMPT, folder, max_new_tokens=6) as run:
        yield run


def at(step: int) -> str:
    return f"document.documentElement.dataset.step === '{step}'"


def test_a_run_is_followed_while_its_cell_is_computed(cells: Notebook, folder: Path) -> None:
    widget, seen = kvscope.Widget(), []
    cells.display(widget)

    def look(step: dict[str, Any]) -> None:
        seen.append(step["position"])
        if len(seen) > 1:
            cells.until(f"document.documentElement.dataset.step >= '{len(seen) - 2}'", busy=True)

    with kvscope.run(PROMPT, folder, max_new_tokens=6, widget=widget, on_step=look):
        assert len(seen) == 6
        cells.until(ENDED)
        assert widget.selection["step"] == 5


def test_the_selection_goes_both_ways(cells: Notebook, run: kvscope.Run) -> None:
    widget = kvscope.Widget(run)
    widget.selection = {"step": 2, "layer": 1, "head": 3}
    cells.display(widget)
    cells.until(at(2))
    cells.idle()
    assert {**widget.selection, "step": 2, "layer": 1, "head": 3} == widget.selection
    widget.selection = {"step": 4}
    cells.until(at(4))
    cells.frames[0].locator(".transport button").first.click()
    cells.until(at(3))
    cells.idle()
    assert widget.selection["step"] == 3


def test_exact_values_come_from_the_kernel_when_it_is_free(cells: Notebook, run: kvscope.Run) -> None:
    widget = kvscope.Widget(run)
    widget.selection = {"step": 1}
    cells.display(widget)
    cells.until(at(1))
    widget.selection = {"step": 1, "view": "pair", "query": 3, "key": 1}
    cells.until(SAYS, busy=True)
    cells.until(f"!({SAYS}) && Boolean(document.querySelector('.pair-tiles'))")


def test_without_its_kernel_a_run_plays_and_says_so(cells: Notebook, run: kvscope.Run) -> None:
    widget = kvscope.Widget(run)
    cells.display(widget)
    cells.until(at(0))
    cells.lose(widget)
    cells.until(SAYS)
    cells.frames[0].locator(".transport button").nth(1).click()
    cells.until(at(5))


def test_a_stored_notebook_plays_at_its_last_place(
    page: Page, cells: Notebook, run: kvscope.Run, browser: Browser
) -> None:
    widget = kvscope.Widget(run)
    widget.selection = {"step": 3}
    later = browser.new_page()
    stored = reopened(later, widget)
    stored.until(at(3), busy=True)
    assert not stored.frames[0].evaluate(SAYS)
    later.close()


def test_it_plays_under_a_strict_policy_and_without_an_origin(page: Page, run: kvscope.Run) -> None:
    with notebook(page, STRICT) as cells:
        cells.display(kvscope.Widget(run))
        cells.until(at(0))
        assert cells.page.evaluate("window.origin") == "null"


def test_several_cells_show_runs_apart_and_leave_nothing_behind(cells: Notebook, run: kvscope.Run) -> None:
    cells.page.set_viewport_size({"width": 1000, "height": 2400})  # Chromium paints no frame that is out of sight
    before = cells.page.evaluate("listeners")
    one, other = kvscope.Widget(run), kvscope.Widget(run)
    for widget in (one, one, other):
        cells.display(widget)
    for frame in cells.frames:
        cells.until(at(0), frame)
    assert len(cells.frames) == 3
    other.selection = {"step": 5}
    cells.until(at(5), cells.frames[2])
    assert cells.frames[0].evaluate(at(0))
    cells.remove()
    assert cells.frames == []
    assert cells.page.evaluate("listeners") == before


def test_it_takes_the_notebooks_theme_and_height(cells: Notebook, run: kvscope.Run) -> None:
    cells.display(kvscope.Widget(run))
    cells.until("document.documentElement.dataset.theme === 'light'")
    cells.page.evaluate("document.body.style.background = '#111'")
    cells.until("document.documentElement.dataset.theme === 'dark'")
    cells.until("document.documentElement.scrollHeight <= innerHeight")


def test_another_run_in_the_same_cell_is_shown_in_its_place(cells: Notebook, folder: Path, run: kvscope.Run) -> None:
    widget = kvscope.Widget(run)
    cells.display(widget)
    cells.until(at(0))
    with kvscope.run("at first", folder, max_new_tokens=3, widget=widget) as other:
        cells.until(ENDED)
        assert cells.frames[0].evaluate("document.documentElement.dataset.run") == other.log.run


def test_a_written_script_plays_in_a_book(page: Page, run: kvscope.Run, tmp_path: Path) -> None:
    """As MyST loads it: no kernel, a model of plain JSON, an element in a shadow tree."""
    path = tmp_path / "run.mjs"
    run.save(path)
    book = """<!doctype html><meta charset="utf-8"><div></div><script type="module">
      import widget from "./run.mjs";
      const state = { selection: { step: 4 } };
      const refuse = () => { throw new Error("no kernel"); };
      const set = (name, value) => { state[name] = value; };
      const model = { get: (name) => state[name], set, save_changes() {}, on() {}, off() {}, send: refuse };
      const el = document.createElement("div");
      document.querySelector("div").attachShadow({ mode: "open" }).append(el);
      await widget.initialize?.({ model });
      await widget.render({ model, el });
    </script>"""
    page.route("http://book.example/", lambda route: route.fulfill(body=book, content_type="text/html"))
    page.route("http://book.example/run.mjs", lambda route: route.fulfill(path=path, content_type="text/javascript"))
    page.goto("http://book.example/")
    page.frame_locator("iframe").locator("html[data-step='4']").wait_for()
