"""Words: heads worth seeing, definitions, the sentence of a step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from kvscope.model.log import frames as codec
from tests.support.server import ROOT, Log, Server
from tests.support.stage import Stage

GLOSSARY = json.loads((ROOT / "static" / "shared" / "words" / "glossary.json").read_text("utf-8"))
PLACE = "#step=3&layer=13&head=8&query=8&key=1&view=head"


def attention(server: Server, run: str) -> Any:
    """All weights of a run, [layers, heads, queries, keys], in the model's own codec."""
    payloads = codec.from_stream(server._get(f"api/runs/{run}/frames?after=-1").content)
    log = Log(list(payloads))
    model = log.open["model"]
    size = len(log.open["tokens"]) + len(log.steps) - 1
    weights = np.zeros((model["layers"], model["heads"], size, size))
    for header, payload in log._frames:
        if header.kind != "layer":
            continue
        part = codec.tensors(payload)["attention"]
        layer, head, query = (header.data[name] for name in ("first_layer", "first_head", "first_query"))
        layers, heads, queries, keys = part.shape
        weights[layer : layer + layers, head : head + heads, query : query + queries, :keys] = (part / 255.0) ** 2
    return weights


def strongest(means: Any) -> tuple[int, int, float]:
    """Layer, head and value of the largest entry of [layers, heads]."""
    layer, head = np.unravel_index(int(means.argmax()), means.shape)
    return int(layer), int(head), float(means[layer, head])


def test_look_here_names_the_heads_that_numpy_finds(stage: Stage, short_run: str) -> None:
    stage.open(short_run, PLACE)
    weights = attention(stage.server, short_run)
    size = weights.shape[2]
    before = np.mean([weights[:, :, query, query - 1] for query in range(2, size)], axis=0)
    items = stage.region("Look here").get_by_role("button")
    for title, means in (("first token", weights[:, :, 1:, 0].mean(axis=2)), ("token before", before)):
        layer, head, share = strongest(means)
        expect(items.filter(has_text=title)).to_contain_text(f"L{layer} h{head}")
        expect(items.filter(has_text=title)).to_contain_text(f"{100 * share:.0f}\u202f%")


def test_look_here_is_of_what_has_been_played(stage: Stage, short_run: str) -> None:
    """A walk through a step's layers stands still where playing goes on."""
    log = stage.server.log(short_run)
    tokens, prompt = log.tokens, len(log.open["tokens"])
    stage.open(short_run, "#step=3&layer=2&head=1&view=head")
    before = stage.region("Look here").get_by_role("button").filter(has_text="token before")
    told = stage.page.get_by_role("tooltip")
    before.hover()
    expect(told).to_contain_text(f"averaged over {len(tokens) - 3} queries")  # but the first two, and the token not fed
    stage.look_at("#step=1&layer=2&head=1&view=head")
    stage.page.keyboard.press(".")  # the first layer of step 2: of step 1 all is known
    before.hover()
    expect(told).to_contain_text(f"averaged over {prompt - 1} queries")
    weights = attention(stage.server, short_run)
    layer, head, share = strongest(np.mean([weights[:, :, query, query - 1] for query in range(2, prompt + 1)], axis=0))
    expect(before).to_contain_text(f"L{layer} h{head}")
    expect(before).to_contain_text(f"{100 * share:.0f}\u202f%")
    stage.look_at("#step=0&layer=2&head=1&view=head")
    for _ in range(2):
        stage.page.keyboard.press(",")  # back from the last layer of prefill
    expect(stage.region("Look here")).to_contain_text("once the prompt has gone through")


