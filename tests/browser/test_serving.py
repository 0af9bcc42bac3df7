"""The real engine serves several requests at once: watched live, replayed from a link, compared, framed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
import requests
from playwright.sync_api import FilePayload, Locator, Page, expect

from kvscope.model.log import frames as codec
from tests.support.complaints import Complaints
from tests.support.numbers import fixed
from tests.support.pages import NewPage
from tests.support.screens import DESKTOP, PHONE
from tests.support.server import Server
from tests.support.stage import field, found_in, region
from tests.support.waiting import eventually

SYSTEM = "You work in a small bookshop that is open from nine to six. Answer in one short and friendly sentence."
PROMPTS = ("When do you open?", "A book about dogs?", "What is a haiku?")
SETTINGS = {"at_once": 2, "chunk": 64, "blocks": 40}
ENDED_MS = 120_000


@dataclass(frozen=True)
class Served:
    """A workload that is over, read off its log."""

    run: str
    frames: list[codec.Header]

    @cached_property
    def passes(self) -> list[dict[str, Any]]:
        return [frame.data for frame in self.frames if frame.kind == "pass"]

    @property
    def requests(self) -> list[dict[str, Any]]:
        return self.frames[0].data["study"]["requests"]

    def texts(self, round_: int) -> list[list[int]]:
        """The ids that each request was answered with in a round."""
        found: list[list[int]] = [[] for _ in self.requests]
        for made in self.passes:
            for member in made["members"]:
                if made["round"] == round_ and member["token"]:
                    found[member["request"]].append(member["token"]["id"])
        return found

    def rows(self, round_: int) -> list[int]:
        """How many rows were computed of each request in a round."""
        found = [0] * len(self.requests)
        for made in self.passes:
            for member in made["members"]:
                found[member["request"]] += member["rows"] if made["round"] == round_ else 0
        return found

    def first_token_ms(self, round_: int) -> list[float]:
        """From the arrival of each request in a round to the end of the pass that chose its first token."""
        arrived, first = {}, {}
        for made in self.passes:
            if made["round"] != round_:
                continue
            arrived |= {each["request"]: each["ms"] for each in made["events"] if each["what"] == "arrived"}
            for member in made["members"]:
                if member["token"]:
                    first.setdefault(member["request"], made["start_ms"] + made["ms"])
        return [ms - arrived[request] for request, ms in first.items()]


def read(server: Server, run: str) -> Served:
    """The log of a workload, once it is over."""

    def over() -> list[codec.Header] | None:
        stream = requests.get(f"{server.url}api/runs/{run}/frames?after=-1", timeout=20).content
        found = [codec.header(payload) for payload in codec.from_stream(stream)]
        return found if found and found[-1].kind == "close" else None

    return Served(run, eventually(over, seconds=60))


@pytest.fixture(scope="module")
def served(_server: Server) -> Served:
    """Three requests that arrive one after the other, with two served at once."""
    _server.wait_until_ready()
    asked = [{"prompt": prompt, "max_new_tokens": 8, "arrives_ms": 60 * at} for at, prompt in enumerate(PROMPTS)]
    return read(_server, _server.derived_run("workloads", system=SYSTEM, requests=asked, rounds=[SETTINGS]))


@pytest.fixture
def serving(visit: NewPage) -> NewPage:
    """Opens the page."""
    return lambda address="serving", **options: visit(address, **options)


def lanes(page: Page) -> Locator:
    return page.get_by_role("list", name="Requests").locator("[aria-pressed]")


def run_of(page: Page) -> str:
    page.wait_for_url(re.compile(r"\?run="))
    found = found_in(page.url, r"run=([0-9a-f]+)")
    return found[1]


def ended(page: Page, text: str = "are done") -> None:
    expect(page.locator(".just-now")).to_contain_text(text, timeout=ENDED_MS)


def test_requests_are_served_live_and_the_page_has_the_values_of_the_log(serving: NewPage, server: Server) -> None:
    page = serving(**DESKTOP)
    expect(page.get_by_role("group", name="Recorded")).to_be_visible()
    field(page, "Requests").fill("3")
    field(page, "Milliseconds between requests").fill("80")
    page.get_by_role("button", name="Run", exact=True).click()
    ended(page, "All 3 requests are done")
    log = read(server, run_of(page))
    last = log.passes[-1]
    expect(page.get_by_role("slider", name="Pass")).to_have_attribute("max", str(len(log.passes) - 1))
    tokens = sum(map(len, log.texts(0)))
    took, whole = (f"{int(fixed(ms, 0)):,} ms" for ms in (last["ms"], last["start_ms"] + last["ms"]))
    expect(page.locator(".just-now")).to_contain_text(took)
    expect(page.locator(".just-now")).to_contain_text(f"{tokens} tokens in {whole}")
    expect(lanes(page)).to_have_count(3)
    for lane, asked in zip(lanes(page).all(), log.requests, strict=True):
        expect(lane).to_contain_text(f"{asked['tokens']} tokens")
        expect(lane).to_contain_text(asked["prompt"])
    events = [event for made in log.passes for event in made["events"] if event["what"] == "done"]
    expect(region(page, "What happened").get_by_text(re.compile("is done"))).to_have_count(len(events))


def test_a_link_opens_its_pass_and_keys_go_on_from_there(serving: NewPage, served: Served) -> None:
    number = next(at for at, made in enumerate(served.passes) if len(made["members"]) == 2)
    page = serving(f"serving?run={served.run}#pass={number}", **DESKTOP)
    slider = page.get_by_role("slider", name="Pass")
    expect(slider).to_have_value(str(number))
    made = served.passes[number]
    rows = sum(member["rows"] for member in made["members"])
    expect(region(page, "This pass")).to_contain_text(f"{rows} rows, weights read once")
    running = [each for each in made["requests"] if each["state"] == "running"]
    filled: dict[int, int] = {}
    for each in running:
        for at, block in enumerate(each["table"]):
            filled[block] = max(filled.get(block, 0), min(16, each["positions"] - 16 * at))
    waste = 1 - sum(max(0, rows) for rows in filled.values()) / (16 * len(filled))
    expect(region(page, "Memory")).to_contain_text(fixed(100 * waste, 0) + " % empty")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value(str(number + 1))
    page.wait_for_url(re.compile(rf"#pass={number + 1}$"))
    page.get_by_role("button", name="Previous pass").click()
    expect(slider).to_have_value(str(number))
    page.get_by_role("heading", level=1).click()  # a key pressed on a button is the button's
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    as_fast_as_it_was = sum(each["ms"] for each in served.passes[number:])
    expect(slider).to_have_value(str(len(served.passes) - 1), timeout=ENDED_MS + as_fast_as_it_was)
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_it_opens_at_the_fullest_pass_and_the_selected_request_shows_its_table_and_answer(
    serving: NewPage, served: Served
) -> None:
    page = serving(f"serving?run={served.run}", **DESKTOP)
    page.wait_for_url(re.compile(r"#pass=\d+$"))
    number = int(page.url.rpartition("=")[2])
    assert len(served.passes[number]["members"]) == max(len(made["members"]) for made in served.passes)
    expect(field(page, "Requests")).to_have_value("3")
    expect(field(page, "Requests at once")).to_have_value("2")
    lane = lanes(page).nth(1)
    lane.focus()
    page.keyboard.press("Enter")
    expect(lane).to_have_attribute("aria-pressed", "true")
    state = served.passes[number]["requests"][1]
    expect(region(page, "Memory")).to_contain_text(f"{state['positions']} tokens are in {len(state['table'])} blocks")
    numbers = page.locator(".block-number").all_text_contents()
    assert set(map(str, state["table"])) <= set(numbers), "a block that is named is to be found"
    expect(page.locator(".answer.is-selected")).to_contain_text("B joins")
    region(page, "Time").get_by_text("All answers so far").click()
    answers = region(page, "Time").locator("details").get_by_role("listitem")
    expect(answers.filter(has_text=PROMPTS[2])).to_contain_text(re.compile("waiting|not arrived yet"))
    told = page.get_by_role("status").filter(has_text="This workload has other settings")
    expect(told).to_have_count(0)
    page.get_by_role("button", name="Little memory").click()
    expect(told).to_contain_text(f"{len(PROMPTS)} requests")
    drawing = page.locator(".pool-drawing svg")
    wide = drawing.get_attribute("width") or ""
    page.set_viewport_size({"width": 780, "height": 900})
    expect(drawing).not_to_have_attribute("width", wide)
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(drawing).to_have_attribute("width", wide)


def test_an_experiment_runs_both_values_and_compares_the_texts(serving: NewPage, server: Server) -> None:
    page = serving(**DESKTOP)
    field(page, "Requests").fill("3")
    field(page, "Milliseconds between requests").fill("200")
    page.get_by_role("button", name="Try Prefix sharing").click()
    card = region(page, "Prefix sharing")
    expect(card).to_contain_text("Same text:", timeout=ENDED_MS)
    log = read(server, run_of(page))
    one, other = log.texts(0), log.texts(1)
    same = sum(a == b for a, b in zip(one, other, strict=True))
    expect(card).to_contain_text(f"Same text: {'yes' if same == 3 else 'no'}, {same} of 3")
    rows = [
        sum(member["rows"] for made in log.passes if made["round"] == at for member in made["members"]) for at in (0, 1)
    ]
    assert rows[1] < rows[0]
    expect(card).to_contain_text(f"rows computed {rows[0]} → {rows[1]}")
    off = page.get_by_role("group", name="Round").get_by_role("button", name="off")
    off.click()
    expect(region(page, "Time")).to_contain_text("on: all done at")
    expect(region(page, "Time")).not_to_contain_text(re.compile(r"\d shared"))
    slider, passes = page.get_by_role("slider", name="Pass"), sum(made["round"] == 0 for made in log.passes)
    expect(slider).to_have_attribute("max", str(passes - 1))
    for key, value in (("End", passes - 1), ("Home", 0)):
        slider.press(key)
        expect(slider).to_have_value(str(value))
        expect(off).to_have_attribute("aria-pressed", "true")
    page.go_back()
    expect(page.get_by_role("group", name="Recorded")).to_be_visible()
    expect(card).to_contain_text(f"{same} of 3")


def test_an_address_opens_an_experiment_and_names_it_with_its_workload(serving: NewPage, server: Server) -> None:
    page = serving("serving?experiment=at-once", **DESKTOP)
    card = region(page, "More requests at once")
    expect(card).to_be_in_viewport()
    expect(card.get_by_role("link", name="More requests at once")).to_have_attribute("aria-current", "true")
    region(page, "Prefix sharing").get_by_role("link", name="Prefix sharing").click()
    page.wait_for_url(re.compile(r"\?experiment=sharing"))
    field(page, "Requests").fill("2")
    page.get_by_role("button", name="Try Prefix sharing").click()
    page.wait_for_url(re.compile(r"\?experiment=sharing&run=[0-9a-f]+"))
    page.goto(f"{server.url}serving?experiment=hats")
    expect(page.get_by_role("alert")).to_contain_text("“hats”, which does not exist")


def test_reserved_stretches_are_compared_with_blocks_and_what_the_reader_chose_is_in_the_log(
    serving: NewPage, server: Server
) -> None:
    page = serving(**DESKTOP)
    card = region(page, "Reserve the maximum?")
    card.get_by_role("slider", name="Longest answer").fill("8")
    card.get_by_role("slider", name="Reserved per answer").fill("128")
    card.get_by_role("button", name="Try").click()
    expect(card).to_contain_text("Same text: yes, 9 of 9", timeout=ENDED_MS)
    log = read(server, run_of(page))
    rounds = log.frames[0].data["study"]["rounds"]
    assert [each["contiguous"] for each in rounds] == [{"new_tokens": 128}, None]
    assert max(request["max_new_tokens"] for request in log.requests) == 8
    waits = [event for made in log.passes for event in made["events"] if event.get("why") == "stretch"]
    expect(card).to_contain_text(f"free in total {len({event['request'] for event in waits})} → 0")
    reserved = page.get_by_role("group", name="Round").get_by_role("button", name="reserved")
    reserved.click()
    expect(reserved).to_have_attribute("aria-pressed", "true")  # only then is the slider that of this round
    slider = page.get_by_role("slider", name="Pass")
    slider.press("Home")
    expect(slider).to_have_value("0")
    slots = log.passes[0]["pool"]["slots"]
    empty = round(100 * slots["empty"] / (slots["empty"] + slots["filled"]))
    expect(region(page, "Memory")).to_contain_text(f"{empty} % empty".replace(" ", "\u2009", 1))
    expect(region(page, "Memory")).to_contain_text("reserved, holds no token")


def test_a_load_of_many_requests_is_counted_as_its_log_says_and_an_agents_prompts_part_where_they_differ(
    serving: NewPage, server: Server
) -> None:
    asked = [{"prompt": PROMPTS[at % 3], "max_new_tokens": 1, "arrives_ms": 40 * at} for at in range(26)]
    rounds = [{**SETTINGS, "speed": speed} for speed in (1.0, 8.0)]
    log = read(server, server.derived_run("workloads", system=SYSTEM, requests=asked, rounds=rounds))
    assert not any(each["requests"] for each in log.passes)
    page = serving(f"serving?run={log.run}", **DESKTOP)
    result = region(page, "Result of the load")
    expect(result).to_contain_text("requests per second")
    waits = sorted(log.first_token_ms(1))
    for share, place in ((50, 12), (95, 24), (99, 25)):
        row = result.get_by_role("row", name=re.compile(f"^TTFT, {share}\\s%"))
        expect(row).to_contain_text(f"{waits[place]:,.0f} ms")
    expect(page.get_by_role("heading", name="26 of 26 requests answered in this round")).to_be_visible()
    card = region(page, "An agent’s conversation")
    card.get_by_role("button", name="Try An agent").click()
    expect(card).to_contain_text("Same text: yes, 16 of 16", timeout=ENDED_MS)
    table = region(page, "Result of the agents").get_by_role("table", name="Agents")
    agents = read(server, run_of(page))
    rows = agents.rows(0)
    for at, name in enumerate(("only appends", "drops earlier thinking", "lists its tools", "begins with the time")):
        # As if the cache were empty at first: what agents have in common, the chat template, may be there already.
        computed = agents.requests[4 * at]["tokens"] + sum(rows[4 * at + 1 : 4 * at + 4])
        expect(table.get_by_role("row", name=re.compile(f"^{name}")).get_by_role("cell").nth(1)).to_have_text(
            f"{computed:,}"
        )


def test_a_conversation_of_the_reader_is_sent_and_the_change_that_broke_the_cache_is_shown(
    serving: NewPage, server: Server
) -> None:
    asks, answers = {"role": "user", "content": "Name a sea."}, {"role": "assistant", "content": "The Baltic Sea."}
    said = [{"role": "system", "content": f"{SYSTEM} {SYSTEM}"}, asks]
    changed = [{"role": "system", "content": f"{SYSTEM} Be {SYSTEM}"}, *said[1:]]
    bodies = [{"messages": each} for each in (said, [*said, answers, asks], [*changed, answers, asks, answers, asks])]
    page = serving(**DESKTOP)
    card = region(page, "An agent’s conversation")
    file = card.get_by_label("File of requests")
    file.set_input_files(attached("mine.jsonl", [{"messages": []}]))
    expect(card.get_by_role("alert")).to_contain_text("mine.jsonl: Line 1: messages is missing")
    file.set_input_files(attached("mine.jsonl", bodies))
    expect(card.get_by_role("status")).to_contain_text("3 requests of mine.jsonl")
    card.get_by_role("button", name="Try An agent").click()
    expect(card).to_contain_text("Same text: yes, 3 of 3", timeout=ENDED_MS)
    log = read(server, run_of(page))
    assert [request["messages"] for request in log.requests] == [2, 4, 6]
    result = region(page, "Result of the conversation")
    rows = result.get_by_role("table", name="Requests of the file").get_by_role("row")
    for at, computed in enumerate(log.rows(0)):
        expect(rows.nth(at + 1).get_by_role("cell").nth(1)).to_have_text(f"{computed:,}")
    parts = result.get_by_role("listitem")
    expect(parts).to_have_count(2)
    expect(parts.first).to_contain_text("request 2: the whole prompt before is repeated")
    expect(parts.last).to_contain_text("Be You work")


def attached(name: str, bodies: list[dict[str, Any]]) -> FilePayload:
    """A file of one JSON text per line."""
    return {"name": name, "mimeType": "text/plain", "buffer": "\n".join(map(json.dumps, bodies)).encode()}


def test_with_little_memory_a_request_is_preempted_and_computed_again(serving: NewPage, server: Server) -> None:
    page = serving(**DESKTOP)
    page.wait_for_url(re.compile("#pass="))  # the recorded one plays, and its passes are none of the next one's
    page.get_by_role("button", name="Little memory").click()
    page.get_by_role("button", name="Run", exact=True).click()
    ended(page, "All 7 requests are done")
    log = read(server, run_of(page))
    back = [event for made in log.passes for event in made["events"] if event["what"] == "preempted"]
    assert back, "it would show nothing"
    expect(region(page, "What happened").get_by_text(re.compile("is preempted"))).to_have_count(len(back))


def test_an_invalid_value_has_an_error_at_its_field_and_stays(serving: NewPage, complaints: Complaints) -> None:
    page = serving()
    run = page.get_by_role("button", name="Run", exact=True)
    for name, typed, said in (
        ("Requests", "25", "Requests: “25” is not a whole number from 1 to 24."),
        ("Blocks of memory", "many", "Blocks of memory: “many” is not a whole number"),
    ):
        before = field(page, name).input_value()
        field(page, name).fill(typed)
        run.click()
        expect(page.get_by_role("alert")).to_contain_text(said)
        expect(field(page, name)).to_have_attribute("aria-invalid", "true")
        expect(field(page, name)).to_have_value(typed)
        field(page, name).fill(before)
        expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_text("Edit the 9 prompts").click()
    prompt = field(page, "B’s prompt")
    prompt.fill("1 2 3 " * 1300)
    run.click()
    expect(page.get_by_role("alert")).to_contain_text("tokens; it must have")
    expect(prompt).to_have_attribute("aria-invalid", "true")
    complaints.allow("413|422")


def test_a_prompt_of_the_viewer_joins_and_a_request_is_cancelled_and_retried(
    serving: NewPage, server: Server, complaints: Complaints
) -> None:
    page = serving(**DESKTOP)
    field(page, "Milliseconds between requests").fill("1500")  # so that it goes on for long enough
    page.get_by_role("button", name="Run", exact=True).click()
    question = field(page, "Your prompt")
    complaints.allow("422")
    for typed, said in ((" ", "Type a prompt first"), ("one two three " * 400, "tokens; it must have")):
        question.fill(typed)
        page.get_by_role("button", name="Send now").click()
        expect(page.get_by_role("alert")).to_contain_text(said)
        expect(question).to_have_value(typed)
    question.fill("What is a map?")
    page.get_by_role("button", name="Send now").click()
    expect(lanes(page)).to_have_count(10)
    mine = lanes(page).nth(9)
    expect(mine).to_contain_text("live")
    expect(mine).to_contain_text("What is a map?")
    expect(mine).to_have_attribute("aria-pressed", "true")
    expect(question).to_have_value("")
    expect(page.locator(".answer.is-selected .answer-text")).not_to_be_empty()
    page.get_by_role("button", name=re.compile("^Cancel ")).last.click()
    again = page.get_by_role("button", name=re.compile("^Send .+ again$"))
    again.click()
    expect(lanes(page)).to_have_count(11)
    expect(region(page, "What happened")).to_contain_text("a retry of")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("This workload was stopped")).to_be_visible()
    expect(again).to_have_count(0)
    run = run_of(page)
    joined = [frame.data for frame in read(server, run).frames if frame.kind == "asked"]
    assert [each["number"] for each in joined] == [9, 10]
    assert joined[1]["request"]["retry_of"] is not None
    page.goto(f"{server.url}serving?run={run}")
    expect(lanes(page)).to_have_count(11)


def test_a_prompt_of_the_viewer_waits_for_the_model_and_joins_then(serving: NewPage) -> None:
    page = serving(**DESKTOP)
    page.route("**/readyz", lambda route: route.fulfill(status=503, json={"state": "loading", "model": None}))
    page.reload()
    field(page, "Requests").fill("2")
    field(page, "Milliseconds between requests").fill("20000")  # so that it goes on until it is stopped
    question = field(page, "Your prompt")
    question.fill("What is a map?")
    page.get_by_role("button", name="Run with your prompt").click()
    expect(page.get_by_text("with your prompt “What is a map?”")).to_be_visible()
    expect(question).to_have_value("What is a map?")
    page.unroute("**/readyz")
    expect(lanes(page)).to_have_count(3, timeout=ENDED_MS)
    expect(lanes(page).nth(2)).to_contain_text("What is a map?")
    expect(question).to_have_value("")
    page.get_by_role("button", name="Stop").click()


def test_on_a_phone_the_picture_comes_before_the_form(serving: NewPage, served: Served) -> None:
    page = serving(f"serving?run={served.run}#pass=3", **PHONE)
    expect(lanes(page).first).to_be_in_viewport()
    expect(field(page, "Requests")).to_be_hidden()
    summary = page.get_by_text("Edit the workload: 3 requests")
    summary.focus()
    page.keyboard.press("Enter")
    field(page, "Requests").fill("25")
    summary.click()
    page.get_by_role("button", name="Run again", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Requests: “25” is not a whole number")
    expect(field(page, "Requests")).to_be_visible()


def test_inside_another_page_it_is_watched_and_nothing_can_be_started(
    serving: NewPage, served: Served, complaints: Complaints
) -> None:
    page = serving(f"embed/serving?run={served.run}#pass=2&theme=dark")
    expect(page.get_by_role("slider", name="Pass")).to_have_value("2")
    expect(page.get_by_role("form")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("Run|Try"))).to_have_count(0)
    link = page.get_by_role("link", name="Open in KVScope")
    expect(link).to_have_attribute("href", f"/serving?run={served.run}#pass=2")
    complaints.allow("404")
    page.goto(page.url.replace(served.run, "0" * 16))
    expect(page.get_by_role("alert")).to_contain_text("There is no run")


def test_a_request_that_moves_between_two_engines_is_drawn_and_its_bytes_are_those_of_the_log(
    serving: NewPage, server: Server
) -> None:
    asked = [{"prompt": f"{at}. {PROMPTS[at]}", "max_new_tokens": 3, "arrives_ms": 5 * at} for at in range(3)]
    settings = {**SETTINGS, "prefix": "blocks"}
    rounds = [{**settings, "engines": {"count": 2, "route": "least", "prefill": prefill}} for prefill in (0, 1)]
    log = read(server, server.derived_run("workloads", requests=asked, rounds=rounds))
    page = serving(f"serving?run={log.run}&experiment=separate", **DESKTOP)
    result = region(page, "Result: Prefill here, decode there")
    moved = [event for made in log.passes for event in made["events"] if event["what"] == "moved"]
    assert sorted(event["request"] for event in moved) == [0, 1, 2]
    expect(result).to_contain_text(f"= {sum(event['bytes'] for event in moved):,} bytes")
    page.get_by_role("group", name="Round").get_by_role("button", name="apart").click()
    engines = region(page, "Engines over time")
    for place, does in enumerate(("reads prompts", "decodes")):
        passes = sum(made["round"] == 1 and made["engine"] == place for made in log.passes)
        expect(engines).to_contain_text(f"Engine {place + 1} ({does}): {passes} pass")
    page.get_by_role("slider", name="Pass").press("End")
    expect(region(page, "Requests of the round")).to_contain_text("3 of 3 requests answered")
    expect(region(page, "Prefill here, decode there")).to_contain_text("Same text: yes, 3 of 3")
