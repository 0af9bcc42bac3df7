"""The zoom "model": the six steps with one step's own numbers, the loop, what the model would say after each layer."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.support.stage import Stage

STEP = 3
LAST = 5
"""The last step of `short_run`."""


def open_model(stage: Stage, run: str, step: int) -> Locator:
    stage.open(run, f"#step={step}&layer=13&head=8&view=model")
    stage.expect_step(step)
    return stage.region("Inspector")


def row_of(stage: Stage, layer: int) -> Locator:
    button = stage.page.get_by_role("button", name=f"Layer {layer}", exact=True)
    return stage.region("Inspector").get_by_role("row").filter(has=button)


def shown(text: str) -> str:
    """A token's text as the page shows it."""
    return text.replace(" ", "·").replace("\u00a0", "␣")


def test_a_decode_step_sends_one_row_through_the_six_steps(stage: Stage, short_run: str) -> None:
    inspector = open_model(stage, short_run, STEP)
    log = stage.server.log(short_run)
    model = log.open["model"]
    fed = log.steps[STEP]["position"]
    for name in ("Tokenize", "Embed", "30 blocks", "Final norm", "LM head", "Softmax & choose"):
        expect(inspector.get_by_role("heading", name=name)).to_be_visible()
    for shape in ("[1]", f"[1 × {model['d']}]", f"[1 × {model['vocab']:,}]"):
        expect(inspector.get_by_text(shape, exact=True).first).to_be_visible()
    rows = inspector.get_by_role("group", name="Tokens and ids of this step").get_by_role("row")
    expect(rows).to_have_count(fed + 2)
    newest = log.tokens[fed]
    expect(rows.last).to_have_text(re.compile(rf"{fed}\s*{re.escape(shown(newest['text']))}\s*{newest['id']}"))
    expect(inspector).to_contain_text(f"All parts: {model['parameters']:,} parameters")


def test_prefill_sends_every_prompt_row_and_only_the_last_goes_to_the_head(stage: Stage, short_run: str) -> None:
    inspector = open_model(stage, short_run, 0)
    log = stage.server.log(short_run)
    count, d = len(log.open["tokens"]), log.open["model"]["d"]
    expect(inspector.get_by_text(f"[{count}]", exact=True)).to_be_visible()
    expect(inspector.get_by_text(f"[{count} × {d}]", exact=True).first).to_be_visible()
    expect(inspector).to_contain_text(f"only the last row: {count - 1} others end here")


@pytest.mark.parametrize("step", [0, STEP])
def test_each_layer_tells_its_guess_and_where_the_chosen_token_stood(stage: Stage, short_run: str, step: int) -> None:
    with stage.page.expect_response(f"**/lens?step={step}*") as answered:
        inspector = open_model(stage, short_run, step)
    read = answered.value.json()
    expect(inspector.get_by_text("How: the row is sent early to 4, 5 and 6.")).to_be_visible()
    for layer in (0, 13, 24, 29):
        reading = read["layers"][layer]
        row = row_of(stage, layer)
        cells = [text.strip() for text in row.get_by_role("cell").all_inner_texts()]
        assert cells[-1] == f"{reading['chosen']['rank'] + 1:,}"
        assert cells[-4].startswith(f"{100 * reading['top'][0]['prob']:.0f}")
        assert shown(reading["top"][0]["text"])[:10] in cells[-5].replace("…", "")
    ranks = [reading["chosen"]["rank"] for reading in read["layers"]]
    assert ranks[-1] == 0, "a greedy run takes the best guess"
    first = ranks.index(0)
    expect(inspector.get_by_text(re.compile(rf"best guess .*after.* layer,? {first}\b"))).to_be_visible()


def test_the_length_of_a_row_is_the_one_in_the_log(stage: Stage, short_run: str) -> None:
    open_model(stage, short_run, STEP)
    norms = stage.server.log(short_run).residual_norms(STEP)
    for layer in (0, 29):
        row = row_of(stage, layer)
        written = row.get_by_role("cell").filter(has_text=re.compile(r"^[\d.,]+$")).first.inner_text()
        assert float(written) == pytest.approx(float(norms[layer, 0]), rel=0.005)


def test_a_row_chooses_its_layer_and_the_parts_open_their_zooms(stage: Stage, short_run: str) -> None:
    inspector = open_model(stage, short_run, STEP)
    inspector.get_by_role("button", name="Layer 4", exact=True).click()
    inspector.get_by_role("button", name="Open layer 4", exact=True).click()
    stage.page.wait_for_url("**layer=4*view=block")
    inspector.get_by_role("button", name="Model", exact=True).click()
    inspector.get_by_role("button", name="Attention", exact=True).click()
    stage.page.wait_for_url("**layer=4*view=head")
    inspector.get_by_role("button", name="Model", exact=True).click()
    inspector.get_by_role("button", name="Open the next token", exact=True).click()
    stage.page.wait_for_url("**view=tokens")


def test_the_chosen_token_goes_round_until_the_loop_ends(stage: Stage, short_run: str) -> None:
    inspector = open_model(stage, short_run, LAST - 1)
    chosen = stage.server.log(short_run).steps[LAST - 1]["token"]["text"].strip()
    expect(inspector).to_contain_text(f"“{chosen}” goes round: it is all that step {LAST} is fed.")
    inspector.get_by_role("button", name=f"Follow it into step {LAST}").click()
    stage.expect_step(LAST)
    expect(inspector).to_contain_text("The loop ends here: limit of new tokens reached.")
    expect(inspector).to_contain_text(f"only “{chosen}” goes through the model")


def test_a_run_of_one_token_and_one_step(stage: Stage) -> None:
    run = stage.server.finished_run("Hi", max_new_tokens=1)
    inspector = open_model(stage, run, 0)
    expect(inspector).to_contain_text("one token, “Hi”, goes through the model")
    expect(inspector).to_contain_text("The loop ends here")


def test_on_a_phone_the_parts_stand_one_under_another(stage: Stage, short_run: str) -> None:
    stage.page.set_viewport_size({"width": 390, "height": 844})
    stage.page.emulate_media(reduced_motion="reduce")
    inspector = open_model(stage, short_run, STEP)
    expect(inspector.get_by_text("How: the row is sent early")).to_be_visible()
    boxes = [
        inspector.get_by_role("heading", name=name).bounding_box() for name in ("Tokenize", "30 blocks", "LM head")
    ]
    tops = [box["y"] for box in boxes if box]
    assert tops == sorted(tops)
    assert len({round(box["x"]) for box in boxes if box}) == 1
    assert stage.overflow() == 0