def test_a_press_on_look_here_goes_to_that_head_and_cell(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=3&view=model")
    weights = attention(stage.server, short_run)
    tokens = [token["text"] for token in stage.server.log(short_run).tokens]
    word = re.compile(r"\w")
    best, place = 0.0, (0, 0, 0, 0)
    for query, key in product(range(weights.shape[2]), repeat=2):
        if 1 <= key <= query - 2 and word.search(tokens[query]) and word.search(tokens[key]):
            layer, head, share = strongest(weights[:, :, query, key])
            if share > best:
                best, place = share, (layer, head, query, key)
    layer, head, query, key = place
    item = stage.region("Look here").get_by_role("button").filter(has_text="→").first
    expect(item).to_contain_text(f"{100 * best:.0f}\u202f%")
    item.click()
    stage.page.wait_for_url(f"**layer={layer}&head={head}&query={query}&key={key}&view=head*")
    expect(item).to_have_attribute("aria-current", "true")


def test_for_a_locked_cell_the_head_that_gives_it_the_most_is_named_where_it_is_locked(
    stage: Stage, short_run: str
) -> None:
    """And not as one more chip, beside which the others would be cut."""
    stage.open(short_run, "#step=3&view=head")
    items = stage.region("Look here").get_by_role("button")
    expect(items.first).to_be_visible()
    stage.rest()
    before = [item.bounding_box() for item in items.all()]
    stage.look_at("#step=3&layer=2&head=1&query=9&key=6&view=head")
    layer, head, share = strongest(attention(stage.server, short_run)[:, :, 9, 6])
    expect(stage.region("Inspector")).to_contain_text(f"strongest head: layer {layer}, head {head}, {100 * share:.0f}")
    assert [item.bounding_box() for item in items.all()] == before


def test_a_run_of_few_tokens_has_nothing_to_look_at(stage: Stage) -> None:
    run = stage.server.finished_run("Hi", max_new_tokens=1)
    stage.open(run)
    expect(stage.region("Look here")).to_contain_text("Nothing stands out yet")
    expect(stage.region("Look here").get_by_role("button")).to_have_count(0)


def test_a_term_is_defined_by_hover_by_focus_and_by_tap(
    new_page: Callable[..., Page], stage: Stage, short_run: str
) -> None:
    stage.open(short_run, PLACE)
    term = stage.region("Model map").get_by_role("button", name="KV cache", exact=True)
    definition = stage.page.get_by_role("tooltip")
    term.hover()
    expect(definition).to_contain_text(GLOSSARY["kv-cache"]["text"])
    expect(term).to_have_accessible_description(re.compile(re.escape(GLOSSARY["kv-cache"]["text"])))
    stage.page.mouse.move(5, 5)
    expect(definition).to_have_count(0)

    term.focus()
    stage.page.keyboard.press("Tab")
    stage.page.keyboard.press("Shift+Tab")
    expect(definition).to_be_visible()
    before = stage.page.url
    stage.page.keyboard.press("Escape")
    expect(definition).to_have_count(0)
    assert stage.page.url == before, "Esc closed the definition and nothing else"

    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    phone = Stage(page, stage.server).open(short_run, PLACE)
    phone.region("Model map").get_by_role("button", name="KV cache", exact=True).tap()
    box = page.get_by_role("tooltip").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    phone.region("Look here").get_by_role("heading").tap()
    expect(page.get_by_role("tooltip")).to_have_count(0)


def test_a_definition_closes_when_its_word_is_scrolled_away_and_only_then(
    new_page: Callable[..., Page], stage: Stage, short_run: str
) -> None:
    """The answer follows each step that is played, and the page scrolls of itself to keep what is read in its place."""
    page = new_page(viewport={"width": 390, "height": 500}, has_touch=True, is_mobile=True)
    phone = Stage(page, stage.server).open_finished(short_run)
    definition = page.get_by_role("tooltip")
    answer = page.get_by_role("group", name="Prompt and answer")
    phone.button("Tokens").tap()  # more of it than there is room for
    phone.rest()  # what is still laid out moves the word as scrolling does
    phone.region("Model map").get_by_role("button", name="KV cache", exact=True).tap()
    expect(definition).to_be_visible()

    def scroll(how: str) -> None:
        scrolled = "new Promise((resolve) => addEventListener('scroll', resolve, {capture: true, once: true}))"
        answer.evaluate(f"async (answer) => {{ const scrolled = {scrolled}; {how}; await scrolled; }}")

    scroll("answer.scrollTop += 40")
    expect(definition).to_be_visible()

    grown = "document.body.prepend(Object.assign(document.createElement('p'), {style: 'height: 90px; margin: 0'}))"
    scroll(f"const top = scrollY; {grown}; document.body.offsetTop; scrollTo(0, top + 90)")
    expect(definition).to_be_visible()

    scroll("scrollTo(0, scrollY > 50 ? 0 : 200)")
    expect(definition).to_have_count(0)


def test_a_label_that_is_a_term_still_names_its_field(stage: Stage, short_run: str) -> None:
    stage.open(short_run, PLACE)
    stage.ask()
    form = stage.page.get_by_role("form", name="New run")
    expect(form.get_by_label("top-k")).to_have_attribute("type", "number")
    form.get_by_text("top-k").hover()
    expect(stage.page.get_by_role("tooltip")).to_contain_text(GLOSSARY["top-k"]["text"])
    expect(form.get_by_label("top-k")).to_have_accessible_name("top-k")


def test_the_help_has_the_keys_in_sight_and_the_maps_own_words(stage: Stage, short_run: str) -> None:
    stage.page.set_viewport_size({"width": 1440, "height": 900})
    stage.open_finished(short_run)
    stage.page.keyboard.press("?")
    help_dialog = stage.page.get_by_role("dialog", name="Help")
    for key in ("Play or pause", "This list"):
        expect(help_dialog.get_by_text(key, exact=True)).to_be_in_viewport(ratio=1)
    for part in ("Columns", "Attention", "KV cache"):
        expect(stage.region("Model map").get_by_role("button", name=part, exact=True)).to_be_attached()
        expect(help_dialog.get_by_role("term").filter(has_text=re.compile(f"^{part}$")).first).to_be_in_viewport()


def test_the_help_lists_the_glossary(stage: Stage, short_run: str) -> None:
    stage.open(short_run, PLACE)
    stage.button("Help").click()
    help_dialog = stage.page.get_by_role("dialog")
    expect(help_dialog).to_contain_text(GLOSSARY["kv-cache"]["text"])
    terms = set(help_dialog.get_by_role("term").all_inner_texts())
    assert {entry["name"] for entry in GLOSSARY.values()} <= terms


@pytest.mark.parametrize("step", [0, 2])
def test_the_sentence_of_a_step_has_the_logs_numbers(stage: Stage, short_run: str, step: int) -> None:
    stage.open(short_run, f"#step={step}")
    stage.expect_step(step)
    log = stage.server.log(short_run)
    data = log.steps[step]
    sentence = stage.region("Timeline").get_by_role("paragraph").filter(has_text=f"Step {step}, ")
    expect(sentence).to_contain_text(f"{data['kv']['bytes_written']:,}\u202fB")
    expect(sentence).to_contain_text(f"({100 * data['token']['prob']:.0f}\u202f%)")
    said = f"the {data['position']} tokens before it" if step else f"all {len(log.open['tokens'])} prompt tokens"
    expect(sentence).to_contain_text(said)
