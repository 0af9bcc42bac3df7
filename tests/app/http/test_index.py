"""`/api/index`: what the search finds, and that each of its addresses leads to a place that is there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient

from kvscope.app import create_app
from kvscope.app.learn.addresses import address_of, counts_of, outside
from kvscope.app.learn.library import Library
from kvscope.app.page_table import pages
from kvscope.app.paths import LESSONS, STATIC
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
    tables = json.loads((words / "find.json").read_text("utf-8"))
    tables["printed"] += json.loads((STATIC / "shared" / "figures" / "figures.json").read_text("utf-8"))
    for kind, table in tables.items():
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
    wrong = {}
    for address in {each["address"] for each in entries if each["address"]} | {*leads(), *shown()}:
        parts = urlsplit(address)
        assert client.get(address).status_code == 200, address
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


def test_parameters_name_models_gpus_and_figures_that_are_there(entries: list[dict[str, Any]]) -> None:
    folders = {"model": "shared/sizes", "gpu": "shared/sizes", "figure": "shared/figures"}
    known = {name: {each["id"] for each in _table(folder, name)} for name, folder in folders.items()}
    for address in [*(each["address"] or "" for each in entries), *leads(), *shown()]:
        for name, [value] in parse_qs(urlsplit(address).query).items():
            assert name not in known or value.isdecimal() or value in known[name], address


def test_without_a_recording_its_places_are_left_out(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path / "data", recordings_dir=tmp_path))
    listed = app.test_client().get("/api/index").json["entries"]
    app.extensions["kvscope"].runs.close()
    assert not [each for each in listed if (each["address"] or "").startswith("/s/")]
    assert "recording" not in {each["kind"] for each in listed}
    softmax = next(each for each in listed if each["id"] == "softmax")
    assert (softmax["text"] != "", softmax["address"]) == (True, None)


def leads() -> Iterator[str]:
    """Yields the places that reading paths and questions lead to."""
    guide = Library(LESSONS / "en", ()).paths.as_json()
    for section in (*(section for path in guide["paths"] for section in path["sections"]), *guide["questions"]):
        if section["leads"]:
            yield section["leads"]


def shown() -> Iterator[str]:
    """Yields the places that the page of printed figures names."""
    return (figure["shows"] for figure in _table("shared/figures", "figure"))


def _table(folder: str, name: str) -> list[dict[str, Any]]:
    return json.loads((STATIC / folder / f"{name}s.json").read_text("utf-8"))
