"""`python -m tools.record`: records the runs in app/recordings as tools/record/recipes.toml describes.

A run is recorded, with the default model or the recipe's own, if its file is missing or was made with other settings;
delete a file to record its run again. Words and card are always written again, from the frames. What a recipe claims of
its run must be true, or nothing is written.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kvscope.app.bodies import check
from kvscope.app.run_bodies import NewRun, new_id
from kvscope.app.settings import Settings
from kvscope.app.store.manifest import SHORTEST_ID, canonical, name_of
from kvscope.model.api import ChangedRequest, ValuesRequest
from kvscope.model.log import frames as codec
from kvscope.model.log.archive import Archive
from kvscope.model.log.schema import rows_of
from kvscope.model.settings import Change
from tools.record import serving
from tools.record.measures import Recorded, holds, picture_of, render
from tools.record.models import Services

RECIPES = Path(__file__).with_name("recipes.toml")
SETTINGS = ("prompt", "chat", "max_new_tokens", "strategy", "temperature", "top_k", "top_p", "seed")
MAX_FILE_BYTES = 900_000


class Untrue(Exception):
    """A recipe's claim about its run is false."""


def recipes() -> list[dict[str, Any]]:
    """Returns the recipes, in the order of their cards."""
    listed: list[dict[str, Any]] = tomllib.loads(RECIPES.read_text("utf-8"))["run"]
    return listed


def workloads() -> list[dict[str, Any]]:
    """Returns the recipes of workloads, whose cards come after those of runs."""
    listed: list[dict[str, Any]] = tomllib.loads(RECIPES.read_text("utf-8"))["workload"]
    return listed


def asked(recipe: dict[str, Any]) -> NewRun:
    """Returns the request for the run that a recipe describes."""
    return check(NewRun, {name: recipe[name] for name in SETTINGS if name in recipe})


def changes_of(recipe: dict[str, Any]) -> tuple[Change, ...]:
    """Returns the changes of the recipe's run; most have none."""
    return tuple(Change(**change) for change in recipe.get("changes", ()))


def words_of(recipe: dict[str, Any], run: Recorded) -> dict[str, Any]:
    """Returns title, notes and opening view, as a session has them. Raises Untrue."""
    for note in recipe["note"]:
        for claim in note.get("holds", []):
            if not holds(claim, run):
                raise Untrue(f"{recipe['name']}: not so: {claim}")
    notes = [
        {"step": note["step"], "layer": note.get("layer"), "head": note.get("head"), "text": render(note["text"], run)}
        for note in recipe["note"]
    ]
    return {"title": recipe["title"], "notes": notes, "open": recipe["open"]}


def card_of(order: int, recipe: dict[str, Any], run: Recorded) -> dict[str, Any]:
    """Returns what the gallery shows of the run."""
    return {
        "order": order,
        "starts": recipe.get("starts", False),
        "shows": recipe["shows"],
        "sentence": recipe["sentence"],
        "picture": picture_of(recipe["picture"], recipe["open"], run),
    }


def joined(order: int, recipe: dict[str, Any], payloads: list[bytes], values: list[bytes]) -> bytes:
    """Returns the file: frames, session, card, exact values. Raises Untrue."""
    if "requests" in recipe:
        served = serving.RecordedWorkload(payloads)
        words, card, created = serving.words_of(recipe, served), serving.card_of(order, recipe, served), served.open
    else:
        run = Recorded(payloads)
        words, card, created = words_of(recipe, run), card_of(order, recipe, run), run.open
    session = {"id": name_of(canonical(words), payloads)[:SHORTEST_ID], **words, "created": created["created"]}
    if values:
        session["values"] = recipe["values"]
    entries = {"session": session, "gallery": card}
    about = {name: json.dumps(entry, ensure_ascii=False) for name, entry in entries.items()}
    return codec.join(payloads, about, values)


