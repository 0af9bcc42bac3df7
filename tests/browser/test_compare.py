"""Two runs side by side: reached from a branch, chosen, exchanged, of two models, and while one grows."""

from __future__ import annotations

import re

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.support.pages import NewPage
from tests.support.runs import carried, share
from tests.support.server import Server
from tests.support.stage import Stage

AT = 2


@pytest.fixture(scope="session")
def forked_run(_server: Server, short_run: str) -> str:
    """A finished branch of `short_run`: from step `AT` on, with the second of the likeliest tokens."""
    log = _server.log(short_run)
    token = next(each["id"] for each in log.steps[AT]["top_tokens"] if each["id"] != log.steps[AT]["token"]["id"])
    return _server.forked_run(short_run, len(log.open["tokens"]) + AT, token)


def compared(page: Page, server: Server, a: str, b: str, place: str = "") -> Page:
    page.goto(f"{server.url}compare?a={a}&b={b}{place}")
    expect(page.get_by_role("status").first).to_contain_text("computed")
    return page


def percent(share: float) -> str:
    return f"{share * 100:.1f}\u202f%"


def test_a_branch_leads_to_its_comparison_with_its_parent_which_names_where_they_part(
    stage: Stage, short_run: str, forked_run: str
) -> None:
    stage.open(forked_run, f"#step={AT}")
    stage.page.get_by_role("link", name="Compare with its parent").click()
    page = stage.page
    page.wait_for_url(f"**/compare?a={short_run}&b={forked_run}*")
    parent, branch = (stage.server.log(run).steps[AT]["token"] for run in (short_run, forked_run))
    says = page.get_by_role("status").first
    expect(says).to_contain_text(f"The first {AT} tokens of both answers are the same.")
    expect(says).to_contain_text(f"({percent(parent['raw_prob'])}) becomes")
    expect(says).to_contain_text(f"which was set (the model gave it {percent(branch['raw_prob'])})")
    slider = page.get_by_role("slider", name="Step of both runs")
    expect(slider).to_have_value(str(AT))
    rows = page.get_by_role("region", name="Next token").get_by_role("row")
    for token in (parent, branch):
        name = token["text"].replace(" ", "·")
        row = rows.filter(has=page.get_by_role("rowheader", name=name, exact=True))
        expect(row.get_by_text(percent(token["raw_prob"]))).to_have_count(2)
    figures = page.get_by_role("region", name="Cache and time")
    cached = figures.get_by_role("row", name=re.compile("K and V in the cache"))
    used = f"{stage.server.log(short_run).steps[AT]['kv']['bytes_used']:,}\u202fB"
    expect(cached.get_by_role("cell")).to_have_text([used, used, "0"])


def test_keys_move_both_runs_and_a_cell_of_the_map_shows_both_rows(
    stage: Stage, short_run: str, forked_run: str
) -> None:
    page = compared(stage.page, stage.server, short_run, forked_run, "#layer=13&head=4")
    expect(page.get_by_role("heading", name="Both rows of head 4, layer 13")).to_be_visible()
    page.keyboard.press("ArrowRight")
    slider = page.get_by_role("slider", name="Step of both runs")
    expect(slider).to_have_value(str(AT + 1))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("]")
    expect(page.get_by_role("heading", name="Both rows of head 5, layer 14")).to_be_visible()
    page.wait_for_url(f"**#step={AT + 1}&layer=14&head=5")
    cells = page.get_by_role("group", name=re.compile("^Attention: 270 cells"))
    cells.click(position={"x": 2, "y": 2})
    expect(page.get_by_role("heading", name="Both rows of head 0, layer 29")).to_be_visible()
    cells.press("ArrowDown")
    expect(page.get_by_role("heading", name="Both rows of head 0, layer 28")).to_be_visible()
    rows = page.get_by_role("group", name="Attention of both runs, token by token: A above B")
    keys = len(stage.server.log(short_run).open["tokens"]) + AT + 1
    expect(rows.locator("[data-side=a]")).to_have_count(keys)
    expect(rows.locator("[data-side=b]")).to_have_count(keys)


def test_swapping_mirrors_the_comparison_and_the_browsers_back_undoes_it(
    stage: Stage, short_run: str, forked_run: str
) -> None:
    page = compared(stage.page, stage.server, short_run, forked_run)
    says = page.get_by_role("status").first
    expect(says).to_contain_text("which was set")  # before that, the logs are still arriving
    before = says.inner_text()
    page.get_by_role("button", name="Swap").click()
    page.wait_for_url(f"**/compare?a={forked_run}&b={short_run}*")
    expect(says).not_to_have_text(before)
    expect(says).to_contain_text(re.compile(r"which was set .* becomes “"))
    page.go_back()
    expect(says).to_have_text(before)
    page.wait_for_url(f"**/compare?a={short_run}&b={forked_run}*")


def test_runs_are_chosen_from_ones_own_relatives_recordings_or_a_pasted_link(
    stage: Stage, short_run: str, forked_run: str
) -> None:
    page = stage.page
    page.goto(f"{stage.server.url}compare")
    a, b = (page.get_by_role("region", name=f"Run {name}") for name in "AB")
    pairs = page.get_by_role("region", name="Recorded runs of the same prompt")
    pairs.get_by_role("button", name=re.compile("^Low temperature")).click()
    expect(page.get_by_role("status").first).to_contain_text(re.compile("answers? "))
    expect(pairs).to_have_count(0)
    page.wait_for_url("**/compare?a=*&b=*")
    page.goto(f"{stage.server.url}compare")
    a.get_by_role("textbox").fill("no link at all")
    a.get_by_role("button", name="Show").click()
    expect(a.get_by_role("alert")).to_contain_text("no run or saved session in this text")
    a.get_by_role("textbox").fill(f"{stage.server.url}?run={short_run}#step=3")
    a.get_by_role("button", name="Show").click()
    parting = len(stage.server.opened(short_run)["tokens"]) + AT
    b.get_by_role("button", name=re.compile(f"at position {parting}")).click()
    expect(page.get_by_role("status").first).to_contain_text(f"The first {AT} tokens of both answers are the same.")
    page.wait_for_url(f"**/compare?a={short_run}&b={forked_run}*")
    b.get_by_role("button", name="Choose another").click()
    b.get_by_role("button", name="Low temperature: the safe words").click()
    expect(page.get_by_role("status").first).to_contain_text("The prompts part at position 0")
    page.wait_for_url(re.compile(f"a={short_run}&b=[a-z0-9]{{12}}(#|$)"))
    page.go_back()
    expect(page.get_by_role("status").first).to_contain_text("tokens of both answers are the same")


