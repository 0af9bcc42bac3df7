"""A real Jupyter kernel runs a notebook that opens a recorded run and draws its figures; Chromium shows them."""

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import plotly
import pytest
from nbclient import NotebookClient
from playwright.sync_api import Browser, Page

from tests.support.recorded import CAPITAL, ROOT

pytestmark = pytest.mark.processes

PLOTLY = "application/vnd.plotly.v1+json"
CELLS = {
    "open": "import kvscope\nrun, odd = kvscope.open(CAPITAL), kvscope.open(VALUES)",
    "run": "run",
    "attention": 'run.figure("attention", step=5, layer=23, head=4)',
    "cache": 'run.figure("cache")',
    "time": 'run.figure("time")',
    "lens": 'odd.figure("lens")',
    "odd": 'odd.log.steps[0]["token"] |= {"bytes": b"<b>$&amp;$".hex()}\nodd.figure("cache")',
}
Outputs = dict[str, list[Any]]


@pytest.fixture(scope="module")
def outputs(with_values: Path, tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    """What each cell put out, as the notebook's file keeps it."""
    home = tmp_path_factory.mktemp("notebook")
    paths = f"CAPITAL, VALUES = {str(CAPITAL)!r}, {str(with_values)!r}\n"
    given = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{paths}"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS.values()])
    notebook.cells[0].source = given + notebook.cells[0].source
    NotebookClient(notebook, timeout=100, kernel_name="python3", resources={"metadata": {"path": str(home)}}).execute()
    kept = nbformat.reads(nbformat.writes(notebook), as_version=4)
    return {name: cell.outputs for name, cell in zip(CELLS, kept.cells, strict=True)}


def test_the_run_shows_itself(outputs: Outputs) -> None:
    (output,) = outputs["run"]
    assert set(output["data"]) == {"text/plain", "text/html"}
    assert output["data"]["text/html"].startswith('<iframe sandbox="allow-scripts allow-downloads" ')
    assert outputs["open"] == []


@pytest.fixture(scope="module")
def page(outputs: Outputs, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The notebook's outputs in one page, as notebooks show them: HTML as it is, figures by Plotly's own script."""
    script = (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_text("utf-8")
    parts = [f"<!doctype html><meta charset=utf-8><script>{script}</script>"]
    for name, found in outputs.items():
        for data in [output["data"] for output in found if "data" in output]:
            parts.append(f'<section id="{escape(name)}">')
            if PLOTLY in data:
                figure = json.dumps(data[PLOTLY]).replace("</", "<\\/")
                draw = f"({{data, layout}}) => Plotly.newPlot(document.querySelector('#{name} div'), data, layout)"
                parts.append(f"<div></div><script>({draw})({figure})</script>")
            else:
                parts.append(data["text/html"])
            parts.append("</section>")
    path = tmp_path_factory.mktemp("page") / "notebook.html"
    path.write_text("".join(parts), "utf-8")
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    yield page
    assert faults == []
    context.close()


def test_the_run_plays_in_its_frame(page: Page) -> None:
    page.locator("#run iframe").scroll_into_view_if_needed()
    root = page.frame_locator("#run iframe").locator("html[data-state='paused'][data-step='5']")
    root.wait_for()
    frame = page.frame_locator("#run iframe")
    frame.get_by_role("button", name="Next step").click()
    frame.locator("html[data-step='6']").wait_for()
    (inside,) = page.frames[1:]
    assert inside.evaluate("window.origin") == "null"


def test_figures_are_drawn_and_tokens_are_text(page: Page) -> None:
    for name in ("attention", "cache", "time", "lens"):
        page.locator(f"#{name} .main-svg").first.wait_for()
    assert "29 ·France" in page.locator("#attention .ytick text").all_text_contents()
    assert "0 <b>$&amp;$" in page.locator("#odd .xtick text").all_text_contents()
    assert page.locator("#attention .gtitle").text_content() == "Where each token looks: layer 23, head 4"
