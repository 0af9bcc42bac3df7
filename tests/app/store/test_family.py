"""What branches and studies connect: who belongs together, and what is told of each."""

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kvscope.app.store.runs import RunLog
from kvscope.model.api import Frame
from kvscope.model.log.frames import encode
from tests.support.outage import away
from tests.support.stored import log_of


def family_of(log: RunLog, run: str) -> list[str]:
    return [member.run for member in log.family(run)]


def opening(run: str, *, parent: str | None = None, of: str | None = None) -> Frame:
    """The first frame of a branch of `parent`, a study `of` a run, or neither."""
    origin = {"run": parent, "position": 1, "token": 2} if parent else None
    study = {"kind": "twin", "of": of, "cache": "none"} if of else None
    return encode(run, 0, "open", {"tokens": [{"id": 5}], "parent": origin, "study": study})


def test_a_family_is_known_after_a_restart_oldest_first(tmp_path: Path, database: str | None) -> None:
    with RunLog(tmp_path, database) as first:
        first.append([opening("root"), opening("stranger"), opening("z", parent="root")])
        first.append([opening("a", of="z")])
        first.append([opening("b", parent="a"), opening("other", parent="stranger")])
    with RunLog(tmp_path, database) as second:
        for run in ("root", "z", "a", "b"):
            assert family_of(second, run) == ["root", "z", "a", "b"]
        assert family_of(second, "other") == ["stranger", "other"]


def test_a_run_whose_parent_is_not_here_is_the_root_of_what_came_from_it(log: RunLog) -> None:
    log.append([opening("a", parent="elsewhere"), opening("b", parent="a"), opening("c", parent="elsewhere")])
    assert family_of(log, "b") == ["a", "b"]
    assert family_of(log, "c") == ["c"]


def test_runs_that_name_each_other_as_parents_end_no_search(log: RunLog) -> None:
    log.append([opening("a", parent="b"), opening("b", parent="a")])
    assert sorted(family_of(log, "a")) == sorted(family_of(log, "b")) == ["a", "b"]


def branch(run: str, parent: str, step: int, *, closed: bool = True) -> list[Frame]:
    """A branch that begins with another token at that step of `parent`: its own log has one text for each."""
    data: dict[str, Any] = {"tokens": [{"id": 5}], "parent": {"run": parent, "position": 1 + step, "token": 900}}
    frames = [encode(run, 0, "open", data)]
    for at in range(step + 2):
        token = {"id": 900 if at == step else at, "text": f"{run} {at}"}
        frames.append(encode(run, len(frames), "step", {"step": at, "token": token}))
    if closed:
        frames.append(encode(run, len(frames), "close", {"reason": "length", "error": None, "steps": step + 2}))
    return frames


def test_each_member_is_told_with_its_ends_its_steps_and_the_token_it_was_given(log: RunLog) -> None:
    log.append(log_of("root", 4, closed=True))
    log.append(branch("b", "root", 2))
    log.append(branch("c", "b", 0, closed=False))
    root, b, c = log.family("b")
    assert (root.opening["prompt"], root.token, root.steps) == ("x", None, 4)
    assert root.closing["reason"] == "length"
    assert (b.opening["parent"]["run"], b.token, b.steps) == ("root", {"id": 900, "text": "b 2"}, 4)
    assert (c.closing, c.token, c.steps) == (None, {"id": 900, "text": "c 0"}, 2)


def test_a_member_whose_end_is_not_stored_yet_has_ended(log: RunLog) -> None:
    log.append(log_of("a", 1))
    with away(log.engine):
        log.close_run("a", "failed", "no database")
    (member,) = log.family("a")
    assert member.closing == {"reason": "failed", "error": "no database", "steps": 1}


def test_a_large_family_is_told_in_as_many_statements_as_a_small_one(log: RunLog) -> None:
    log.append(log_of("root", 4, closed=True))
    log.append(branch("b0", "root", 1))
    statements: list[str] = []
    sa.event.listen(log.engine, "before_cursor_execute", lambda *heard: statements.append(heard[2]))

    def told(run: str, members: int) -> int:
        statements.clear()
        assert len(log.family(run)) == members
        return len(statements)

    small = told("root", 2)
    for number in range(1, 11):
        log.append(branch(f"b{number}", f"b{number - 1}", 1))  # each of the one before: as deep as it is large
    assert told("root", 12) == told("b10", 12) == small == 3
