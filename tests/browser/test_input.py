"""What people type: too little, too much, nonsense, and things that must stay text."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.complaints import Complaints
from tests.support.stage import Stage


def test_an_empty_prompt_is_named_and_nothing_is_run(stage: Stage) -> None:
    stage.open()
    shown = stage.run_id
    stage.type_prompt("")
    stage.button("Run").click()
    expect(stage.alert).to_contain_text("prompt is empty")
    expect(stage.page.get_by_label("Prompt", exact=True)).to_have_attribute("aria-invalid", "true")
    assert stage.run_id == shown


def test_a_prompt_that_is_asked_for_by_its_key_takes_letters_in_the_next_frame(stage: Stage, short_run: str) -> None:
    """However much else has to be shown: a processor so slow shows a part of the page in each frame."""
    stage.open(short_run, "#step=0&view=head").rest()
    client = stage.page.context.new_cdp_session(stage.page)
    client.send("Emulation.setCPUThrottlingRate", {"rate": 20})
    focused = stage.page.evaluate("""() => new Promise((done) => {
      for (const key of ['End', '/']) document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
      requestAnimationFrame(() => requestAnimationFrame(() => done(document.activeElement.id)));
    })""")
    client.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    assert focused == "prompt"


def test_a_prompt_of_too_many_characters_is_kept_and_the_limit_named(stage: Stage) -> None:
    stage.open()
    stage.type_prompt("x" * 8193)
    stage.button("Run").click()
    expect(stage.alert).to_contain_text("8193 characters")
    expect(stage.alert).to_contain_text("prompt, limit 8192")
    expect(stage.page.get_by_label("Prompt", exact=True)).to_have_value("x" * 8193)


def test_a_prompt_of_too_many_tokens_is_kept_and_the_limit_named(stage: Stage, complaints: Complaints) -> None:
    complaints.allow("status of 413")  # only the server can count tokens
    stage.open()
    prompt = "one two " * 300
    stage.type_prompt(prompt)
    stage.button("Run").click()
    expect(stage.alert).to_contain_text("prompt, limit 512")
    expect(stage.page.get_by_label("Prompt", exact=True)).to_have_value(prompt)


@pytest.mark.parametrize(
    ("label", "field", "value"),
    [
        ("temperature", "temperature", "0"),
        ("top-p", "top_p", "1.5"),
        ("top-k", "top_k", "2.5"),
        ("new tokens", "max_new_tokens", "100000"),
    ],
)
def test_a_number_out_of_bounds_is_named_with_its_limit_and_kept(
    stage: Stage, label: str, field: str, value: str
) -> None:
    stage.open()
    shown = stage.run_id
    stage.type_prompt("Keep me")
    stage.set_number(label, value)
    stage.button("Run").click()
    expect(stage.alert).to_contain_text(field)
    expect(stage.alert).to_contain_text("limit ")
    expect(stage.page.get_by_role("form", name="New run").get_by_label(label)).to_have_value(value)
    expect(stage.page.get_by_label("Prompt", exact=True)).to_have_value("Keep me")
    assert stage.run_id == shown


def test_run_works_from_a_prompt_of_several_lines(stage: Stage) -> None:
    stage.open()
    stage.play_at("4×")
    shown = stage.run_id
    stage.set_number("new tokens", 2)
    stage.page.get_by_label("Prompt", exact=True).click()
    prompt = "one\ntwo\nthree\nfour\nfive"
    stage.type_prompt(prompt)
    stage.button("Run").hover()  # once it stands still: the field above it grows with its lines
    box = stage.button("Run").bounding_box()
    assert box is not None
    stage.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, delay=80)
    expect(stage.page.locator(f"html:not([data-run='{shown}'])")).to_be_attached()
    stage.expect_phase("done")
    assert stage.server.log(stage.run_id).open["prompt"] == prompt


@pytest.mark.parametrize(
    "prompt",
    [
        "<img src=x onerror=alert(1)><b>bold</b>",
        "{{7*7}} ${1+1} <script>alert(1)</script>",
        "first\nsecond\tthird 👩‍👩‍👧‍👦 é\u200b",
        "שלום עולם \u202e",
    ],
    ids=["elements", "templates", "whitespace and emoji", "right to left"],
)
def test_a_prompt_is_never_markup(stage: Stage, prompt: str) -> None:
    asked: list[str] = []
    stage.page.on("request", lambda request: asked.append(request.url))
    stage.open()
    run = stage.run(prompt, 2)
    stage.expect_phase("done")
    hostile = "img, #page script, .timeline b, .matrix b, [onerror]"
    assert stage.page.locator(hostile).count() == 0
    assert not [url for url in asked if url.endswith("/x")]
    assert stage.server.log(run).open["prompt"] == prompt
    shown = stage.page.get_by_role("group", name="Prompt, ").inner_text()
    for unseen in ("\u202e", "\u200b", "\t"):
        assert unseen not in shown
    assert stage.overflow() <= 0
    stage.ask()
    expect(stage.prompt).to_have_value(prompt)


def test_a_temperature_given_to_a_greedy_run_has_its_tokens_drawn(stage: Stage) -> None:
    stage.open()
    stage.set_number("new tokens", 2)
    choice = stage.page.get_by_role("form", name="New run").get_by_label("choose")
    expect(choice).to_have_value("greedy")
    stage.set_number("temperature", 0.5)
    expect(choice).to_have_value("sample")
    sampling = stage.server.log(stage.run("The sky", 2)).open["sampling"]
    assert (sampling["strategy"], sampling["temperature"]) == ("sample", 0.5)


def test_a_number_half_typed_survives_what_else_the_page_shows(stage: Stage) -> None:
    stage.open()
    stage.ask()
    field = stage.page.get_by_role("form", name="New run").get_by_label("new tokens")
    field.fill("7")
    step = stage.slider.input_value()
    expect(stage.slider).not_to_have_value(step)
    expect(field).to_have_value("7")
    run = stage.run_id
    stage.type_prompt("Hello")
    stage.button("Run").click()
    expect(stage.page.locator(f"html:not([data-run='{run}'])")).to_be_attached()
    stage.skip_to_the_end()
    assert stage.server.log(stage.run_id).open["limits"]["max_new_tokens"] == 7
