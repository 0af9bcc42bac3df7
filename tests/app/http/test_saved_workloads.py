"""A workload that is over is saved, linked, embedded, exported and taken back on the paths of a run."""

import io
import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image

from kvscope.model.log.frames import header, join, relabel, split
from kvscope.model.settings import Ask, Drafting, ServingSettings
from tests.support.over_http import bearer, bootstrap, frames, problem, share
from tests.support.over_http import ended as until_ended
from tests.support.tiny_runs import finish, service, workload_request

BINARY = "application/octet-stream"
ASKS = [{"prompt": "abc"}, {"prompt": "<b>why</b>", "arrives_ms": 5}]


def ended(client: FlaskClient, **more: Any) -> str:
    made = client.post("/api/workloads", json={"requests": ASKS, "rounds": [{}, {"at_once": 1}], **more})
    assert made.status_code == 201, made.text
    return until_ended(client, made.json["id"])


@pytest.fixture(scope="module")
def real() -> bytes:
    """A file of what an engine really did."""
    made = service()
    rounds = (ServingSettings(blocks=8, at_once=2), ServingSettings(blocks=8, draft=Drafting(tokens=2, layers=1)))
    asks = (Ask(prompt="hello there", max_new_tokens=4), Ask(prompt="hello you", max_new_tokens=3))
    asked = workload_request("w", "be brief", asks, rounds)
    return join(frame.payload for frame in made.workload(asked) + finish(made))


def kept(client: FlaskClient, file: bytes) -> Any:
    return client.post("/api/sessions", data=file, content_type=BINARY)


def test_it_becomes_a_session_that_is_there_without_its_run(client: FlaskClient, app: Flask) -> None:
    run = ended(client)
    words = {"title": "Two at once", "notes": [{"step": 1, "text": "Here."}], "open": {"step": 1}}
    shared = share(client, run, **words)
    assert share(client, run, **words)["id"] == shared["id"]
    client.delete(f"/api/runs/{run}", headers=bearer("no"))
    log = frames(client, run)
    app.extensions["kvscope"].runs.delete([run])
    manifest = client.get(f"/api/sessions/{shared['id']}").json
    assert (manifest["workload"], manifest["steps"]) == ({"requests": 2, "rounds": 2}, 2)
    assert (manifest["title"], manifest["open"]["step"], manifest["prompt"]) == ("Two at once", 1, "abc")
    stored = [header(payload) for payload in frames_of(client, shared["id"])]
    assert [each.data for each in stored] == [header(payload).data for payload in log]
    assert {each.run for each in stored} == {manifest["run"]} != {run}


def frames_of(client: FlaskClient, session: str) -> list[bytes]:
    return [frame.payload for frame in split(client.get(f"/api/sessions/{session}.safetensors").data)]


def test_its_link_and_its_embed_open_the_page_of_serving(client: FlaskClient) -> None:
    shared = share(client, ended(client))
    page = client.get(shared["url"])
    assert page.status_code == 200
    assert "/static/serving.js" in page.text
    told = bootstrap(page.text)
    assert (told["session"]["id"], told["framed"], told["session"]["shipped"]) == (shared["id"], False, False)
    assert "&lt;b&gt;why&lt;/b&gt;" in page.text, "what was asked, without JavaScript"
    assert "<b>why" not in page.text
    assert 'content="2 requests at once: “abc” — fake answers “d”"' in page.text
    framed = client.get(shared["embed"])
    assert bootstrap(framed.text)["framed"] is True
    answer = client.get(f"/oembed?url=http://localhost{shared['url']}").json
    assert answer["title"] == "abc and 1 more at once"
    picture = Image.open(io.BytesIO(client.get(f"/api/sessions/{shared['id']}.png").data))
    assert picture.size == (1200, 630)
    assert len(picture.convert("RGB").getcolors(2**16) or []) > 20


def test_what_a_workload_does_not_have_is_refused(client: FlaskClient) -> None:
    run = ended(client)
    levels = client.get(f"/api/runs/{run}/share").json["levels"]
    assert levels["attention"]["refusal"] is None
    assert "no exact values" in levels["qkv"]["refusal"]
    at = f"/api/runs/{run}/share"
    problem(client.post(at, json={"values": "qkv"}), 409, "values")
    problem(client.post(at, json={"open": {"step": 2}}), 422, "open.step")
    problem(client.post(at, json={"notes": [{"step": 2, "text": "x"}]}), 422, "notes[0].step")
    said = problem(client.post(at, json={"open": {"step": 0, "layer": 0}}), 422, "open.layer")
    assert said["detail"] == "open.layer does not exist in this log; leave it out."
    session = share(client, run)["id"]
    problem(client.get(f"/api/sessions/{session}/head?step=0&layer=0&head=0"), 409, "run")
    problem(client.get(f"/api/sessions/{session}/values?step=0&layer=0"), 404, "values")


def test_one_without_a_pass_cannot_be_saved(client: FlaskClient, app: Flask) -> None:
    run = ended(client)
    opened, *_, close = (frame for frame in split(join(frames(client, run))))
    runs = app.extensions["kvscope"].runs
    runs.append([relabel(opened.payload, "bare", 0), relabel(close.payload, "bare", 1)])
    said = problem(client.post("/api/runs/bare/share", json={}), 409, "run")
    assert said["detail"] == "The run has no complete pass to show."


@pytest.mark.parametrize("kind", ["html", "safetensors"])
def test_a_file_of_it_is_the_same_session_everywhere(client: FlaskClient, real: bytes, kind: str) -> None:
    session = kept(client, real).json["id"]
    again = kept(client, client.get(f"/api/sessions/{session}.{kind}").data)
    assert again.json["id"] == session
    assert frames_of(client, session) == [frame.payload for frame in split(real)]


def test_its_page_has_the_serving_bundle_inside_and_its_size_is_told_first(client: FlaskClient, real: bytes) -> None:
    session = kept(client, real).json["id"]
    told = client.head(f"/api/sessions/{session}.html")
    page = client.get(f"/api/sessions/{session}.html").data
    assert int(told.headers["Content-Length"]) == len(page)
    assert b'await import("kvscope/serving.js")' in page
    assert len(page) < 1_000_000
    manifest = page.partition(b'id="manifest">')[2].partition(b"</script>")[0]
    assert json.loads(manifest)["workload"] == {"requests": 2, "rounds": 2}
    problem(client.get(f"/api/sessions/{session}.html?level=qkv"), 409, "level")


@pytest.mark.parametrize("end", [10, 3000, -200, -1])
def test_a_file_that_is_cut_short_is_refused_and_nothing_is_kept(client: FlaskClient, real: bytes, end: int) -> None:
    before = client.get("/metrics").text
    problem(kept(client, real[:end]), 422, "file")
    assert stored(before) == stored(client.get("/metrics").text)


def stored(metrics: str) -> str:
    return next(line for line in metrics.splitlines() if line.startswith("kvscope_sessions_stored"))
