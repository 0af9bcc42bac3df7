"""The HTTP contract for saved sessions, good and bad input, over the real engine process with the fake model."""

import json
import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from safetensors import deserialize

from kvscope.app.store.errors import Damaged
from kvscope.app.store.manifest import label_of, unlinked
from kvscope.model.log.frames import from_stream, header, raw_header, split
from tests.support.over_http import (
    WORDS,
    NewClient,
    bootstrap,
    damage,
    delete,
    derived,
    finished,
    frames,
    problem,
    share,
    start,
)
from tests.support.stored import log_of

EXACT = (
    "head?step=0&layer=1&head=2",
    "head?step=2&layer=1&head=2",
    "block?step=1&layer=0&position=3",
    "algebra?step=1&layer=0&head=1",
    "candidates?step=1&text=a",
    "lens?step=1",
)


def shared_frames(client: FlaskClient, run: str) -> list[bytes]:
    """What a session of the run holds."""
    return [unlinked(payload) for payload in frames(client, run)]


def test_a_shared_run_is_where_the_answer_says(client: FlaskClient) -> None:
    response = client.post(f"/api/runs/{finished(client)}/share", json={})
    assert response.status_code == 201
    shared = response.json
    assert set(shared) == {"id", "url", "embed", "delete_token"}
    assert re.fullmatch(r"[a-z2-7]{12}", shared["id"])
    assert (shared["url"], shared["embed"]) == (f"/s/{shared['id']}", f"/embed/{shared['id']}")
    assert response.headers["Cache-Control"] == "no-store"
    assert client.get(response.headers["Location"]).json["id"] == shared["id"]
    assert client.get(shared["url"]).status_code == 200


def test_the_manifest_has_the_words_and_the_parts(client: FlaskClient) -> None:
    run = finished(client)
    response = client.get(f"/api/sessions/{share(client, run, **WORDS)['id']}")
    manifest, stored = response.json, shared_frames(client, run)
    assert (manifest["title"], manifest["open"]) == (WORDS["title"], WORDS["open"])
    assert manifest["notes"] == [WORDS["notes"][0], {"step": 0, "layer": None, "head": None, "text": "Prefill"}]
    assert (manifest["run"], manifest["prompt"], manifest["steps"]) == (label_of(run), "abc", 3)
    assert (manifest["schema"], manifest["bytes"], len(manifest["parts"])) == ("1", sum(map(len, stored)), len(stored))


def test_words_that_are_left_out_are_the_same_as_empty_ones(client: FlaskClient) -> None:
    run = finished(client)
    empty = {"title": "", "notes": [], "open": {"step": None, "view": None}}
    nothing = {"title": None, "notes": None, "open": None}
    shared = [share(client, run, **words) for words in ({}, empty, nothing)]
    assert len({each["id"] for each in shared}) == 1
    manifest = client.get(f"/api/sessions/{shared[0]['id']}").json
    assert manifest["open"] == dict.fromkeys(("step", "layer", "head", "query", "key", "view"))


def test_frames_and_exact_values_are_the_runs_own(client: FlaskClient) -> None:
    run = finished(client)
    base = f"/api/sessions/{share(client, run)['id']}"
    stored = shared_frames(client, run)
    for query, expected in (("", stored), ("?after=4", stored[5:]), ("?after=700", [])):
        assert list(from_stream(client.get(f"{base}/frames{query}").data)) == expected
    for asked in EXACT:
        theirs, ours = client.get(f"/api/runs/{run}/{asked}"), client.get(f"{base}/{asked}")
        assert theirs.status_code == ours.status_code == 200, ours.text
        assert theirs.data == ours.data


def test_the_archive_is_the_whole_log_with_its_words(client: FlaskClient) -> None:
    run = finished(client)
    session = share(client, run, **WORDS)["id"]
    response = client.get(f"/api/sessions/{session}.safetensors")
    assert response.headers["Content-Disposition"] == f'attachment; filename="kvscope-{session}.safetensors"'
    assert [frame.payload for frame in split(response.data)] == shared_frames(client, run)
    assert len(deserialize(response.data)) == 6  # a reader of the format alone opens it
    about = json.loads(raw_header(response.data)["__metadata__"]["session"])
    assert (about["id"], about["title"], about["open"]) == (session, WORDS["title"], WORDS["open"])


