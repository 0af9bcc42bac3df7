"""`/api/rooms`: a presenter opens a room, shows places and asks questions. Followers answer; they read by socket
(room_news.py).

A room's state is {place, question, asked}. `place`: a `Place`. `question`: null, or {number, text, kind, choices, open,
rounds}, where `rounds` has the histograms of the last two revealed votes. `asked`: the number of the last vote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, jsonify

from kvscope.app.http.access import ANSWERS_IN_ROOM, OPENS_ROOM, PRESENTS, READS_ROOM, count
from kvscope.app.http.answers import Attendance, OpenedRoom, RoomState
from kvscope.app.http.limits import Limits
from kvscope.app.http.lookup import bearer
from kvscope.app.http.openapi import Answer, describe, json_answer
from kvscope.app.http.openers import RETRY_S, Openers
from kvscope.app.http.problems import Problem, unknown
from kvscope.app.http.requests import body
from kvscope.app.http.room_bodies import NUMBER, Place, Question, Vote
from kvscope.app.http.voters import Voters
from kvscope.app.store.rooms import MOST_ANSWERS, MOST_ROOMS, Count, Room, Rooms, RoomsFull

MOST_ROUNDS = 2
"""Histograms of one question: before a discussion and after it."""
MOST_COUNTS = 12
"""Answers listed in a histogram; the others are counted together."""
READ = (400, 413, 415, 422)
"""Statuses of a body that is refused."""
ROOM = {200: json_answer("the room", RoomState)}


def described(room: Room) -> dict[str, Any]:
    """Returns what followers get of a room."""
    shown = {name: room.state[name] for name in ("place", "question")}
    return {"code": room.code, "seq": room.seq, "expires": room.expires, **shown}


def open_room(rooms: Rooms, code: str) -> Room:
    """Returns the open room with a code. Raises Problem."""
    room = rooms.room(code)
    if room is None:
        raise unknown("room", code)
    return room


def blueprint(rooms: Rooms, limits: Limits, voters: Voters) -> Blueprint:
    """Returns the routes."""
    routes = Blueprint("rooms", __name__, url_prefix="/api/rooms")
    openers = Openers(rooms)

    def presented(code: str) -> Room:
        """Returns the room whose secret came with the request. Raises Problem."""
        secret = bearer("The room's secret")
        count(limits)
        room = open_room(rooms, code)
        if not rooms.is_secret(code, secret):
            raise Problem(403, "This is not the secret of this room.", field="Authorization")
        return room

    def changed(code: str, change: Callable[[dict[str, Any], Count], dict[str, Any]]) -> Response:
        """Changes a room. Returns its description. Raises Problem."""
        room = rooms.change(code, change)
        if room is None:
            raise unknown("room", code)
        return jsonify(described(room))

    @routes.post("")
    @describe(OPENS_ROOM, "Open a room", {201: json_answer("the room", OpenedRoom)}, *READ, 503, body=Place)
    def create() -> Response:
        place = body(Place)
        visitor = count(limits)
        openers.check(visitor)
        try:
            room, secret = rooms.create({"place": place.model_dump(), "question": None, "asked": 0})
        except RoomsFull:
            sentence = "As many rooms are open as this server allows. Try again later."
            raise Problem(503, sentence, field="room", limit=MOST_ROOMS, retry_after=RETRY_S) from None
        openers.add(visitor, room.code)
        response = jsonify({**described(room), "secret": secret})
        response.status_code = 201
        return response

    @routes.get("/<code>")
    @describe(READS_ROOM, "What a room shows", ROOM, 404)
    def read(code: str) -> Response:
        count(limits)
        return jsonify(described(open_room(rooms, code)))

    @routes.put("/<code>/place")
    @describe(PRESENTS, "Show a place to the followers of a room", ROOM, 404, *READ, body=Place)
    def show(code: str) -> Response:
        presented(code)
        place = body(Place)
        return changed(code, lambda state, _count: {**state, "place": place.model_dump()})

    @routes.put("/<code>/question")
    @describe(PRESENTS, "Ask the followers of a room", ROOM, 404, *READ, body=Question)
    def ask(code: str) -> Response:
        presented(code)
        question = body(Question)
        return changed(code, lambda state, _count: _voting(state, {**question.model_dump(), "rounds": []}))

    @routes.post("/<code>/question/again")
    @describe(PRESENTS, "Let the followers vote a second time", ROOM, 404, 409)
    def again(code: str) -> Response:
        presented(code)
        return changed(code, lambda state, _count: _voting(state, _question(state)))

    @routes.post("/<code>/question/reveal")
    @describe(PRESENTS, "End the vote and show its histogram", ROOM, 404, 409)
    def reveal(code: str) -> Response:
        number = _question(presented(code).state)["number"]
        response = changed(code, _revealed)
        rooms.forget_answers(code, number)
        return response

    @routes.delete("/<code>/question")
    @describe(PRESENTS, "Remove the question", ROOM, 404)
    def remove(code: str) -> Response:
        presented(code)
        return changed(code, lambda state, _count: {**state, "question": None})

    @routes.get("/<code>/attendance")
    @describe(PRESENTS, "How many follow, and have answered", {200: json_answer("the numbers", Attendance)}, 404)
    def attendance(code: str) -> Response:
        asked = presented(code).state["asked"]
        return jsonify(followers=rooms.followers(code), answered=rooms.answered(code, asked))

    @routes.put("/<code>/answer")
    @describe(
        ANSWERS_IN_ROOM, "Answer the question", {204: Answer("the answer counts")}, 404, 409, 429, *READ, body=Vote
    )
    def answer(code: str) -> Response:
        vote = body(Vote)
        visitor = count(limits)
        open_room(rooms, code)

        def check(state: dict[str, Any]) -> int:
            _check(state, vote)
            voters.count(visitor, code, vote.question, vote.voter)
            return vote.question

        stored = rooms.answer(code, check, vote.voter, vote.answer)
        if stored is None:
            raise unknown("room", code)
        if not stored:
            sentence = "The question has the most answers that it may have."
            raise Problem(429, sentence, field="answer", limit=MOST_ANSWERS)
        return Response(status=204)

    @routes.delete("/<code>")
    @describe(PRESENTS, "End a room; its answers are deleted", {204: Answer("it has ended")}, 404)
    def end(code: str) -> Response:
        presented(code)
        rooms.end(code)
        voters.forget(code)
        return Response(status=204)

    return routes


def _question(state: dict[str, Any]) -> dict[str, Any]:
    question: dict[str, Any] | None = state["question"]
    if question is None:
        raise Problem(409, "This room has no question now.", field="question")
    return question


def _voting(state: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    """Returns the state with an open vote on the question."""
    number = state["asked"] + 1
    return {**state, "asked": number, "question": {**question, "number": number, "open": True}}


def _revealed(state: dict[str, Any], counted: Count) -> dict[str, Any]:
    """Returns the state with the histogram of the vote, which takes no more answers."""
    question = _question(state)
    if not question["open"]:
        raise Problem(409, "The answers are already shown.", field="question")
    rounds = [*question["rounds"], _histogram(counted(question["number"]))][-MOST_ROUNDS:]
    return {**state, "question": {**question, "open": False, "rounds": rounds}}


def _histogram(answers: Counter[str]) -> dict[str, Any]:
    listed = answers.most_common(MOST_COUNTS)
    return {"counts": dict(listed), "others": answers.total() - sum(count for _, count in listed)}


def _check(state: dict[str, Any], vote: Vote) -> None:
    """Raises Problem unless the vote is one on the room's open question."""
    question = _question(state)
    if vote.question != question["number"] or not question["open"]:
        raise Problem(409, "This vote has ended.", field="question")
    if question["choices"] and vote.answer not in question["choices"]:
        raise Problem(422, "The answer must be one of the choices.", field="answer", limit=question["choices"])
    if question["kind"] == "number" and not NUMBER.fullmatch(vote.answer):
        raise Problem(422, "The answer must be a number, such as 1024 or -0.5.", field="answer")
