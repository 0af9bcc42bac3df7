"""Five questions a newcomer asks, each answered on the page in words, compared with the log and the model."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from tests.support.runs import SMALL_RUN
from tests.support.server import Server
from tests.support.stage import Stage

STEP = 3


@pytest.fixture(scope="module")
def run(_server: Server) -> str:
    """A finished greedy run that nothing else has studied."""
    _server.wait_until_ready()
    return _server.finished_run(SMALL_RUN, max_new_tokens=5)


def plain(text: str) -> str:
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def milliseconds(text: str) -> float:
    value, unit = text.split()
    return float(value) * {"ms": 1, "s": 1000}[unit]


def test_which_head_links_it_to_animal(stage: Stage, run: str) -> None:
    log = stage.server.log(run)
    words = [token["text"] for token in log.tokens]
    query, key = words.index(" it"), words.index(" animal")
    model = log.open["model"]
    heads = [(layer, head) for layer in range(model["layers"]) for head in range(model["heads"])]
    layer, head = max(heads, key=lambda place: log.weight(place[0], place[1], query, key))
    share = f"{100 * log.weight(layer, head, query, key):.0f} %"

    other = (layer + 1) % model["layers"]
    stage.open(run, f"#step=0&layer={other}&head={head}&view=head")
    inspector = stage.region("Inspector")
    expect(inspector).not_to_contain_text("locked on")
    stage.matrix.focus()
    walk_to(stage, query, key)
    answer = inspector.get_by_text("strongest head")
    expect(inspector).to_contain_text("locked on “it” → “animal”")
    expect(answer).to_contain_text(f"strongest head: layer {layer}, head {head}, {share}")
    answer.get_by_role("button", name=f"layer {layer}, head {head}", exact=True).click()
    expect(answer).to_contain_text("strongest head: this one")
    expect(inspector).to_contain_text(f"Layer {layer} ▸ Head {head}")
    expect(inspector.get_by_role("heading", level=2)).to_contain_text("“it” looks")


def walk_to(stage: Stage, query: int, key: int) -> None:
    """By the arrow keys; the matrix says where it is."""
    place = re.compile(r"^Query (\d+), .*; key (\d+), ")
    cell = stage.matrix.get_by_text(place)
    for _ in range(40):
        at = place.search(cell.inner_text())
        assert at is not None
        here = (int(at[1]), int(at[2]))
        if here == (query, key):
            return
        row = {1: "ArrowUp", -1: "ArrowDown"}.get(int(np.sign(here[0] - query)))
        stage.page.keyboard.press(row or ("ArrowLeft" if here[1] > key else "ArrowRight"))
        expect(cell).not_to_have_text(at.string)
    raise AssertionError("the arrow keys do not lead there")


def test_a_rows_name_can_be_pressed_and_tells_what_that_token_looks_at_most(stage: Stage, run: str) -> None:
    log = stage.server.log(run)
    words = [token["text"] for token in log.tokens]
    query = words.index(" it")
    stage.open(run, "#step=0&layer=13&head=8&view=head")
    inspector = stage.region("Inspector")
    best = max(range(query + 1), key=lambda key: log.weight(13, 8, query, key))
    press_at_rest(stage, inspector.get_by_text("·it", exact=True).first)
    stage.page.wait_for_url(f"**query={query}&key={best}*")
    expect(inspector.get_by_role("heading", level=2)).to_contain_text(f"“it” looks back at “{words[best].strip()}”")


def press_at_rest(stage: Stage, name: Locator) -> None:
    """Click where a name stands, once nothing moves it: it is drawn over the canvas, which takes the pointer."""
    stage.rest()
    box = name.bounding_box()
    assert box is not None
    stage.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_how_many_bytes_one_more_token_costs_and_why(stage: Stage, run: str) -> None:
    stage.open(run, f"#step={STEP}")
    stage.expect_step(STEP)
    log = stage.server.log(run)
    before, now = (log.steps[step]["kv"]["bytes_used"] for step in (STEP - 1, STEP))
    expect(stage.region("KV cache")).to_contain_text(f"+{now - before:,}\u202fB a token")
    stage.button("Why a cache?").click()
    memory = stage.region("The memory it takes")
    expect(memory).to_contain_text(f"One more token costs {now - before:,}\u202fB")
    product, _, total = plain(memory.get_by_role("group", name="Bytes by the formula").inner_text()).partition("=")
    names = ("K and V", "layers", "KV heads", "numbers per head", "positions", "bytes per number")
    factors = dict(zip(names, map(int, re.findall(r"\d+", product)), strict=True))
    model = log.open["model"]
    assert [factors[name] for name in ("layers", "KV heads", "numbers per head", "bytes per number")] == [
        model[name] for name in ("layers", "kv_heads", "head_dim", "element_bytes")
    ]
    assert int(np.prod(list(factors.values()))) == now == (now - before) * factors["positions"]
    assert f"{now:,} B" in total


def test_what_was_computed_in_step_3_that_was_not_there_in_step_2(stage: Stage, run: str) -> None:
    stage.open(run, "#step=2&layer=13&head=8")
    stage.expect_step(2)
    stage.button("Next step").click()
    stage.expect_step(STEP)
    log = stage.server.log(run)
    data = log.steps[STEP]
    old = data["position"]
    token = log.tokens[old]["text"].strip()
    assert data["rows_computed"] == 1
    k2, k3 = (stage.server.head(run, step, 13, 8)["k"] for step in (STEP - 1, STEP))
    assert (len(k2), len(k3)) == (old, old + 1), "one row of K is new"
    np.testing.assert_allclose(k3[:old], k2, atol=1e-4, err_msg="the older rows are those of the step before")

    sentence = stage.region("Timeline").get_by_role("paragraph").filter(has_text=f"Step {STEP}, decode")
    expect(sentence).to_contain_text(f"only “{token}” is computed")
    expect(sentence).to_contain_text(f"adds {data['kv']['bytes_written']:,}\u202fB to the cache")
    expect(sentence).to_contain_text(f"the {old} tokens before it are read from it")
    stage.button("Why a cache?").click()
    headline = stage.region("Inspector").get_by_role("heading", level=2)
    expect(headline).to_have_text(f"Step {STEP} computes only “{token}”; the {old} tokens before are cached")


def test_why_a_token_could_not_be_chosen(stage: Stage, run: str) -> None:
    settings = {"strategy": "sample", "temperature": 0.8, "top_k": 5, "top_p": 1.0, "seed": 1}
    sampled = stage.server.finished_run(SMALL_RUN, max_new_tokens=1, **settings)
    log = stage.server.log(sampled)
    assert log.steps[0]["filters"]["kept_top_k"] == 5
    named = log.steps[0]["top_tokens"]
    rank = next(at for at in range(5, len(named)) if re.fullmatch(r" [a-z]{3,}", named[at]["text"]))
    word = named[rank]["text"].strip()

    stage.open(sampled, "#step=0")
    answer = asked(stage, word)
    expect(answer).to_contain_text(f"“{word}” could not be chosen.")
    expect(answer).to_contain_text(f"has logit {log.logits(0)[rank]:.2f}, number {rank + 1} of 49,152")
    expect(answer).to_contain_text("top-k 5 keeps only the 5 largest: it was cut there.")

    greedy = stage.server.log(run)
    logits = greedy.logits(0)
    stage.open(run, "#step=0")
    answer = asked(stage, greedy.steps[0]["top_tokens"][1]["text"].strip())
    expect(answer).to_contain_text("could not be chosen.")
    expect(answer).to_contain_text(f"Greedy always takes the largest logit, here {logits[0] - logits[1]:.2f} higher")


def asked(stage: Stage, word: str) -> Locator:
    stage.button("Why this token?").click()
    why = stage.region("Why not this token")
    why.get_by_label("Why not this token?").fill(word)
    return why.get_by_role("status")


def test_what_the_answer_would_have_cost_without_a_cache(stage: Stage, run: str) -> None:
    stage.open(run, "#step=0")
    log = stage.server.log(run)
    prompt, steps = len(log.open["tokens"]), len(log.steps)
    stage.button("Why a cache?").click()
    part = stage.region("Why keep K and V")
    rows, without = prompt + steps - 1, sum(prompt + step for step in range(steps))
    expect(part).to_contain_text(f"it put {rows} rows through the model: one per token but the last")
    expect(part).to_contain_text(
        f"Without a cache it would have been {without}: {without - rows} of them computed again"
    )

    with stage.page.expect_response(re.compile("/twin$")) as response:
        part.get_by_role("button", name="Run it without a cache").click()
    twin_id = response.value.json()["id"]
    expect(part.get_by_role("caption").first).to_have_text(f"All {steps} steps", timeout=60_000)
    twin = stage.server.log(twin_id)
    assert sum(step["rows_computed"] for step in twin.steps) == without
    # Its last step may be there before the frame that says that it is over.
    expect(part).to_contain_text(f"Really run without a cache: {without} rows instead of {rows}.")
    said = re.search(
        r"Its forward passes took (\S+ m?s) instead of (\S+ m?s)(?: \(disturbed\))?\.", plain(part.inner_text())
    )
    assert said is not None
    for shown, side in zip(said.groups(), (twin, log), strict=True):
        spent = sum(step["ms"]["forward"] for step in side.steps)
        assert milliseconds(shown) == pytest.approx(spent, rel=0.011)
    assert [step["token"]["id"] for step in twin.steps] == [step["token"]["id"] for step in log.steps]
    expect(part).to_contain_text("It wrote the same text")