def recorded_as(recipe: dict[str, Any], payloads: list[bytes]) -> bool:
    """Returns whether these frames are of a run with the recipe's settings."""
    if "requests" in recipe:
        return serving.recorded_as(recipe, payloads)
    wanted = asked(recipe).of("any", "nobody")
    data = codec.header(payloads[0]).data
    made = (data["prompt"], data["chat"], data["sampling"], data["limits"]["max_new_tokens"])
    changed = data["changed"]["changes"] if data["changed"] else []
    return (*made, changed) == (
        *(wanted.prompt, wanted.chat, wanted.sampling.model_dump(), wanted.max_new_tokens),
        [change.model_dump() for change in changes_of(recipe)],
    )


def stored_values(path: Path, recipe: dict[str, Any]) -> list[bytes]:
    """Returns the exact values in a recording's file if they are those of the recipe, else none."""
    archive = Archive(memoryview(path.read_bytes()))
    wanted = ([recipe["open"]["layer"]], recipe["values"]) if "values" in recipe else ([], None)
    return list(archive.values()) if (archive.layers, archive.about.get("values")) == wanted else []


class Recorder:
    """Runs recipes, each on its own model."""

    def __init__(self) -> None:
        self._services = Services()

    def record(self, recipe: dict[str, Any]) -> Iterator[bytes]:
        """Returns the frames of a new run."""
        service = self._services.of(recipe.get("model"))
        if "requests" in recipe:
            return self._frames(service, service.workload(serving.asked(recipe).of(new_id())))
        run = new_id()
        # Without an owner: no recording begins with rows that another one left in the cache, unless its recipe says so.
        if recipe.get("reuses"):
            earlier = new_id()
            list(self._frames(service, service.start(asked({**recipe, "max_new_tokens": 1}).of(earlier, run))))
        made = self._frames(service, service.start(asked(recipe).of(run, run)))
        if changes := changes_of(recipe):
            return self._frames(service, service.changed(ChangedRequest(new_id(), run, changes, (next(made),))))
        return made

    def values(self, recipe: dict[str, Any], payloads: list[bytes]) -> list[bytes]:
        """Returns the exact values of every step in the layer that the recording opens with, at the recipe's level."""
        if "values" not in recipe:
            return []
        service, ids = self._services.of(recipe.get("model")), codec.token_ids(payloads)
        heads = [codec.header(payload) for payload in payloads]
        prompt, values = len(heads[0].data["tokens"]), []
        for step in range(sum(head.kind == "step" for head in heads)):
            end = prompt + step
            first = rows_of(prompt, step).start
            request = ValuesRequest(heads[0].run, step, ids[:end], first, ids[end], recipe["values"])
            values.append(service.values(request)[recipe["open"]["layer"]].payload)
        return values

    @staticmethod
    def _frames(service: Any, frames: list[Any]) -> Iterator[bytes]:
        while frames[-1].kind != "close":
            frames += service.advance()
        return (frame.payload for frame in frames)


def main(folder: Path) -> int:
    recorder, total = Recorder(), 0
    for order, recipe in enumerate([*recipes(), *workloads()]):
        path = folder / f"{recipe['name']}.safetensors"
        kept = [frame.payload for frame in codec.split(path.read_bytes())] if path.exists() else []
        stored = stored_values(path, recipe) if kept else []
        new = not kept or not recorded_as(recipe, kept)
        payloads = list(recorder.record(recipe)) if new else kept
        try:
            file = joined(order, recipe, payloads, stored if stored and not new else recorder.values(recipe, payloads))
        except Untrue as error:
            print(error, file=sys.stderr)
            return 1
        if len(file) > MAX_FILE_BYTES:
            print(f"{path.name} would have {len(file):,} bytes; at most {MAX_FILE_BYTES:,} ship.", file=sys.stderr)
            return 1
        path.write_bytes(file)
        total += len(file)
        print(f"{path.name}: {len(file):,} bytes, {'recorded' if new else 'frames kept'}")
    print(f"{total:,} bytes in all")
    return 0


if __name__ == "__main__":
    sys.exit(main(Settings().recordings_dir))
