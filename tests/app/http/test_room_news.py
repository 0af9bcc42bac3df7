"""Followers get what changes in their own room; one whose queue is full gets the newest state later."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.http.problems import Problem
from kvscope.app.http.room_news import RoomNews
from kvscope.app.store.rooms import Rooms
from kvscope.app.store.runs import RunLog
from tests.support.local_viewer import LocalViewer
from tests.support.waiting import eventually

STATE = {"place": {"address": "/"}, "question": None, "asked": 0}


class Sent:
    """What was sent, by follower. `full`: those whose queue takes nothing; `left`: those who are not connected."""

    def __init__(self) -> None:
        self.states: dict[str, list[dict[str, Any]]] = {}
        self.full: set[str] = set()
        self.left: set[str] = set()

    def __call__(self, follower: str, state: dict[str, Any]) -> bool:
        if follower in self.left:
            raise KeyError(follower)
        if follower not in self.full:
            self.states.setdefault(follower, []).append(state)
        return follower not in self.full


@pytest.fixture
def sent() -> Sent:
    return Sent()


@pytest.fixture
def rooms(tmp_path: Path) -> Iterator[Rooms]:
    with RunLog(tmp_path) as log:
        yield Rooms(log)


@pytest.fixture
def news(rooms: Rooms, sent: Sent) -> RoomNews:
    return RoomNews(rooms, sent)


def show(rooms: Rooms, code: str, address: str) -> None:
    rooms.change(code, lambda state, _count: {**state, "place": {"address": address}})


def test_each_follower_gets_the_changes_of_its_own_room_once(news: RoomNews, rooms: Rooms, sent: Sent) -> None:
    (one, _), (other, _) = rooms.create(STATE), rooms.create(STATE)
    for follower, room in (("a", one), ("b", one), ("c", other)):
        assert news.follow(follower, room.code, presents=False)["place"] == STATE["place"]
    show(rooms, one.code, "/memory")
    for _ in range(2):
        news.look()
    assert {follower: [state["place"]["address"] for state in states] for follower, states in sent.states.items()} == {
        "a": ["/memory"],
        "b": ["/memory"],
    }


def test_a_follower_whose_queue_was_full_gets_the_newest_place_alone(news: RoomNews, rooms: Rooms, sent: Sent) -> None:
    room, _ = rooms.create(STATE)
    news.follow("slow", room.code, presents=False)
    sent.full.add("slow")
    for address in ("/memory", "/serving"):
        show(rooms, room.code, address)
        news.look()
    sent.full.clear()
    news.look()
    assert [state["place"]["address"] for state in sent.states["slow"]] == ["/serving"]


def test_one_that_has_left_keeps_nothing_from_the_others(news: RoomNews, rooms: Rooms, sent: Sent) -> None:
    room, _ = rooms.create(STATE)
    for follower in ("gone", "here"):
        news.follow(follower, room.code, presents=False)
    sent.left.add("gone")
    show(rooms, room.code, "/memory")
    news.look()
    assert len(sent.states["here"]) == 1


def test_the_end_of_a_room_is_sent_once(news: RoomNews, rooms: Rooms, sent: Sent) -> None:
    room, _ = rooms.create(STATE)
    news.follow("a", room.code, presents=False)
    rooms.end(room.code)
    for _ in range(2):
        news.look()
    assert sent.states["a"] == [{"code": room.code, "ended": True}]


def test_presenters_do_not_count_and_who_has_left_no_longer_does(news: RoomNews, rooms: Rooms) -> None:
    room, _ = rooms.create(STATE)
    for follower, presents in (("a", False), ("b", False), ("p", True)):
        news.follow(follower, room.code, presents=presents)
    news.report()
    assert rooms.followers(room.code) == 2
    news.leave("a")
    news.report()
    assert rooms.followers(room.code) == 1
    news.leave("b")
    news.leave("p")
    news.report()
    assert rooms.followers(room.code) == 0


def test_an_unknown_room_has_no_followers(news: RoomNews) -> None:
    with pytest.raises(Problem, match="22222222"):
        news.follow("a", "22222222", presents=False)


def test_a_viewer_follows_one_room_by_socket_until_it_asks_for_none(app: Flask, client: FlaskClient) -> None:
    opened = client.post("/api/rooms", json={"address": "/"}).json
    presents = {"Authorization": f"Bearer {opened['secret']}"}
    viewer = LocalViewer(app)
    assert viewer.emit("follow", {"room": opened["code"]})["room"]["place"]["address"] == "/"
    events: list[Any] = []

    def shown(address: str) -> None:
        client.put(f"/api/rooms/{opened['code']}/place", json={"address": address}, headers=presents)

    def has_come(address: str) -> bool:
        events.extend(body["place"]["address"] for name, body in viewer.events() if name == "room")
        return address in events

    shown("/memory")
    eventually(lambda: has_come("/memory"))
    assert viewer.emit("follow", {"room": None}) == {"room": None}
    shown("/serving")
    other = LocalViewer(app)
    assert other.emit("follow", {"room": opened["code"]})["room"]["place"]["address"] == "/serving"
    shown("/compare")
    eventually(lambda: [body for name, body in other.events() if name == "room"])
    assert not has_come("/serving")
    assert not has_come("/compare")


@pytest.mark.parametrize(
    "body", [None, [], {}, {"room": 5}, {"room": ["22222222"]}, {"room": "22222222"}, {"room": ""}]
)
def test_a_wrong_request_to_follow_is_refused_in_words(app: Flask, body: Any) -> None:
    problem = LocalViewer(app).emit("follow", body)["error"]
    assert problem["status"] in (404, 422)
    assert problem["field"] == "room"
