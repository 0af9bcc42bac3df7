"""The recorded runs that ship with the project, as they lie in the folder."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kvscope.app.bodies import read
from kvscope.app.learn.facts import percent
from kvscope.app.settings import Settings
from kvscope.app.store.manifest import canonical, name_of
from kvscope.app.travel.words import Share, bounds_of, bounds_of_workload
from kvscope.model.log import frames as codec
from tools.record import serving
from tools.record.__main__ import Untrue, card_of, recipes, recorded_as, words_of, workloads
from tools.record.measures import Recorded, holds, render

SHIPPED = sorted(Settings().recordings_dir.glob("*.safetensors"))


RUNS = [path for path in SHIPPED if path.stem not in {recipe["name"] for recipe in workloads()}]


@pytest.fixture(params=RUNS, ids=lambda path: path.stem)
def log(request: pytest.FixtureRequest) -> list[bytes]:
    path: Path = request.param
    return [frame.payload for frame in codec.split(path.read_bytes())]


def test_a_recording_is_a_whole_run_with_every_norm_and_every_time(log: list[bytes]) -> None:
    headers = [codec.header(payload) for payload in log]
    assert [header.seq for header in headers] == list(range(len(log)))
    assert (headers[0].kind, headers[-1].kind) == ("open", "close")
    assert headers[-1].data["steps"] == sum(header.kind == "step" for header in headers)
    assert max(map(len, log)) <= codec.MAX_FRAME_BYTES
    model, kinds = headers[0].data["model"], {header.kind for header in headers}
    assert {"layer", "step"} <= kinds
    for header, payload in zip(headers, log, strict=True):
        if header.kind == "layer":
            tensors = codec.tensors(payload)
            assert header.data["first_head"] == 0
            assert tensors["q_norm"].shape == tensors["attention"].shape[:3]
            assert tensors["q_norm"].shape[1] == model["heads"]
            assert (tensors["q_norm"] > 0).all()
        if header.kind == "step":
            ms = header.data["ms"]
            assert len(ms["layers"]) == model["layers"]
            assert all(layer > 0 for layer in ms["layers"])
            assert sum(ms["layers"]) < ms["forward"]


@pytest.fixture(scope="module")
def recorded() -> dict[str, Recorded]:
    """Every run of the gallery by its name."""
    return {recipe["name"]: Recorded(log_of(recipe["name"])) for recipe in recipes()}


def log_of(name: str) -> list[bytes]:
    return [frame.payload for frame in codec.split(file_of(name).read_bytes())]


def file_of(name: str) -> Path:
    return Settings().recordings_dir / f"{name}.safetensors"


def entry_of(name: str, entry: str) -> dict[str, Any]:
    return json.loads(codec.raw_header(file_of(name).read_bytes())["__metadata__"][entry])


RECIPES = [pytest.param(order, recipe, id=recipe["name"]) for order, recipe in enumerate(recipes())]


def test_the_gallery_shows_enough_different_things_and_ships_small() -> None:
    assert len({recipe["shows"] for recipe in recipes()}) >= 8
    assert {file_of(recipe["name"]) for recipe in (*recipes(), *workloads())} == set(SHIPPED)
    sizes = [path.stat().st_size for path in SHIPPED]
    assert max(sizes) <= 900_000
    assert sum(sizes) <= 5_000_000


@pytest.mark.parametrize(("order", "recipe"), RECIPES)
def test_what_is_said_of_a_recording_is_true_of_its_frames(
    recorded: dict[str, Recorded], order: int, recipe: dict[str, Any]
) -> None:
    """Every claim is checked again and every number measured again: the file says what they come to."""
    run, name = recorded[recipe["name"]], recipe["name"]
    session = entry_of(name, "session")
    assert words_of(recipe, run) == {field: session[field] for field in ("title", "notes", "open")}
    assert card_of(order, recipe, run) == entry_of(name, "gallery")
    assert 2 <= len(session["notes"]) <= 5
    for note in recipe["note"]:
        assert "%" not in re.sub(r"\{[^}]+\}", "", note["text"]), "a share is measured, not typed"


def test_what_is_said_of_a_recorded_workload_is_true_of_its_frames() -> None:
    for order, recipe in enumerate(workloads(), len(recipes())):
        payloads, session = log_of(recipe["name"]), entry_of(recipe["name"], "session")
        run, words = serving.RecordedWorkload(payloads), {each: session[each] for each in ("title", "notes", "open")}
        assert serving.recorded_as(recipe, payloads)
        assert serving.words_of(recipe, run) == words
        assert serving.card_of(order, recipe, run) == entry_of(recipe["name"], "gallery")
        assert name_of(canonical(words), payloads).startswith(session["id"])
        assert all(each["others"]["requests"] == 0 for each in run.passes), "nobody else was served meanwhile"
        bounds = bounds_of_workload(len(run.passes))
        assert read(Share, canonical(words), bounds).words() == words


@pytest.mark.parametrize(("order", "recipe"), RECIPES)
def test_a_recording_has_the_settings_it_is_said_to_have_and_the_id_of_its_content(
    order: int, recipe: dict[str, Any]
) -> None:
    payloads, session = log_of(recipe["name"]), entry_of(recipe["name"], "session")
    assert recorded_as(recipe, payloads)
    words = {field: session[field] for field in ("title", "notes", "open")}
    assert name_of(canonical(words), payloads).startswith(session["id"])
    data = codec.header(payloads[0]).data
    steps = codec.header(payloads[-1]).data["steps"]
    model = data["model"]
    bounds = bounds_of(model["layers"], model["heads"], steps, len(data["tokens"]) + steps)
    assert read(Share, canonical(words), bounds).words() == words


def test_a_note_shows_nothing_that_its_step_has_not_computed(recorded: dict[str, Recorded]) -> None:
    for recipe in recipes():
        run = recorded[recipe["name"]]
        for note in recipe["note"]:
            queries = [int(query) for query in re.findall(r"\{weight \d+ \d+ (\d+) \d+\}", note["text"])]
            assert all(query < run.prompt_length + note["step"] for query in queries), note["text"]
            pinned = re.findall(r"\{weight (\d+) (\d+)", note["text"])
            assert not pinned or (str(note["layer"]), str(note["head"])) in pinned, note["text"]


def test_the_pair_of_temperatures_begins_with_the_very_same_scores(recorded: dict[str, Recorded]) -> None:
    low, high = recorded["temperature-low"], recorded["temperature-high"]
    assert list(low.top_ids[0]) == list(high.top_ids[0])
    assert list(low.top_logits[0]) == list(high.top_logits[0])
    assert low.text(low.prompt_length) == high.steps[0]["top_tokens"][0]["text"].strip()


def test_the_measures_tell_right_from_wrong(recorded: dict[str, Recorded]) -> None:
    run = recorded["animal"]
    said = {0.754: "75 %", 0.996: "99.6 %", 0.9999: "more than 99.9 %", 0.002: "0.2 %", 0.00001: "less than 0.01 %"}
    assert {share: percent(share).replace("\u202f", " ") for share in said} == said
    assert render("{token 8} {token 1} {heads}", run) == "it animal 270"
    assert render("{weight 13 8 8 1}", run) != render("{weight 13 8 8 2}", run)
    assert not holds("best-head 8 1 13 7", run)
    assert not holds("same 1 8", run)
    assert not holds("rises 1 0", run) or not holds("rises 0 1", run)
    assert not holds("written 1 ␣dog", run)
    assert not holds("likeliest 1", recorded["temperature-high"])
    with pytest.raises(Untrue, match="best-head 8 1 13 7"):
        words_of({"name": "x", "note": [{"step": 0, "text": "x", "holds": ["best-head 8 1 13 7"]}]}, run)
