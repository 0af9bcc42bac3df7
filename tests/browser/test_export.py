"""Panels as pictures and tables, the page on paper and on a projector."""

from __future__ import annotations

import base64
import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Download, expect

from kvscope.model.log import frames as codec
from tests.support.pages import NewPage
from tests.support.server import Server
from tests.support.stage import PNG_START, Stage, box_of
from tests.support.waiting import until

STEP, LAYER, HEAD, QUERY, KEY = 3, 13, 8, 8, 1
PLACE = f"#step={STEP}&layer={LAYER}&head={HEAD}&query={QUERY}&key={KEY}&view="
PANELS = ["Model map", "Inspector", "Next token", "KV cache", "Time"]
# The page's own width on paper and what a sheet of A4 has between its margins, in CSS pixels.
SHEET_PX = 980
COLOURS = """async (address) => {
  const image = new Image();
  image.src = address;
  await image.decode();
  const context = new OffscreenCanvas(image.naturalWidth, image.naturalHeight).getContext("2d");
  context.drawImage(image, 0, 0);
  return new Set(new Uint32Array(context.getImageData(0, 0, image.naturalWidth, image.naturalHeight).data.buffer)).size;
}"""
"""How many colours a picture has, as Chromium draws it."""


def opened(stage: Stage, run: str, view: str = "head") -> Stage:
    stage.show(run, PLACE + view).expect_step(STEP).expect_view(view)
    return stage


