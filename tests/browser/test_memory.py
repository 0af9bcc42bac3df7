"""The memory calculator: inputs, pasted configs, charts, measurement and a run's steps."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.screens import DESKTOP
from tests.support.server import Server
from tests.support.stage import Stage, field

CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 1024,
    "vocab_size": 1000,
    "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16",
    "bos_token_id": 1,
}


@pytest.fixture
def memory(visit: NewPage) -> NewPage:
    """Opens the calculator."""
    return lambda address="memory", **options: visit(address, **options)


def verdict(page: Page) -> Locator:
    return page.get_by_role("region", name="Does it fit")


def result(page: Page, name: str) -> Locator:
    """A result by its name, closed or open."""
    return page.locator("details").filter(has=page.locator("summary", has_text=re.compile(rf"^\s*{re.escape(name)}")))


def test_results_open_to_their_formula_and_the_address_holds_every_input(memory: NewPage) -> None:
    page = memory()
    request = result(page, "One request of 8,192 tokens")
    request.locator("summary").first.click()
    request.get_by_role("button", name=re.compile("131,072")).click()
    line = request.locator(".derivation-line").last
    expect(line).to_have_text(re.compile(r"131,072\s*B/token\s*=\s*2\s*×\s*32\s*layers\s*×\s*8\s*KV heads\s*×\s*128"))
    field(page, "Requests at once").focus()
    page.keyboard.press("ArrowUp")
    expect(result(page, "All: 9 requests")).to_be_visible()
    slider = page.get_by_role("slider", name="Tokens each")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(field(page, "Tokens each")).to_have_value(f"{round(2 ** (103 / 8)):,}")
    page.get_by_role("combobox", name="Model").select_option("Qwen2.5-72B")
    for name, value in (("Tokens each", "131072"), ("Requests at once", "1"), ("Number of GPUs", "4")):
        field(page, name).fill(value)
    page.get_by_role("combobox", name="GPU", exact=True).select_option("H200 SXM")
    page.get_by_role("combobox", name="Cache dtype").select_option("int4, one scale factor per 32 numbers")
    field(page, "Shared prefix, tokens").fill("100")
    expect(page.get_by_role("form", name="Inputs").get_by_text("A single request saves nothing")).to_be_visible()
    whole = f"{80 * 2 * 8 * (128 // 2 + 128 // 32 * 2) * 131_072:,} B"
    request = result(page, "One request of 131,072 tokens").locator("summary").first
    expect(request).to_contain_text(whole)
    page.wait_for_url(re.compile("prefix=100"))
    said = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
    chosen = {"model": "qwen2.5-72b", "gpus": "4", "gpu": "h200", "cache": "int4-32"}
    assert said == chosen | {"context": "131072", "requests": "1", "prefix": "100"}
    page.reload()
    expect(request).to_contain_text(whole)
    page.get_by_role("button", name="Share, print").click()
    expect(page.get_by_role("textbox", name="Link")).to_have_value(page.url)
    pasted = page.get_by_role("textbox", name="Text to paste into a page")
    expect(pasted).to_have_value(re.compile("embed/memory.*gpu=h200"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_url(re.compile(r"/memory$"))
    expect(verdict(page)).to_contain_text("59 requests")


def test_several_gpus_divide_the_model_as_chosen_and_a_gpu_of_ones_own_is_entered(memory: NewPage) -> None:
    page = memory()
    attention = page.get_by_role("combobox", name="Attention on several GPUs")
    experts = page.get_by_role("combobox", name="Experts on several GPUs")
    expect(attention).to_have_count(0)
    field(page, "Number of GPUs").fill("16")
    expect(experts).to_have_count(0)
    expect(verdict(page)).to_contain_text("588 requests")
    attention.select_option("8")
    expect(verdict(page)).to_contain_text("1,162 requests")
    attention.select_option("all")
    page.get_by_role("combobox", name="Model").select_option("DeepSeek-V3")
    page.get_by_role("combobox", name="GPU", exact=True).select_option("H200 SXM")
    field(page, "Number of GPUs").fill("8")
    page.get_by_role("button", name="Use the published weights: fp8").click()
    expect(verdict(page)).to_contain_text("97 requests")
    attention.select_option("1")
    experts.select_option("whole")
    expect(verdict(page)).to_contain_text("584 requests")
    page.wait_for_url(re.compile("tp=1&experts=whole"))
    page.reload()
    expect(verdict(page)).to_contain_text("584 requests")
    page.get_by_role("combobox", name="GPU", exact=True).select_option("own")
    field(page, "Memory, GB").fill("1000")
    field(page, "Number of GPUs").fill("1")
    expect(verdict(page)).to_contain_text(f"{(1000 * 10**9 - 671_026_404_352) // (8192 * 61 * 576 * 2)} requests")
    field(page, "Memory, GB").fill("much")
    expect(page.get_by_role("alert")).to_contain_text("much")
    expect(field(page, "Memory, GB")).to_have_attribute("aria-invalid", "true")


def test_a_wrong_input_is_named_and_the_results_stay(memory: NewPage, complaints: Complaints) -> None:
    page = memory()
    before = verdict(page).inner_text()
    for name, typed, said, good in (
        ("Tokens each", "abc", "“abc” is not a whole number", "8192"),
        ("Tokens each", "", "Tokens each: enter a whole number", "8192"),
        ("Requests at once", "0", "it must be at least 1", "8"),
        ("Shared prefix, tokens", "9000", "is longer than the context (8,192)", "0"),
    ):
        field(page, name).fill(typed)
        expect(page.get_by_role("alert")).to_contain_text(said)
        expect(field(page, name)).to_have_attribute("aria-invalid", "true")
        expect(field(page, name)).to_have_value(typed)
        assert verdict(page).inner_text() == before
        field(page, name).fill(good)
        expect(page.get_by_role("alert")).to_have_count(0)
    complaints.allow("404")
    for search, said in (
        ("model=%3Cimg%20src=x%20onerror=alert(1)%3E&context=1e12", "The list has no “<img src=x onerror=alert(1)>”"),
        ("run=0000000000000000", "There is no run"),
    ):
        page.goto(page.url.partition("?")[0] + f"?{search}")
        expect(page.get_by_role("alert")).to_contain_text(said)
        expect(verdict(page)).to_contain_text("59 requests")


def test_a_pasted_config_is_read_and_a_wrong_one_is_refused(memory: NewPage) -> None:
    page = memory()
    before = verdict(page).inner_text()
    page.get_by_text("Another model: paste its config.json").click()
    box = page.get_by_role("textbox", name="config.json in the format of Hugging Face")
    for config, said in (
        ("{", "The text is not JSON"),
        (json.dumps({**CONFIG, "hidden_size": "<b>512</b>"}), "<b>512</b>"),
    ):
        box.fill(config)
        expect(page.get_by_role("alert")).to_contain_text(said)
        assert verdict(page).inner_text() == before
    box.fill(json.dumps(CONFIG))
    expect(page.get_by_text("Read from the config:")).to_be_visible()
    a_token = result(page, "One token").nth(1).locator("summary")
    expect(a_token).to_contain_text(f"{2 * 4 * 2 * 64 * 2:,} B")
    page.wait_for_url(re.compile("config="))
    kept = json.loads(parse_qs(urlsplit(page.url).query)["config"][0])
    assert kept == {name: value for name, value in CONFIG.items() if name not in ("torch_dtype", "bos_token_id")}
    page.reload()
    expect(a_token).to_contain_text("2,048 B")
    page.get_by_role("combobox", name="Model").select_option("GPT-2")
    expect(a_token).to_contain_text("36,864 B")
    page.wait_for_url(re.compile("model=gpt2$"))


def short(value: float) -> str:
    """Three digits and a prefix, as the page writes it."""
    size, prefix = next((size, prefix) for size, prefix in ((1e9, "G"), (1e6, "M")) if value >= size)
    digits = 0 if value >= 100 * size else 1 if value >= 10 * size else 2
    return f"{value / size:.{digits}f}\u202f{prefix}FLOP/s"


def charts(page: Page) -> None:
    """Brings every chart into sight, where it is drawn."""
    for name in ("Roofline", "Cache against length", "Attention against length"):
        figure = page.get_by_role("figure", name=name)
        figure.scroll_into_view_if_needed()
        expect(figure.locator(".main-svg").first).to_be_visible()


def test_charts_are_drawn_when_they_come_into_sight_and_can_be_handled(
    memory: NewPage, short_run: str, server: Server
) -> None:
    page = memory(f"memory?run={short_run}", **DESKTOP)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    assert page.evaluate("'Plotly' in window") is False
    charts(page)
    assert sum("plotly" in url for url in asked) == 1
    roofline = page.get_by_role("figure", name="Roofline")
    table = roofline.get_by_role("row")
    roofline.get_by_text("Numbers of this chart").click()
    steps = server.log(short_run).steps
    for step in steps:
        row = table.filter(has_text=f"step {step['step']}, ")
        expect(row).to_contain_text(f"{step['flops'] / step['bytes_read']:.2f}")
        expect(row).to_contain_text(short(1000 * step["flops"] / step["ms"]["forward"]))
    expect(roofline.locator(".modebar-btn")).to_have_count(6)
    assert not roofline.locator('[data-title*="hare"]').count(), "nothing is sent to the library's makers"
    ticks = roofline.locator(".xaxislayer-above .xtick text")
    expect(ticks).to_have_count(7)
    roofline.locator('[data-title="Zoom in"]').click()
    expect(ticks).not_to_have_count(7)
    roofline.locator('[data-title="Reset axes"]').click()
    expect(ticks).to_have_count(7)
    with page.expect_download() as download:
        roofline.locator('[data-title*="ownload"]').click()
    assert download.value.suggested_filename == "kvscope Roofline.png"
    cache = page.get_by_role("figure", name="Cache against length")
    cache.get_by_text("Numbers of this chart").click()
    expect(cache.get_by_role("row")).to_have_count(1 + len(steps))
    for cells in [row.get_by_role("cell").all_inner_texts() for row in cache.get_by_role("row").all()[1:]]:
        assert cells[0] == cells[1], "what was measured is what the formula gives"
    page.get_by_role("checkbox", name=re.compile("logarithmic axes")).uncheck()
    expect(cache.locator(".ytick text").first).to_have_text("0B")


def test_the_machine_is_measured_but_not_while_a_run_goes_on(
    memory: NewPage, server: Server, complaints: Complaints
) -> None:
    page = memory()
    measure = page.get_by_role("button", name="Measure this machine")
    run = server.start_run("Count from one", max_new_tokens=200)
    measure.click()
    expect(page.get_by_role("alert")).to_contain_text("A run is being computed")
    complaints.allow("409")
    server.stop(run)
    server.wait_for_the_end(run)
    measure.click()
    status = page.get_by_role("region", name="Roofline").get_by_role("status")
    expect(status).to_contain_text("medians of", timeout=60_000)
    expect(page.get_by_role("alert")).to_have_count(0)
    charts(page)
    expect(page.get_by_role("figure", name="Roofline")).to_contain_text("this machine, measured")


def test_the_stage_leads_to_the_memory_of_its_run_whose_steps_come_as_they_are_made(
    memory: NewPage, server: Server, short_run: str
) -> None:
    run = server.start_run("Once upon a time", max_new_tokens=16)
    with server.engine_asleep():
        page = memory(f"memory?run={run}")
        roofline = page.get_by_role("region", name="Roofline")
        expect(roofline).to_contain_text("The run has not ended yet")
    expect(roofline).to_contain_text("16 steps of the run", timeout=60_000)
    Stage(page, server).open(short_run)
    page.get_by_role("link", name="Memory").click()
    page.wait_for_url(re.compile(rf"/memory\?run={short_run}"))
    expect(roofline).to_contain_text("6 steps of the run")
    page.get_by_role("link", name="the same vectors as on the Stage").click()
    page.wait_for_url(re.compile(rf"run={short_run}"))
