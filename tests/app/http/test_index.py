"""`/api/index`: what the search finds, and that each of its addresses leads to a place that is there."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient

from kvscope.app import create_app
from kvscope.app.learn.addresses import address_of, counts_of, outside
from kvscope.app.page_table import pages
from kvscope.app.paths import STATIC
from kvscope.app.settings import Settings
from kvscope.app.store.gallery import recordings_in
from kvscope.model.log.frames import header
from kvscope.model.log.reader import LogReader
from tests.support.contract import ContractClient


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    app = create_app(Settings(data_dir=tmp_path_factory.mktemp("index")))
    app.test_client_class = ContractClient
    yield app.test_client()
    app.extensions["kvscope"].runs.close()


@pytest.fixture(scope="module")
def entries(client: FlaskClient) -> list[dict[str, Any]]:
    return client.get("/api/index").json["entries"]


def test_it_has_every_table_page_recording_and_lesson(client: FlaskClient, entries: list[dict[str, Any]]) -> None:
    words = STATIC / "shared" / "words"
    by_kind = {kind: {each["id"] for each in entries if each["kind"] == kind} for kind in {e["kind"] for e in entries}}
    assert by_kind["term"] == set(json.loads((words / "glossary.json").read_text("utf-8")))
    for kind, table in json.loads((words / "find.json").read_text("utf-8")).items():
        assert by_kind[kind] == {each["id"] for each in table}
    assert by_kind["page"] == {page.id for page in pages()}
    assert by_kind["recording"] == {each.card.id for each in recordings_in(Settings().recordings_dir) if each.card}
    assert by_kind["lesson"] == {each["id"] for each in client.get("/api/lessons").json["lessons"]}


def test_a_lesson_has_the_titles_of_its_steps_and_the_questions_that_lead_to_it(entries: list[dict[str, Any]]) -> None:
    also = next(each["also"] for each in entries if each["id"] == "12-two-phases")
    assert {"Why does the first word take longest?", "A triangle, then single rows"} <= set(also)
    assert "What you can now explain" not in also  # a title of most lessons


def test_every_address_leads_to_a_place_that_is_there(client: FlaskClient, entries: list[dict[str, Any]]) -> None:
    recordings = {each.card.id: each for each in recordings_in(Settings().recordings_dir) if each.card}
    served = client.application.url_map.bind("localhost")
    wrong = {}
    for address in {each["address"] for each in entries if each["address"]}:
        parts = urlsplit(address)
        served.match(parts.path)
        if parts.path.startswith("/learn/") and parts.fragment:
            lesson = client.get(f"/api/lessons/{parts.path.removeprefix('/learn/')}").json
            assert 1 <= int(parts.fragment) <= len(lesson["steps"]), address
        if parts.path.startswith("/s/"):
            recording = recordings[parts.path.removeprefix("/s/")]
            if recording.workload:
                passes = sum(frame.kind == "pass" for frame in map(header, recording.frames()))
                named = int(parse_qs(parts.fragment)["pass"][0]) if parts.fragment else 0
                problem = None if named < passes else f"{named} of {passes} passes"
            else:
                place = address_of(f"/#{parts.fragment}").state
                problem = outside(place, counts_of(LogReader(recording.frames())))
            if problem:
                wrong[address] = problem
    assert wrong == {}


def test_parameters_name_models_gpus_and_experiments_that_are_there(entries: list[dict[str, Any]]) -> None:
    known = {name: {each["id"] for each in _table(f"{name}s")} for name in ("model", "gpu")}
    for each in entries:
        for name, [value] in parse_qs(urlsplit(each["address"] or "").query).items():
            assert name not in known or value.isdecimal() or value in known[name], each["address"]


def test_without_a_recording_its_places_are_left_out(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path / "data", recordings_dir=tmp_path))
    listed = app.test_client().get("/api/index").json["entries"]
    app.extensions["kvscope"].runs.close()
    assert not [each for each in listed if (each["address"] or "").startswith("/s/")]
    assert "recording" not in {each["kind"] for each in listed}
    softmax = next(each for each in listed if each["id"] == "softmax")
    assert (softmax["text"] != "", softmax["address"]) == (True, None)


def _table(name: str) -> list[dict[str, Any]]:
    return json.loads((STATIC / "memory" / f"{name}.json").read_text("utf-8"))
