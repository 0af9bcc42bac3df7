"""Lessons over HTTP: the page comes with its lesson, and any run can take the place of the recording."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from tests.support.lessons import HEAD
from tests.support.live_server import FAKE
from tests.support.over_http import finished, serving


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """A server with the recordings that ship, and the fake model."""
    folder = tmp_path_factory.mktemp("own")
    with serving(Settings(tmp_path_factory.mktemp("lessons"), service=FAKE, more_lessons_dir=folder)) as app:
        app.config["own"] = folder
        yield app


@pytest.fixture
def client(recorded: Flask) -> FlaskClient:
    return recorded.test_client()


def first_with_a_run(client: FlaskClient) -> str:
    lessons = [each["id"] for each in client.get("/api/lessons").json["lessons"]]
    return next(lesson for lesson in lessons if client.get(f"/api/lessons/{lesson}").json["run"])


def test_lessons_are_listed_in_their_order(client: FlaskClient) -> None:
    lessons = client.get("/api/lessons").json["lessons"]
    assert [each["number"] for each in lessons] == list(range(1, len(lessons) + 1))
    assert [each["id"] for each in lessons] == sorted(each["id"] for each in lessons)
    for each in lessons:
        assert client.get(each["url"]).status_code == 200


def test_a_page_comes_with_its_lesson_and_asks_the_engine_for_nothing(client: FlaskClient) -> None:
    lesson = first_with_a_run(client)
    for path in (f"/learn/{lesson}", f"/embed/learn/{lesson}"):
        page = client.get(path)
        assert '"steps"' in page.text
    assert "frame-ancestors" not in page.headers["Content-Security-Policy"]
    missing = client.get("/learn/none")
    assert (missing.status_code, 'learn"' in missing.text) == (404, True)


def test_a_lesson_is_computed_over_another_run(client: FlaskClient) -> None:
    lesson = first_with_a_run(client)
    own = finished(client, max_new_tokens=2)
    answer = client.get(f"/api/lessons/{lesson}?run={own}").json
    assert (answer["run"], answer["own"], answer["session"]) == (own, True, None)
    assert len(answer["steps"]) == len(client.get(f"/api/lessons/{lesson}").json["steps"])


def test_a_lesson_that_is_written_anew_is_shown_with_its_mistakes_in_place_of_what_they_are_in(
    recorded: Flask, client: FlaskClient
) -> None:
    file = recorded.config["own"] / "90-own.md"
    assert client.get("/learn/90-own").status_code == 404
    whole = HEAD + "## One\n\nWords.\n"
    file.write_text(whole)
    assert "Words." in client.get("/learn/90-own").text
    assert client.get("/api/lessons").json["lessons"][-1]["id"] == "90-own"
    assert "90-own" in [each["id"] for each in client.get("/api/index").json["entries"]]
    file.write_text(whole + "\n```step\nat: /nowhere\n```\n")
    assert "90-own.md:8: /nowhere is no page" in client.get("/learn/90-own").text
    file.write_text(whole + "\n```step\nwhere: here\n```\n")
    assert "90-own.md:13: where is unknown" in client.get("/learn/90-own").text
    for text, says in (
        (HEAD, "90-own.md:1: the file has no step"),
        (whole[4:], "90-own.md:1: the file must begin with"),
    ):
        file.write_text(text)
        page = client.get("/learn/90-own")
        assert (page.status_code, says in page.text) == (200, True), page.text
    file.unlink()


def test_what_is_not_there_is_said(client: FlaskClient) -> None:
    assert client.get("/api/lessons/none").status_code == 404
    missing = client.get(f"/api/lessons/{first_with_a_run(client)}?run=none")
    assert (missing.status_code, missing.json["field"]) == (404, "run")