def test_the_longest_words_fit_however_they_are_escaped(client: FlaskClient) -> None:
    notes = [{"step": 0, "layer": 0, "head": 0, "text": "🙂" * 2000}] * 50
    body = json.dumps({"title": "🙂" * 200, "notes": notes}, ensure_ascii=True)
    url = f"/api/runs/{finished(client)}/share"
    response = client.post(url, data=body, content_type="application/json")
    assert response.status_code == 201, response.text
    assert len(client.get(f"/api/sessions/{response.json['id']}").json["notes"]) == 50
    long = client.post(url, data=body + " " * 600_000, content_type="application/json")
    assert problem(long, 413, "body")["limit"] == 1536 * 1024


def test_only_ended_runs_that_are_no_studies_can_be_shared(new_client: NewClient) -> None:
    client = new_client(model="delay=0.02")
    twin = derived(client, finished(client), "twin", cache="none")
    client.application.extensions["kvscope"].runs.append(log_of("empty", 0, closed=True))
    for run in (start(client, max_new_tokens=256), twin, "empty"):
        problem(client.post(f"/api/runs/{run}/share", json={}), 409, "run")
    problem(client.post("/api/runs/nobody/share", json={}), 404, "run")


def test_what_was_read_is_not_sent_again_and_is_gone_after_a_deletion(client: FlaskClient) -> None:
    shared = share(client, title="to delete", values="qkv")
    rests = ("", ".safetensors", "/frames", "/values?layer=1", "/values?layer=1&step=2", *(f"/{one}" for one in EXACT))
    read = {url: client.get(url) for url in (f"/api/sessions/{shared['id']}{rest}" for rest in rests)}
    known = {url: {"If-None-Match": first.headers["ETag"]} for url, first in read.items()}
    assert {(first.status_code, first.headers["Cache-Control"]) for first in read.values()} == {(200, "no-cache")}
    assert {client.get(url, headers=tag).status_code for url, tag in known.items()} == {304}
    delete(client, shared)
    for url, tag in known.items():
        problem(client.get(url), 410, "session")
        problem(client.get(url, headers=tag), 410, "session")


@pytest.mark.parametrize(
    ("words", "status", "field"),
    [
        ({"title": "a\nb"}, 422, "title"),
        ({"title": "a\0b"}, 422, "title"),
        ({"title": "a\x85b"}, 422, "title"),
        ({"title": "\u202etxt.exe"}, 422, "title"),
        ({"notes": [{"step": 0, "text": "a\u2069"}]}, 422, "notes[0].text"),
        ({"notes": [{"step": 3, "text": "a"}]}, 422, "notes[0].step"),
        ({"notes": [{"step": 0, "text": "a"}, {"step": 0, "layer": 2, "text": "a"}]}, 422, "notes[1].layer"),
        ({"notes": [{"step": 0, "layer": 1, "head": 3, "text": "a"}]}, 422, "notes[0].head"),
        ({"notes": [{"step": 0, "head": 0, "text": "a"}]}, 422, "notes[0].layer"),
        ({"open": {"query": 6}}, 422, "open.query"),
        ({"title": "a" * 2**20}, 413, "title"),
        ({"notes": [{"step": 0, "text": "<script>" * 2**17}]}, 413, "notes[0].text"),
        ({"title": "a" * 2**21}, 413, "body"),
    ],
)
def test_words_of_no_place_or_that_hide_something_are_named(
    client: FlaskClient, words: dict[str, Any], status: int, field: str
) -> None:
    problem(client.post(f"/api/runs/{finished(client)}/share", json=words), status, field)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Basic YTpi"}, 401),
        ({"Authorization": "Bearer nonsense"}, 403),
        ({"Authorization": "Bearer \xe9\xff"}, 403),
    ],
)
def test_without_its_token_nothing_is_deleted(client: FlaskClient, headers: dict[str, str], status: int) -> None:
    url = f"/api/sessions/{share(client)['id']}"
    response = client.delete(url, headers=headers)
    problem(response, status, "Authorization")
    assert response.headers.get("WWW-Authenticate") == ("Bearer" if status == 401 else None)
    assert client.get(url).status_code == 200
    problem(client.delete("/api/sessions/nobody", headers=headers), 404, "session")


def test_values_of_another_models_session_are_refused_and_its_frames_are_not(new_client: NewClient) -> None:
    client = new_client()
    base = f"/api/sessions/{share(client)['id']}"
    client.application.extensions["kvscope"].engine.info["sha256"] = "0" * 64
    for asked in EXACT:
        problem(client.get(f"{base}/{asked}"), 409, "model")
    assert len(list(from_stream(client.get(f"{base}/frames").data))) == 8


