"""The pages below /learn/ to look things up: symbols and shapes, formulas, printed figures, the loop, state, words."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.server import Server
from tests.support.stage import Stage, field, region

PAGES = ("reference", "formulas", "figures", "loop", "state", "words")


@pytest.fixture
def opened(visit: NewPage) -> NewPage:
    """Opens one of the pages."""
    return lambda address, **options: visit(f"learn/{address}", **options)


@pytest.mark.parametrize("name", PAGES)
def test_each_page_leads_to_the_others(opened: NewPage, name: str) -> None:
    beside = opened(name).get_by_role("navigation", name="Reference pages")
    expect(beside.locator("a, b")).to_have_count(len(PAGES))
    expect(beside.locator("[aria-current=page]")).to_have_count(1)


def test_the_loop_is_calculated_and_the_engine_counts_the_same(opened: NewPage) -> None:
    page = opened("loop")
    rows = region(page, "Rows")
    expect(rows).to_contain_text("1,023 rows with the cache, 392,960 without: 384×")
    field(page, "N, prompt tokens").fill("1,000")
    field(page, "K, new tokens").fill("1000")
    expect(rows).to_contain_text("1,499,500 without: 750×")
    page.wait_for_url(re.compile("n=1%2C000&k=1000"))
    field(page, "K, new tokens").fill("none")
    expect(page.get_by_role("alert")).to_contain_text("New tokens is “none”; enter a whole number from 1 to 1,000,000.")
    expect(rows).to_contain_text("1,499,500")
    page.wait_for_url(re.compile("k=none"))
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("none")
    expect(field(page, "N, prompt tokens")).to_have_value("1,000")
    measured = region(page, "Measured")
    measured.get_by_role("button", name="Use these numbers").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(rows).to_contain_text("26 rows with the cache, 296 without: 11×")
    measured.get_by_role("button", name="Run it without a cache").click()
    line = measured.get_by_role("row", name=re.compile("^without a cache"))
    expect(line.get_by_role("cell").first).to_have_text("296")
    expect(line.get_by_role("cell").last).to_have_text("296")
    slider = page.get_by_role("slider", name="Prompt tokens, slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(field(page, "N, prompt tokens")).to_have_value("1")


def test_the_loop_of_the_fields_is_run_where_the_server_accepts_its_length(opened: NewPage) -> None:
    page = opened("loop?n=40&k=4")
    measured = region(page, "Measured")
    field(page, "K, new tokens").fill("9999")
    expect(measured).to_contain_text("Too long for a real run here")
    field(page, "K, new tokens").fill("4")
    expect(measured).to_contain_text(re.compile(r"It stores about \d+.kB"))
    measured.get_by_role("button", name="Run 40 + 4 tokens").click()
    expect(measured).to_contain_text("40 prompt tokens, 4 new ones.")
    line = measured.get_by_role("row", name=re.compile("^with the cache"))
    expect(line.get_by_role("cell")).to_have_text(["43", "43"])
    time = measured.get_by_role("row", name=re.compile("^time with the cache"))
    expect(time.get_by_role("cell").first).to_have_text(re.compile(r"^\d+\.\d s$"))
    page.wait_for_url(re.compile("run="))


def test_the_server_says_where_its_state_lives(opened: NewPage) -> None:
    page = opened("state?n=2000")
    engine = region(page, "Engine process")
    expect(engine).to_contain_text(re.compile(r"process \d+, running for"))
    expect(engine).to_contain_text("512 blocks of 16 tokens, 46,080 B per token")
    lost = region(page, "Costs").get_by_role("row", name=re.compile("^KV cache of this run"))
    expect(lost.get_by_role("cell").first).to_contain_text("92.2")
    page.get_by_role("button", name="Read a prompt of about 200 tokens now").click()
    expect(region(page, "Costs").get_by_text(re.compile(r"Prefill: [\d,]+ tokens per second"))).to_be_visible()
    expect(lost.get_by_role("cell").nth(1)).to_have_text(re.compile(r"\d\s*m?s$"))
    field(page, "Tokens of a run").fill("1")
    expect(lost.get_by_role("cell").first).to_contain_text("46.1")
    page.get_by_role("button", name="Measure again").click()
    expect(engine).to_contain_text("46,080 B per token")


def test_without_an_engine_the_rest_of_the_state_is_there(opened: NewPage, complaints: Complaints) -> None:
    page = opened("state")
    expect(region(page, "Engine process")).to_contain_text("46,080")

    def starting(route: Route) -> None:
        said = route.fetch().json()
        engine = {**said["engine"], "state": "restarting", "pid": None, "message": "The engine stopped."}
        route.fulfill(json={**said, "engine": engine, "weights": None, "cache": None, "pace": None})

    page.route("**/api/state", starting)
    page.get_by_role("button", name="Measure again").click()
    expect(region(page, "Engine process")).to_contain_text("The engine is not ready: The engine stopped.")
    expect(region(page, "Web process")).to_contain_text("runs in")
    expect(region(page, "One run")).to_contain_text("known when the engine is ready")
    page.unroute("**/api/state")
    expect(region(page, "Engine process")).to_contain_text("46,080")
    complaints.allow("Failed to load resource")
    page.route("**/api/state", lambda route: route.abort())
    page.get_by_role("button", name="Measure again").click()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached")
    expect(region(page, "Engine process")).to_contain_text("46,080")


def test_words_are_put_on_one_plane(opened: NewPage) -> None:
    page = opened("words?words=cat,dog")
    table = region(page, "Table of cosine similarities")
    expect(table.get_by_role("row")).to_have_count(3)
    field(page, "Up to 8 words, with commas between them").fill("Monday, Tuesday, antidisestablishment")
    expect(table.get_by_role("row")).to_have_count(4)
    near = table.get_by_role("row", name=re.compile("^Monday")).get_by_role("cell")
    assert float(near.nth(1).inner_text()) > float(near.nth(2).inner_text())
    expect(page.get_by_role("img", name=re.compile("Projection of Monday, Tuesday"))).to_be_visible()
    expect(region(page, "Words of several tokens")).to_contain_text("establish")
    page.wait_for_url(re.compile("words=Monday"))
    field(page, "Up to 8 words, with commas between them").fill("a,b,c,d,e,f,g,h,i")
    expect(page.get_by_role("status").filter(has_text="There are 9 words")).to_be_visible()
    expect(table.get_by_role("row")).to_have_count(9)
    field(page, "Up to 8 words, with commas between them").fill("cat")
    expect(page.get_by_role("status").filter(has_text="at least two words")).to_be_visible()
    expect(table.get_by_role("row")).to_have_count(9)


def test_the_reference_has_this_models_numbers(opened: NewPage) -> None:
    page = opened("reference?n=20&step=5")
    symbols = region(page, "Table of symbols")
    expect(symbols.get_by_role("row", name=re.compile("^d_ff 1,536"))).to_be_visible()
    expect(symbols.get_by_role("row", name=re.compile("^T 25"))).to_be_visible()
    scores = region(page, "Table of shapes").get_by_role("row", name=re.compile("^scores"))
    expect(scores).to_contain_text("[9 × 20 × 20]")
    expect(scores).to_contain_text("[9 × 1 × 25]")
    field(page, "B, prompts computed together").fill("2")
    expect(scores).to_contain_text("[2 × 9 × 1 × 25]")
    formats = region(page, "Table of number formats")
    field(page, "A number of your own").fill("70000")
    expect(formats.get_by_role("row", name=re.compile("^fp16"))).to_contain_text("∞")
    expect(formats.get_by_role("row", name=re.compile("^bf16"))).to_contain_text("70,144")
    field(page, "A number of your own").fill("seven")
    expect(page.get_by_role("alert")).to_contain_text("The number is “seven”")
    expect(formats.get_by_role("row", name=re.compile("^bf16"))).to_contain_text("70,144")
    four = region(page, "4-D tensor")
    expect(four).to_contain_text("[B 2 × h_kv 3 × tokens 17 × d_head 64]")
    first = region(page, "Matrix").get_by_role("cell").nth(1).inner_text()
    expect(four.get_by_role("cell").nth(1)).to_have_text(first)


def test_a_printed_figure_is_calculated_with_the_readers_inputs(opened: NewPage) -> None:
    page = opened("figures?figure=640-mb")
    figure = page.locator("details[id='640-mb']")
    expect(figure).to_contain_text("Right: 1.31")
    expect(figure).to_contain_text("What the printed figure counts: 655")
    figure.get_by_label("KV heads").fill("64")
    expect(figure).to_contain_text("Right: 10.5")
    page.wait_for_url(re.compile("figure=640-mb&kv_heads=64"))
    figure.get_by_label("KV heads").fill("7")
    expect(page.get_by_role("alert")).to_contain_text("64 query heads cannot share 7 KV heads evenly.")
    page.locator("details[id='square'] summary").click()
    expect(page.locator("details[open]")).to_have_count(1)
    page.wait_for_url(re.compile(r"figures\?figure=square$"))


def test_the_loop_and_memory_lead_to_the_calculation_of_a_figure(opened: NewPage, visit: NewPage) -> None:
    page = opened("loop?n=11&k=16")
    square = region(page, "Common wrong numbers").get_by_role("listitem").filter(has_text="(N + K)²")
    square.get_by_role("link", name="Calculate").click()
    expect(page.locator("details[open]")).to_contain_text("Right: 296 rows")
    page = visit("memory")
    wrong = region(page, "Common wrong numbers").get_by_role("listitem").filter(has_text="32 GB")
    expect(wrong).to_contain_text("right: 65.5")
    wrong.get_by_role("link", name="Calculate").click()
    expect(page.locator("details[open]")).to_contain_text("Right: 65.5")


def test_the_reference_and_the_formulas_have_the_numbers_of_other_models(opened: NewPage) -> None:
    page = opened("reference?model=llama-3-8b&n=9")
    keys = region(page, "Table of shapes").get_by_role("row", name=re.compile("^K in the cache"))
    expect(keys).to_contain_text("[8 × 10 × 128]")
    expect(page.get_by_text("These values exist only for SmolLM2-135M-Instruct")).to_be_visible()
    page.get_by_label("Model", exact=True).select_option("")
    expect(keys).to_contain_text("[3 × 10 × 64]")
    page = opened("formulas")
    sizes = region(page, "Sizes, work and time")
    expect(sizes).to_contain_text(re.compile("cache of one token: 23.0"))
    page.get_by_label("Model", exact=True).select_option("llama-3-8b")
    expect(sizes).to_contain_text(re.compile("cache of one token: 131"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Formulas with the numbers of Llama-3-8B")
    page = opened("formulas?model=nothing")
    expect(page.get_by_role("alert")).to_contain_text("There is no “nothing” here.")


def test_a_tensor_of_the_readers_own_is_computed(opened: NewPage) -> None:
    page = opened("reference")
    results = region(page, "Results")
    expect(results.get_by_role("row", name=re.compile(r"^x @ x\.T"))).to_contain_text("[2 × 2]float3216 B5 11 11 25")
    cell = field(page, "Try a tensor of your own")
    cell.fill("x = [1, 2]; x @ [1, 2, 3]")
    expect(page.get_by_role("alert")).to_contain_text("2 numbers in a row, 3 in a column")
    cell.fill("softmax([[1, 2, 3]])")
    expect(results.get_by_role("row", name=re.compile("^softmax"))).to_contain_text("[1 × 3]")
    page.wait_for_url(re.compile("try=softmax"))


def test_without_the_model_the_reference_has_a_recordings_numbers(
    new_page: NewPage, server: Server, complaints: Complaints
) -> None:
    complaints.allow("Failed to load resource")
    page = new_page()
    loading = {"state": "loading", "message": "Loading the model", "model": None}
    page.route("**/readyz", lambda route: route.fulfill(status=503, json=loading))
    page.goto(f"{server.url}learn/reference")
    expect(page.get_by_text("from a recording: the model of this server is not ready.")).to_be_visible()
    expect(region(page, "Table of symbols").get_by_role("row", name=re.compile("^d_ff 1,536"))).to_be_visible()
    expect(region(page, "4-D tensor")).to_contain_text("[B 2 × h 9 × queries 17 × keys 17]")
    page.unroute("**/readyz")
    expect(region(page, "4-D tensor")).to_contain_text("[B 2 × h_kv 3 × tokens 17 × d_head 64]")


def test_the_layer_view_has_the_names_of_other_models(stage: Stage, short_run: str) -> None:
    stage.show(short_run, "#step=3&layer=13&head=8&view=block").expect_step(3)
    inspector = stage.region("Inspector")
    for name in ("feed-forward network (FFN)", "1,536", "2,304", "SwiGLU", "LayerNorm"):
        expect(inspector.locator(".block-names")).to_contain_text(name)
