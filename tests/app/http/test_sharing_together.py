"""Several people at the same run at once: each sharing is whole, and none undoes another's."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from tests.support.integrity import damage_of
from tests.support.over_http import bearer, delete, finished, problem, share

PEOPLE = 8


def together(app: Flask, requests: list[tuple[str, str, dict[str, Any]]]) -> list[Any]:
    """Responses to requests (method, path, options) that are made at the same moment."""
    barrier = Barrier(len(requests))

    def ask(request: tuple[str, str, dict[str, Any]]) -> Any:
        method, path, options = request
        client = app.test_client()
        barrier.wait()
        return client.open(path, method=method, **options)

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(ask, requests))


def test_all_who_share_the_same_get_one_session_and_a_token_each(client: FlaskClient, app: Flask) -> None:
    url = f"/api/runs/{finished(client)}/share"
    shared = together(app, [("POST", url, {"json": {"title": "the same"}})] * PEOPLE)
    assert [response.status_code for response in shared] == [201] * PEOPLE
    assert len({response.json["id"] for response in shared}) == 1
    assert len({response.json["delete_token"] for response in shared}) == PEOPLE
    session = shared[0].json["id"]
    assert damage_of(app.extensions["kvscope"].sessions, session) == []
    path = f"/api/sessions/{session}"
    removed = together(
        app, [("DELETE", path, {"headers": bearer(response.json["delete_token"])}) for response in shared[1:]]
    )
    assert [response.status_code for response in removed] == [204] * (PEOPLE - 1)
    assert client.get(path).status_code == 200
    delete(client, shared[0].json)
    problem(client.get(path), 410, "session")


def test_all_who_share_the_same_run_with_words_of_their_own_get_a_session_each(client: FlaskClient, app: Flask) -> None:
    url = f"/api/runs/{finished(client)}/share"
    shared = together(app, [("POST", url, {"json": {"title": f"number {person}"}}) for person in range(PEOPLE)])
    titles = [client.get(f"/api/sessions/{response.json['id']}").json["title"] for response in shared]
    assert titles == [f"number {person}" for person in range(PEOPLE)]
    assert all(damage_of(app.extensions["kvscope"].sessions, response.json["id"]) == [] for response in shared)


def test_a_session_shared_again_while_it_is_deleted_is_there_for_who_shared_it(client: FlaskClient, app: Flask) -> None:
    run = finished(client)
    first = share(client, run, title="to and fro")
    path = f"/api/sessions/{first['id']}"
    for _ in range(10):
        again, removed = together(
            app,
            [
                ("POST", f"/api/runs/{run}/share", {"json": {"title": "to and fro"}}),
                ("DELETE", path, {"headers": bearer(first["delete_token"])}),
            ],
        )
        assert (again.status_code, removed.status_code) == (201, 204)
        assert again.json["id"] == first["id"]
        assert client.get(path).status_code == 200
        assert damage_of(app.extensions["kvscope"].sessions, first["id"]) == []
        first = again.json