def table(download: Download) -> list[dict[str, str]]:
    text = Path(download.path()).read_text("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_each_panel_is_saved_as_a_picture(browser: Browser, new_page: NewPage, server: Server, short_run: str) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    stage = opened(Stage(page, server), short_run).rest()
    for panel in PANELS:
        region = box_of(stage.region(panel))
        download = stage.save(panel, "PNG")
        start = f"kvscope-the-animal-didn-t-cross-the-street-becau-step{STEP}-layer{LAYER}-head{HEAD}-"
        assert download.suggested_filename.startswith(start)
        content = Path(download.path()).read_bytes()
        assert content.startswith(PNG_START), panel
        width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
        assert width >= 2 * region["width"], panel
        assert height >= 2 * region["height"] - 2, panel
        assert page.evaluate(COLOURS, f"data:image/png;base64,{base64.b64encode(content).decode()}") > 20, panel
    download = stage.save("Inspector", "SVG")
    assert download.suggested_filename.endswith("-head.svg")
    other = browser.new_page(viewport={"width": 640, "height": 640})
    other.set_content(f"<body style='margin:0'>{Path(download.path()).read_text('utf-8')}</body>")
    expect(other.get_by_role("heading", name=re.compile("^“.+” looks"))).to_be_visible()
    expect(other.get_by_role("button", name="Save Inspector")).to_have_count(0)
    assert other.evaluate("[...document.images].every((image) => image.naturalWidth > 0)")
    other.close()
    stage.button("Save Time").click()
    menu = page.get_by_role("group", name="Save Time as")
    menu.get_by_role("button", name="Copy picture").click()
    expect(menu.get_by_role("status")).to_have_text("Copied")
    kinds = page.evaluate("navigator.clipboard.read().then((items) => items.flatMap((item) => item.types))")
    assert kinds == ["image/png"]


def test_tables_saved_are_the_logs_and_the_models_own(stage: Stage, short_run: str) -> None:
    opened(stage, short_run)
    log = stage.server.log(short_run)
    size = len(log.open["tokens"]) + STEP
    rows = table(stage.save("Inspector", "CSV"))
    assert len(rows) == size
    for query, row in enumerate(rows):
        cells = [value for name, value in row.items() if re.match(r"\d+ ", name)]
        assert [cell != "" for cell in cells] == [key <= query for key in range(size)]
        assert float(cells[query]) == pytest.approx(log.weight(LAYER, HEAD, query, query), abs=1e-12)
    candidates, logits = table(stage.save("Next token", "CSV")), log.logits(STEP)
    assert [np.float32(row["logit"]) for row in candidates] == list(logits)
    found = [float(row["probability_after_temperature"]) for row in candidates]
    np.testing.assert_allclose(found, np.exp(logits.astype(float) - log.steps[STEP]["log_z"]), rtol=1e-3)
    assert [int(row["id"]) for row in candidates if row["chosen"] == "1"] == [log.steps[STEP]["token"]["id"]]
    used = [int(row["bytes_used"]) for row in table(stage.save("KV cache", "CSV"))]
    assert used == [step["kv"]["bytes_used"] for step in log.steps]
    times = [float(row["total_ms"]) for row in table(stage.save("Time", "CSV"))]
    assert times == pytest.approx([step["ms"]["total"] for step in log.steps])
    rows = table(stage.save("Model map", "CSV"))
    assert len(rows) == log.open["model"]["layers"] * size
    assert all(float(row["residual_length"]) > 0 for row in rows)
    with stage.page.expect_response("**/head?*") as answered:
        stage.page.reload()
    values = codec.tensors(answered.value.body())
    opened(stage, short_run, "pair").rest()
    rows = table(stage.save("Inspector", "CSV"))
    q, k = values["q"][QUERY], values["k"][KEY]
    np.testing.assert_allclose([float(row["q"]) for row in rows], q, atol=1e-5)
    dot = float(q.astype(float) @ k.astype(float))
    assert sum(float(row["product"]) for row in rows) == pytest.approx(dot, abs=1e-4)
    for view in ("model", "block", "tokens", "cache", "time"):
        download = opened(stage, short_run, view).save("Inspector", "CSV")
        assert download.suggested_filename.endswith(f"-{view}.csv")
        assert len(table(download)) > 1, view


def test_paper_is_light_has_no_controls_and_clips_nothing(new_page: NewPage, server: Server, short_run: str) -> None:
    page = new_page(color_scheme="dark")
    page.add_init_script(
        """window.print = () => {
            const canvases = [...document.querySelectorAll("canvas")];
            const rights = canvases.map((canvas) => canvas.getBoundingClientRect().right);
            window.printed = { theme: document.documentElement.dataset.theme, widest: Math.max(...rights) };
        };"""
    )
    stage = opened(Stage(page, server), short_run)
    page.keyboard.press("Control+p")
    until(page, "() => window.printed")
    printed = page.evaluate("window.printed")
    assert printed["theme"] == "light"
    assert printed["widest"] <= SHEET_PX
    for name in ("Try your own", "Play", "Save Inspector", "Help"):
        expect(stage.button(name)).to_be_hidden()
    for name in PANELS:
        expect(stage.region(name)).to_be_visible()
    clipped = page.evaluate(
        """() => [...document.querySelectorAll(".panel, .page")].filter(
            (box) => getComputedStyle(box).overflow !== "visible" && box.scrollHeight > box.clientHeight + 1).length"""
    )
    assert clipped == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    expect(page.locator("html[data-theme=dark]")).to_be_attached()
    expect(stage.button("Try your own")).to_be_visible()


def test_large_type_is_larger_and_points_where_the_pointer_is(stage: Stage, short_run: str) -> None:
    page = opened(stage, short_run).page
    page.set_viewport_size({"width": 1920, "height": 1080})
    heading = stage.region("Inspector").get_by_role("heading", level=2).first
    stage.rest()
    before = box_of(heading)["height"]
    stage.button("Large type").click()
    stage.rest()
    assert box_of(heading)["height"] >= 1.2 * before
    assert stage.overflow() <= 0
    page.wait_for_url("**present=1*")
    page.reload()
    expect(stage.button("Large type")).to_have_attribute("aria-pressed", "true")
    stage.rest()
    box = box_of(stage.matrix)
    stage.matrix.hover(position={"x": box["width"] * 0.38, "y": box["height"] * 0.85})
    tooltip = box_of(stage.matrix.get_by_text(re.compile(r"^query \d+, key \d+$")))
    assert abs(tooltip["x"] - (box["x"] + box["width"] * 0.38)) < 60