def test_without_a_model_a_session_opens(new_client: NewClient) -> None:
    url, client = share(new_client())["url"], new_client(model="load=30", ready=False)
    assert client.get(url).status_code == 200
    base = url.replace("/s/", "/api/sessions/")
    assert len(list(from_stream(client.get(f"{base}/frames").data))) == 8
    problem(client.get(f"{base}/lens?step=0"), 503)


def test_a_damaged_part_is_named_and_the_others_are_sent(client: FlaskClient, app: Flask) -> None:
    run = finished(client, max_new_tokens=4)
    session = share(client, run, title="damaged")["id"]
    base, stored = f"/api/sessions/{session}", shared_frames(client, run)
    damage(app, session, 3)
    assert list(from_stream(client.get(f"{base}/frames?after=3").data)) == stored[4:]
    assert "parts[3]" in problem(client.get(f"{base}/frames?after=2"), 500, "parts[3]")["detail"]
    with pytest.raises(Damaged):  # which ends the connection before the stream does
        _ = client.get(f"{base}/frames").data
    problem(client.get(f"{base}.safetensors"), 500, "parts[3]")
    damage(app, session, 0)
    problem(client.get(f"{base}/lens?step=0"), 500, "parts[0]")
    assert client.get(base).status_code == 200
    damage(app, session, None)
    problem(client.get(base), 500, "manifest")
    page = client.get(f"/s/{session}")
    assert page.status_code == 500
    assert "damaged" in page.text


def test_the_page_of_a_session_says_what_to_open(client: FlaskClient) -> None:
    run = finished(client)
    shared = share(client, run, **WORDS)
    response = client.get(shared["url"])
    manifest = client.get(f"/api/sessions/{shared['id']}").json
    carried = bootstrap(response.text)
    told = {name: manifest[name] for name in ("id", "title", "notes", "open", "run", "values")}
    assert carried["session"] == told | {"shipped": False}
    assert {name: value for name, value in carried.items() if name != "session"} == bootstrap(client.get("/").text)
    assert "<title>Where it looks · KVScope</title>" in response.text
    assert response.headers["Cache-Control"] == "no-cache"
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize(
    "hostile",
    [
        "</script><script>alert(1)</script>",
        "</title><img src=x onerror=alert(1)>",
        '"><svg onload=alert(1)>',
        "{{ 7 * 7 }}",
        "<!--<script>",
        "\u05d0\u05d1\u200f",
    ],
)
def test_hostile_words_stay_text(client: FlaskClient, hostile: str) -> None:
    harmless, run = finished(client), finished(client, prompt=f"{hostile} abc")
    for words in ({}, {"title": hostile, "notes": [{"step": 0, "text": hostile}]}):
        plain = share(client, harmless, **words and {"title": "plain", "notes": [{"step": 0, "text": "plain"}]})
        shared = share(client, run, **words)
        for address in ("url", "embed"):
            page = client.get(shared[address]).text
            assert page.count("<") == client.get(plain[address]).text.count("<")
            assert "49" not in re.findall(r"<title>(.*?)</title>", page)[0]
    carried = bootstrap(page)["session"]
    assert (carried["title"], carried["notes"][0]["text"]) == (hostile, hostile)


def test_a_link_that_leads_nowhere_is_answered_with_a_readable_page(client: FlaskClient) -> None:
    shared = share(client, title="short-lived")
    delete(client, shared)
    for url, status, words in (("/s/nobody", 404, "no such session"), (shared["url"], 410, "was deleted")):
        page = client.get(url)
        assert (page.status_code, page.mimetype) == (status, "text/html")
        assert words in page.text
        assert '<a href="../">' in page.text
        assert "<script" not in page.text


def test_a_link_does_not_lead_to_the_run_or_to_its_family(client: FlaskClient) -> None:
    run = finished(client)
    fork = derived(client, run, "fork", position=4, token=900)
    shared = share(client, fork)
    base = f"/api/sessions/{shared['id']}"
    read = [client.get(url).data for url in (shared["url"], base, f"{base}/frames", f"{base}.safetensors")]
    assert not any(name.encode() in text for name in (run, fork) for text in read)
    assert client.get(f"{base}/lens?step=2").json == client.get(f"/api/runs/{fork}/lens?step=2").json
    for name in (client.get(base).json["run"], header(next(from_stream(read[2]))).data["parent"]["run"]):
        problem(client.get(f"/api/runs/{name}"), 404, "run")
