"""A workload's log is taken as it is recorded; one thing wrong in it is refused by its frame and name."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import create_model

from kvscope.model.api import JoinRequest
from kvscope.model.log.archive import Archive
from kvscope.model.log.frames import header, join, relabel
from kvscope.model.log.schema import FRAMES, FrameData, Serving, read_data
from kvscope.model.log.untrusted import BadFile
from kvscope.model.settings import Ask, Change, Contiguous, Drafting, Join, Kept, Sampling, ServingSettings, Settings
from tests.support.changed_logs import checked, fields_of, first, refusal, run_of, with_field, without_field
from tests.support.tiny_runs import request, service, workload_request

ASKS = (
    Ask(prompt="hello there", max_new_tokens=4),
    Ask(prompt="hello you", max_new_tokens=3, cancel_ms=60_000),
    Ask(prompt="hello you", max_new_tokens=3, arrives_ms=1, retry_of=1),
)
ROUNDS = (ServingSettings(blocks=6, at_once=2), ServingSettings(blocks=4, draft=Drafting(tokens=2, layers=1)))


@pytest.fixture(scope="module")
def log() -> list[bytes]:
    """Three people twice; the second time their tokens are guessed first, in little memory."""
    made = service()
    return run_of(made, made.workload(workload_request("w", "be brief", ASKS, ROUNDS)))


def said(log: list[bytes], seq: int, path: tuple[Any, ...], value: Any) -> str:
    """What the log is refused for with another value in one of its frames."""
    return str(refusal(log, seq, with_field(log[seq], path, value)))


def test_a_workloads_log_is_taken_whole_and_from_its_file(log: list[bytes]) -> None:
    check = checked(log)
    passes = [payload for payload in log if header(payload).kind == "pass"]
    assert (check.passes, check.steps, check.run) == (len(passes), 0, "w")
    assert list(Archive(memoryview(join(log))).frames()) == log


@pytest.mark.parametrize(
    "rounds",
    [
        (ServingSettings(blocks=8, batching="static", sharing=False),),
        (ServingSettings(blocks=8, reserve=True), ServingSettings(blocks=3, at_once=4, chunk=3)),
        (ServingSettings(blocks=8, draft=Drafting(tokens=3, layers=0)),),
        (ServingSettings(blocks=8, keep=Kept(sinks=1, heavy=1, recent=4)),),
        (ServingSettings(blocks=8, contiguous=Contiguous(new_tokens=40)), ServingSettings(blocks=8)),
        (ServingSettings(blocks=8, at_once=2, budget=6, prefix="blocks"), ServingSettings(blocks=4, prefix="blocks")),
    ],
)
def test_whatever_the_settings_what_is_recorded_is_taken(rounds: tuple[ServingSettings, ...]) -> None:
    made = service()
    opened = made.start(request("other", max_new_tokens=20)) + made.workload(workload_request("w", "", ASKS, rounds))
    frames = [payload for payload in run_of(made, opened) if header(payload).run == "w"]
    assert checked(frames).passes


def test_one_that_was_stopped_is_taken_and_one_without_a_pass_is_not(log: list[bytes]) -> None:
    stop = {"reason": "stopped", "error": None, "steps": 0}
    at = first(log, "pass")
    assert checked([*log[: at + 2], relabel(log[-1], "w", at + 2, stop).payload]).passes == 2
    with pytest.raises(BadFile, match="The log has no complete pass to show"):
        checked([*log[:at], relabel(log[-1], "w", at, stop).payload])


def test_cut_short_anywhere_it_is_refused(log: list[bytes]) -> None:
    for end in range(1, len(log)):
        with pytest.raises(BadFile, match=r"has no end|has no complete pass"):
            checked(log[:end])


@pytest.mark.parametrize("kind", ["study", "pass", "round", "close"])
def test_a_field_that_is_wrong_or_missing_is_named(log: list[bytes], kind: str) -> None:
    if kind == "study":
        seq, study = 0, header(log[0]).data["study"]
        fields, place = list(fields_of(Serving, study, ("study",))), "parts[0].data.study"
    else:
        seq = first(log, kind, lambda data: kind != "pass" or (data["members"] and data["events"]))
        fields, place = list(fields_of(FRAMES[kind], header(log[seq]).data)), f"parts[{seq}].data"
    for path, field in fields:
        for wrong in WRONG:
            assert said(log, seq, path, wrong).startswith(place), (path, wrong)
        found = refusal(log, seq, without_field(log[seq], path))
        assert found or not field.is_required(), path
        assert found is None or found.startswith(place), path


WRONG: tuple[Any, ...] = ({"x": [[]]}, [[[]]], -1e301)


@pytest.mark.parametrize(
    "settings",
    [
        Sampling(),
        ServingSettings(),
        Drafting(tokens=1),
        Kept(sinks=1, heavy=0, recent=2),
        Contiguous(new_tokens=4),
        Change(site="mlp", op="zero", layer=0),
    ],
    ids=lambda settings: type(settings).__name__,
)
def test_a_log_leaves_no_setting_to_its_default(settings: Settings) -> None:
    written = settings.model_dump()
    kind = create_model("Frame", __base__=FrameData, settings=type(settings))
    assert read_data(kind, {"settings": written}, "open").settings == settings  # type: ignore[attr-defined]
    for name in written.keys() - settings.added_later:
        rest = {other: value for other, value in written.items() if other != name}
        with pytest.raises(BadFile, match=rf"open\.settings(\.{name} is missing| is refused: {name} is missing)"):
            read_data(kind, {"settings": rest}, "open")
    older = {name: value for name, value in written.items() if name not in settings.added_later}
    assert read_data(kind, {"settings": older}, "open").settings == settings  # type: ignore[attr-defined]


def test_what_there_is_not_is_not_taken(log: list[bytes]) -> None:
    """Whoever reads a log looks up what it names."""
    at = first(log, "pass", lambda data: data["members"][0]["token"])
    data, pool = header(log[at]).data, header(log[at]).data["pool"]["blocks"]
    token = data["members"][0]["token"]
    member = ("members", 0)
    for path, value, where, why in (
        (("number",), 9, "", "is not pass"),
        (("round",), 1, "", "is not pass"),
        (("start_ms",), -1e300, ".data.start_ms", "is refused"),
        (("ms",), 1e300, ".data.ms", "is refused"),
        (("requests",), data["requests"][:-1], ".data.requests", "are not 3"),
        ((*member, "request"), 3, ".data.members", "one that does not exist"),
        (("members",), data["members"] * 2, ".data.members", "twice"),
        ((*member, "guessed"), 99, ".data.members[0]", "more tokens than rows"),
        ((*member, "more"), [token], ".data.members[0]", "more tokens than rows"),
        ((*member, "rows"), 999, ".data.members[0]", "beyond the last token"),
        ((*member, "token"), {**token, "id": 259}, ".data.members", "the vocabulary has 259"),
        (("requests", 0, "table"), [pool], ".data.requests[0].table", "beyond the"),
        (("requests", 0, "table"), [0, 0], ".data.requests[0].table", "twice"),
        (("requests", 0, "positions"), 999, ".data.requests[0].positions", "have room for"),
        (("pool", "others"), [pool], ".data.pool.others", "beyond the"),
        (("pool", "others"), data["requests"][0]["table"], ".data.pool.others", "a request of the workload holds"),
        (("events",), [event("done", request=3)], ".data.events[0]", "to a request that does not exist"),
        (("events",), [event("shared", count=1)], ".data.events[0]", "with whom it was shared"),
        (("events",), [event("shared", count=1, other=7)], ".data.events[0]", "to a request that does not exist"),
        (("events",), [event("joined")], ".data.events[0]", "how much"),
        (("events",), [event("done", ms=-1.0)], ".data.events[0].ms", "is refused"),
        (("events",), [event("waits", why="stretch", count=2, free=3)], ".data.events[0]", "free in all and in a row"),
        (("pool", "slots", "filled"), 0, ".data.pool.slots", "not those of 6 blocks"),
        (("pool", "slots", "longest"), 6 * 16 + 1, ".data.pool.slots.longest", "more than is free"),
        (("pool", "cached"), [cached(pool)], ".data.pool.cached", "beyond the"),
        (("pool", "cached"), [cached(pool - 1)] * 2, ".data.pool.cached", "twice"),
        (("pool", "cached"), [cached(data["requests"][0]["table"][0])], ".data.pool.cached", "a request or another"),
        (("pool", "cached"), [cached(pool - 1, request=3)], ".data.pool.cached", "a request that does not exist"),
        (("pool", "region"), {"first": 0, "blocks": 7}, ".data.pool.region", "more blocks than"),
        (("pool", "region"), {"first": pool - 2, "blocks": 6}, ".data.pool.region", "more blocks than"),
        (("pool", "region"), {"first": pool - 6, "blocks": 6}, ".data.pool.region", "not one stretch"),
    ):
        found = said(log, at, path, value)
        assert found.startswith(f"parts[{at}]{where} "), found
        assert why in found, found


def cached(block: int, request: int = 0) -> dict[str, int]:
    return {"block": block, "request": request}


def event(what: str, **more: Any) -> dict[str, Any]:
    return {"ms": 1.0, "what": what, "request": 0, "count": None, "other": None, **more}


def test_a_decode_without_its_token_and_too_many_tokens_are_named(log: list[bytes]) -> None:
    at = first(log, "pass", lambda data: data["members"] and data["members"][0]["phase"] == "decode")
    assert "members[0].token is missing" in said(log, at, ("members", 0, "token"), None)
    found = said(log, 0, ("study", "requests", 0, "max_new_tokens"), 1)
    assert "more than the 1 tokens requested" in found or "beyond the last token" in found


def test_rounds_end_in_their_order_and_no_more_of_them_than_were_asked_for(log: list[bytes]) -> None:
    one, other = (at for at, payload in enumerate(log) if header(payload).kind == "round")
    assert "is not the end of round 0" in said(log, one, ("round",), 1)
    assert "is not the end of round 1" in said(log, other, ("round",), 0)
    assert "greater than or equal to 0" in said(log, one, ("ms",), -1.0)
    later = [at for at, payload in enumerate(log) if header(payload).kind == "pass"][1]
    assert "began before" in said(log, later, ("start_ms",), 0.0)
    again = relabel(log[other], "w", other + 1).payload
    with pytest.raises(BadFile, match="is not the end of round 2"):
        checked([*log[: other + 1], again])


def test_it_opens_with_its_first_request_and_asks_again_only_what_was_given_up(log: list[bytes]) -> None:
    assert "another prompt" in said(log, 0, ("prompt",), "something else")
    assert "another prompt" in said(log, 0, ("study", "requests", 0, "tokens"), 1)
    why = "parts[0].data.study.requests[2].retry_of must be an earlier request that was cancelled."
    assert all(said(log, 0, ("study", "requests", 2, "retry_of"), other) == why for other in (0, 2))


@pytest.fixture(scope="module")
def joined() -> list[bytes]:
    """Somebody asks while another is answered, goes away, and asks again."""
    made = service()
    asks, rounds = (Ask(prompt="hello there", max_new_tokens=12),), (ServingSettings(blocks=8),)
    opened = made.workload(workload_request("w", "", asks, rounds)) + made.advance()
    made.join(JoinRequest("w", Join(prompt="me too", max_new_tokens=6)))
    opened += made.advance()
    made.leave("w", 1)
    opened += made.advance()
    made.join(JoinRequest("w", Join(prompt="me too", max_new_tokens=2, retry_of=1)))
    return run_of(made, opened)


def test_who_joined_belongs_to_it_from_then_on(joined: list[bytes]) -> None:
    assert [header(payload).kind for payload in joined].count("asked") == 2
    assert checked(joined).passes
    at = first(joined, "asked")
    assert "is not request 1" in said(joined, at, ("number",), 2)
    assert "must be an earlier request" in said(joined, at, ("request", "retry_of"), 1)
    without = [relabel(payload, "w", seq).payload for seq, payload in enumerate([*joined[:at], *joined[at + 1 :]])]
    with pytest.raises(BadFile, match=r"is not request 1|are not 1|does not exist"):
        checked(without)


def test_nobody_joins_what_is_asked_in_several_rounds(log: list[bytes], joined: list[bytes]) -> None:
    asked = relabel(joined[first(joined, "asked")], "w", 1, {"number": 3}).payload
    with pytest.raises(BadFile, match="is not request 3 of a workload that can be joined"):
        checked([log[0], asked])


def test_frames_of_the_other_kind_of_log_do_not_belong_there(log: list[bytes]) -> None:
    made = service()
    run = run_of(made, made.start(request("w")))
    foreign = refusal(log, 1, relabel(run[1], "w", 1).payload)
    assert foreign == "parts[1] is of the kind 'layer', which is not allowed there."
    foreign = refusal(run, 1, relabel(log[1], "w", 1).payload)
    assert foreign == f"parts[1] is of the kind {header(log[1]).kind!r}, which is not allowed there."


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_changed_it_is_taken_or_refused_with_a_sentence(log: list[bytes], data: st.DataObject) -> None:
    """Nothing but BadFile comes out, whatever stands in a place of a frame; what is taken can be looked up."""
    seq = data.draw(st.integers(0, len(log) - 1))
    path = data.draw(st.sampled_from(paths_of(header(log[seq]).data)))
    numbers = st.integers(-2, 2**60) | st.floats() | st.booleans()
    value = data.draw(numbers | st.none() | st.text(max_size=3) | st.just([]) | st.just({}))
    payloads = [*log[:seq], with_field(log[seq], path, value), *log[seq + 1 :]]
    with suppress(BadFile):
        checked(payloads)
        refuse_what_is_not_there(payloads)


def refuse_what_is_not_there(payloads: list[bytes]) -> None:
    """A log that is taken names no round, request or block that there is not."""
    for payload in payloads:
        found = header(payload)
        if found.kind == "pass":
            assert found.data["round"] < len(ROUNDS)
            assert all(member["request"] < len(ASKS) for member in found.data["members"])
            tables = [each["table"] for each in found.data["requests"]]
            assert all(block < found.data["pool"]["blocks"] for table in tables for block in table)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in the data of a frame."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if path else []
    for name, each in entries:
        found += paths_of(each, (*path, name))
    return found
