"""`/api/rooms`: who may change a room, and what is refused."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from kvscope.app.http.openers import MOST_PER_ADDRESS
from tests.support.over_http import NewClient, bearer, problem

PLACE = {"address": "/#step=3", "playing": False}
ASKED = {"text": "Which is larger?", "kind": "choice", "choices": ["K", "V", "both alike"]}
VOTER = "0" * 32


class Presenter:
    """Has the secret of one room."""

    def __init__(self, client: FlaskClient) -> None:
        self.client = client
        self.room: dict[str, Any] = client.post("/api/rooms", json=PLACE).json
        self.address = f"/api/rooms/{self.room['code']}"
        self.headers = {"Authorization": f"Bearer {self.room['secret']}"}

    def put(self, what: str, body: dict[str, Any]) -> Any:
        return self.client.put(f"{self.address}/{what}", json=body, headers=self.headers)

    def post(self, what: str) -> Any:
        return self.client.post(f"{self.address}/{what}", headers=self.headers)

    def delete(self, what: str = "") -> Any:
        return self.client.delete(f"{self.address}{what}", headers=self.headers)

    def attendance(self) -> Any:
        return self.client.get(f"{self.address}/attendance", headers=self.headers)

    def vote(self, number: int, answer: str, voter: str = VOTER) -> Any:
        body = {"question": number, "answer": answer, "voter": voter}
        return self.client.put(f"{self.address}/answer", json=body)


@pytest.fixture
def presenter(client: FlaskClient) -> Presenter:
    return Presenter(client)


def test_a_room_shows_what_its_presenter_last_sent(presenter: Presenter) -> None:
    place = {"address": "/learn/cache#3", "within": "/#step=3", "playing": True, "answered": True}
    shown = presenter.put("place", place).json
    assert (shown["seq"], shown["place"], shown["question"]) == (1, place, None)
    assert "secret" not in shown
    assert presenter.put("place", place).json["seq"] == 1
    assert presenter.client.get(presenter.address).json == shown
    problem(presenter.client.get("/api/rooms/22222222"), 404, "room")


@pytest.mark.parametrize(
    ("method", "what", "body"),
    [
        ("PUT", "/place", PLACE),
        ("PUT", "/question", ASKED),
        ("DELETE", "/question", None),
        ("POST", "/question/again", None),
        ("POST", "/question/reveal", None),
        ("GET", "/attendance", None),
        ("DELETE", "", None),
    ],
)
def test_nobody_else_changes_a_room(presenter: Presenter, method: str, what: str, body: dict[str, Any] | None) -> None:
    other = Presenter(presenter.client)
    for headers, status in (({}, 401), (other.headers, 403)):
        address = f"{presenter.address}{what}"
        problem(presenter.client.open(address, method=method, json=body, headers=headers), status, "Authorization")
    assert presenter.put("place", PLACE).json["seq"] == 0


@pytest.mark.parametrize(
    "address",
    [
        *("//other.example", "https://other.example", "/\\other", "javascript:1", "", "/ x", "/\t/other.example"),
        *("/x/../room", "/.//x", "/#token=let-me-in", "/room/22222222#secret=x"),
    ],
)
def test_a_room_shows_pages_of_this_server_only(presenter: Presenter, address: str) -> None:
    problem(presenter.put("place", {"address": address}), 422, "address")
    problem(presenter.put("place", {"address": "/", "within": address}), 422, "within")


def test_a_vote_counts_once_for_each_page_and_is_shown_when_it_is_revealed(presenter: Presenter) -> None:
    assert presenter.put("question", ASKED).json["question"]["number"] == 1
    assert presenter.vote(1, "K").status_code == 204
    assert presenter.vote(1, "V").status_code == 204
    assert presenter.vote(1, "V", "1" * 32).status_code == 204
    assert presenter.attendance().json == {"followers": 0, "answered": 2}
    revealed = presenter.post("question/reveal").json["question"]
    first = {"counts": {"V": 2}, "others": 0}
    assert (revealed["open"], revealed["rounds"]) == (False, [first])
    problem(presenter.vote(1, "K"), 409, "question")
    problem(presenter.post("question/reveal"), 409, "question")
    again = presenter.post("question/again").json["question"]
    assert (again["number"], again["open"], again["rounds"]) == (2, True, [first])
    problem(presenter.vote(1, "K"), 409, "question")
    presenter.vote(2, "both alike")
    second = {"counts": {"both alike": 1}, "others": 0}
    assert presenter.post("question/reveal").json["question"]["rounds"] == [first, second]
    assert presenter.attendance().json["answered"] == 0
    presenter.post("question/again")
    third = {"counts": {}, "others": 0}
    assert presenter.post("question/reveal").json["question"]["rounds"] == [second, third]


def test_an_answer_has_the_form_that_the_question_asks_for(presenter: Presenter) -> None:
    problem(presenter.vote(1, "K"), 409, "question")
    presenter.put("question", ASKED)
    problem(presenter.vote(1, "Q"), 422, "answer")
    presenter.put("question", {"text": "How many rows?", "kind": "number"})
    assert presenter.vote(2, "26").status_code == 204
    problem(presenter.vote(2, "many"), 422, "answer")
    problem(presenter.vote(2, "x" * 201), 413, "answer")
    for choices in (["one"], ["one", "two", "one"]):
        problem(presenter.put("question", {**ASKED, "choices": choices}), 422, "choices")
    problem(presenter.vote(2, "26", "abc"), 422, "voter")


def test_a_removed_question_takes_no_answers_and_the_next_one_has_its_own(presenter: Presenter) -> None:
    presenter.put("question", ASKED)
    presenter.vote(1, "K")
    assert presenter.delete("/question").json["question"] is None
    problem(presenter.vote(1, "K"), 409, "question")
    assert presenter.put("question", ASKED).json["question"]["number"] == 2
    assert presenter.attendance().json["answered"] == 0


def test_a_histogram_of_many_different_answers_lists_some_and_counts_the_others(presenter: Presenter) -> None:
    presenter.put("question", {"text": "Which token?", "kind": "token"})
    for number in range(15):
        presenter.vote(1, f"token {number}", f"{number:032x}")
    (histogram,) = presenter.post("question/reveal").json["question"]["rounds"]
    assert (len(histogram["counts"]), histogram["others"]) == (12, 3)


def test_an_ended_room_is_unknown(presenter: Presenter) -> None:
    assert presenter.delete().status_code == 204
    problem(presenter.put("place", PLACE), 404, "room")
    problem(presenter.vote(1, "K"), 404, "room")


def test_one_address_has_as_many_votes_as_pages_may_follow_from_it(new_client: NewClient) -> None:
    presenter = Presenter(new_client(max_viewers_per_address=2))
    presenter.put("question", ASKED)

    def vote(number: int, voter: int, address: str) -> int:
        body = {"question": number, "answer": "K", "voter": f"{voter:032x}"}
        there = {"REMOTE_ADDR": address}
        return presenter.client.put(f"{presenter.address}/answer", json=body, environ_overrides=there).status_code

    assert [vote(1, voter, "203.0.113.7") for voter in (1, 2, 3, 1)] == [204, 204, 429, 204]
    assert vote(1, 4, "198.51.100.7") == 204
    assert vote(2, 5, "198.51.100.7") == 409
    assert vote(1, 3, "203.0.113.7") == 429
    presenter.post("question/again")
    assert vote(2, 3, "203.0.113.7") == 204


def test_one_address_has_so_many_rooms_open_and_others_have_theirs(new_client: NewClient) -> None:
    client = new_client(shares_per_minute=0)

    def opened(address: str) -> Any:
        return client.post("/api/rooms", json=PLACE, environ_overrides={"REMOTE_ADDR": address})

    rooms = [opened("203.0.113.7").json for _ in range(MOST_PER_ADDRESS)]
    problem(opened("203.0.113.7"), 429, "room")
    assert opened("198.51.100.7").status_code == 201
    client.delete(f"/api/rooms/{rooms[0]['code']}", headers=bearer(rooms[0]["secret"]))
    assert opened("203.0.113.7").status_code == 201