def test_a_changed_run_of_ones_own_names_its_changes_below_its_original(stage: Stage, short_run: str) -> None:
    changed = stage.server.changed_run(short_run, {"site": "head", "op": "zero", "layer": 16, "head": 0})
    page = stage.page
    page.goto(f"{stage.server.url}compare")
    tokens = [[run, "unused"] for run in (short_run, changed)]
    page.evaluate("(tokens) => localStorage.setItem('kvscope.run-tokens', JSON.stringify(tokens))", tokens)
    page.reload()
    a, b = (page.get_by_role("region", name=f"Run {name}") for name in "AB")
    own = a.get_by_role("list").filter(has_text="changed:").get_by_role("button")
    prompt = stage.server.opened(short_run)["prompt"].strip()
    words = "changed: head 0 of layer 16 switched off (zero)"
    expect(own).to_have_text([prompt, words])
    own.first.click()
    b.get_by_role("button", name=words).first.click()
    page.wait_for_url(f"**/compare?a={short_run}&b={changed}*")
    expect(b).to_contain_text(words)


def test_the_beginning_that_only_one_model_has_is_said_and_no_difference(new_page: NewPage, server: Server) -> None:
    own = server.finished_run("The lighthouse keeper is called Marta.", max_new_tokens=2)
    page = compared(new_page(), server, "window", own)
    says = page.get_by_role("status").first
    expect(says).to_contain_text("Only A begins with the special token “<bos>”; the tokens after it are aligned.")
    expect(says).to_contain_text("The prompts part at position 6 of A and 5 of B: “Marta” becomes “Mart”.")


def test_runs_of_two_models_are_aligned_by_text_and_nothing_is_compared_that_has_no_counterpart(
    new_page: NewPage, server: Server, tiny: Server, short_run: str
) -> None:
    stored = carried(share(server, short_run).id, server, tiny)
    own = tiny.finished_run(server.opened(short_run)["prompt"], max_new_tokens=4)
    page = compared(new_page(), tiny, stored, own)
    expect(page.get_by_role("region", name="Run A")).to_contain_text("SmolLM2-135M-Instruct")
    expect(page.get_by_role("region", name="Inside the model")).to_contain_text("different layers or heads")
    expect(page.get_by_role("region", name="Next token")).to_contain_text("no divergence is computed")


def test_a_run_is_compared_while_it_grows(new_page: NewPage, tiny: Server) -> None:
    ended = tiny.finished_run("ab", max_new_tokens=8)
    growing = tiny.start_run("ab", max_new_tokens=200)
    page = compared(new_page(), tiny, ended, growing)
    expect(page.get_by_role("region", name="Run B")).to_contain_text("still running")
    expect(page.get_by_role("status").first).to_contain_text("B goes on with")
    tiny.stop(growing)
    expect(page.get_by_role("region", name="Run B")).not_to_contain_text("still running")


def test_what_is_no_run_is_refused_in_a_sentence(stage: Stage, short_run: str) -> None:
    beam = stage.server.derived_run(f"runs/{short_run}/beam", step=0, beams=2, length=2)
    stage.page.goto(f"{stage.server.url}compare?a={short_run}&b={beam}")
    refusal = stage.page.get_by_role("region", name="Run B").get_by_role("alert")
    expect(refusal).to_have_text("This is a beam search. Only single runs can be compared here.")


def test_blocks_that_were_shared_are_told_from_those_that_were_not_and_why(new_page: NewPage, tiny: Server) -> None:
    headers = {"X-KVScope-Client": "f" * 32}

    def run(prompt: str, **settings: bool) -> str:
        body = {"prompt": prompt, "max_new_tokens": 2, **settings}
        answer = requests.post(f"{tiny.url}api/runs", json=body, headers=headers, timeout=60)
        assert answer.status_code == 201, answer.text
        tiny.wait_for_the_end(answer.json()["id"])
        return str(answer.json()["id"])

    first = run("abcdefghijklmnopqrstuvwxyz")
    page = new_page()
    page.wait_for_timeout(1100)  # logs name the second in which a run began
    second, alone = run("abcdefghijklmnopqrst, uvw"), run("abcdefghijklmnopqrst, uvw", reuse=False)
    reused = tiny.opened(second)["reused"]
    card = compared(page, tiny, first, second).get_by_role("region", name="Prefix reuse")
    expect(card).to_contain_text(f"It read {reused} of the {len(tiny.opened(second)['tokens'])} rows")
    expect(card).to_contain_text(f"at position {reused}, A has “u”, not “,”")
    expect(card.get_by_role("listitem").nth(0)).to_contain_text("Positions 0 to 15: read from the cache")
    expect(card.get_by_role("listitem").nth(1)).to_contain_text("in a copy of an earlier run’s block")
    card = compared(page, tiny, first, alone).get_by_role("region", name="Prefix reuse")
    expect(card).to_contain_text("this run was started without reuse")
