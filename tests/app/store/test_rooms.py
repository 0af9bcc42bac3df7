"""Rooms end, change and count answers; a secret is known by its hash alone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import sqlalchemy as sa

from kvscope.app.store.rooms import EMPTY_S, LIFE_S, MOST_ROOMS, SILENT_S, Rooms, RoomsFull, rooms_table
from kvscope.app.store.runs import RunLog

PLACE = {"address": "/", "playing": False}


class Hours:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Hours:
    return Hours()


@pytest.fixture
def rooms(log: RunLog, clock: Hours) -> Rooms:
    return Rooms(log, clock)


def test_a_room_is_found_by_its_code_until_it_ends(rooms: Rooms, clock: Hours) -> None:
    room, _ = rooms.create({"place": PLACE})
    assert rooms.room(room.code) == room
    assert rooms.room("22222222") is None
    clock.now += LIFE_S - 1
    assert rooms.room(room.code) == room
    clock.now += 2
    assert rooms.room(room.code) is None
    assert rooms.change(room.code, lambda state, _count: state) is None


def test_only_the_secret_that_came_with_a_room_is_its_secret(rooms: Rooms, log: RunLog) -> None:
    (one, secret), (other, others) = rooms.create({}), rooms.create({})
    assert rooms.is_secret(one.code, secret)
    assert not rooms.is_secret(one.code, others)
    assert not rooms.is_secret(other.code, secret)
    with log.engine.connect() as connection:
        assert secret not in connection.scalars(sa.select(rooms_table.c.secret_sha256)).all()


def test_each_change_has_the_next_number(rooms: Rooms) -> None:
    room, _ = rooms.create({"place": PLACE})
    for seq in (1, 2):
        changed = rooms.change(room.code, lambda state, _count, seq=seq: {**state, "seen": seq})  # type: ignore[misc]
        assert changed == rooms.room(room.code)
        assert changed is not None
        assert (changed.seq, changed.state) == (seq, {"place": PLACE, "seen": seq})


def test_who_answers_again_has_one_answer_and_those_of_another_question_do_not_count(rooms: Rooms) -> None:
    room, _ = rooms.create({})
    for voter, answer in (("a", "yes"), ("b", "no"), ("a", "no")):
        assert rooms.answer(room.code, lambda _state: 1, voter, answer)
    assert rooms.answer(room.code, lambda _state: 2, "a", "yes")
    assert rooms.answered(room.code, 1) == 2
    counted = rooms.change(room.code, lambda _state, count: dict(count(1)))
    assert counted is not None
    assert counted.state == {"no": 2}


def test_answers_end_with_their_room(rooms: Rooms, clock: Hours) -> None:
    (old, _), (ended, _) = rooms.create({}), rooms.create({})
    for room in (old, ended):
        rooms.answer(room.code, lambda _state: 1, "a", "yes")
    rooms.end(ended.code)
    assert rooms.room(ended.code) is None
    assert rooms.answered(ended.code, 1) == 0
    clock.now += LIFE_S + 1
    rooms.end_old()
    assert rooms.answered(old.code, 1) == 0


def test_there_are_only_so_many_rooms_and_old_ones_make_room(rooms: Rooms, clock: Hours) -> None:
    for _ in range(MOST_ROOMS):
        rooms.create({})
    with pytest.raises(RoomsFull):
        rooms.create({})
    clock.now += LIFE_S + 1
    rooms.create({})


def test_the_followers_of_all_processes_count_and_those_of_a_silent_one_do_not(rooms: Rooms, clock: Hours) -> None:
    room, _ = rooms.create({})
    rooms.report("one", {room.code: 3, "22222222": 1})
    rooms.report("two", {room.code: 2})
    assert rooms.followers(room.code) == 5
    rooms.report("one", {room.code: 4})
    assert rooms.followers(room.code) == 6
    rooms.report("one", {})
    assert rooms.followers(room.code) == 2
    clock.now += SILENT_S + 1
    assert rooms.followers(room.code) == 0
    rooms.end(room.code)


def test_a_state_that_is_the_same_is_not_a_change(rooms: Rooms) -> None:
    room, _ = rooms.create({"place": PLACE})
    assert rooms.change(room.code, lambda state, _count: dict(state)) == room


def test_changes_and_answers_at_the_same_moment_are_all_counted(rooms: Rooms) -> None:
    room, _ = rooms.create({"changes": 0})
    at_once, each = Barrier(4), 15

    def change(_: int) -> list[int]:
        at_once.wait()
        changed = [
            rooms.change(room.code, lambda state, _count: {"changes": state["changes"] + 1}) for _ in range(each)
        ]
        return [one.seq for one in changed if one is not None]

    def answer(voter: int) -> None:
        at_once.wait()
        for number in range(each):
            rooms.answer(room.code, lambda _state: 1, f"{voter} {number}", "yes")

    with ThreadPoolExecutor(4) as pool:
        changing = [pool.submit(change, number) for number in range(2)]
        answering = [pool.submit(answer, number) for number in range(2)]
        numbers = sorted(number for one in changing for number in one.result())
        for one in answering:
            one.result()
    assert numbers == list(range(1, 2 * each + 1))
    now = rooms.room(room.code)
    assert now is not None
    assert now.state == {"changes": 2 * each}
    assert rooms.answered(room.code, 1) == 2 * each


def test_a_room_that_nobody_follows_or_presents_ends_early(rooms: Rooms, clock: Hours) -> None:
    (empty, _), (used, _) = rooms.create({}), rooms.create({})
    clock.now += EMPTY_S - 10
    rooms.report("one", {used.code: 0})
    clock.now += 20
    rooms.end_old()
    assert rooms.room(empty.code) is None
    assert rooms.room(used.code) is not None


def test_answers_that_were_shown_can_be_deleted_alone(rooms: Rooms) -> None:
    room, _ = rooms.create({})
    for question in (1, 2):
        rooms.answer(room.code, lambda _state, question=question: question, "a", "yes")  # type: ignore[misc]
    rooms.forget_answers(room.code, 1)
    assert (rooms.answered(room.code, 1), rooms.answered(room.code, 2)) == (0, 1)


@pytest.mark.parametrize("code", ["", "222", "22222222\x00", "\ud800", "abcd2345", "2" * 5000])
def test_a_text_that_is_no_code_is_no_room(rooms: Rooms, code: str) -> None:
    assert rooms.room(code) is None
    assert not rooms.is_secret(code, "x")
