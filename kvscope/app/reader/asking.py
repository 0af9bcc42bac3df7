"""Answers what the page of a notebook's widget asks about its run, as a server would (docs/api.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from kvscope.app.reader.errors import CannotRead, CannotRun, NotThere

if TYPE_CHECKING:
    from kvscope.app.reader.run import Run

JSON, PROBLEM, BINARY = "application/json", "application/problem+json", "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response."""

    status: int
    media: str
    body: bytes


def answered(run: Run | None, path: str) -> Answer:
    """Returns the answer to a request with the method GET. A refusal is a problem document."""
    # Imported here: only a page that asks needs the web's libraries.
    from kvscope.app.http.problems import Problem, from_refusal
    from kvscope.model.api import Refused

    parts = urlsplit(path)
    try:
        value = _value(run, parts.path.split("/")[2:], dict(parse_qsl(parts.query, keep_blank_values=True)))
    except Refused as refused:
        return _problem(from_refusal(refused))
    except NotThere as error:
        return _problem(Problem(409, str(error)))
    except (CannotRead, CannotRun) as error:
        return _problem(Problem(422, str(error)))
    except KeyboardInterrupt:
        return _problem(Problem(422, "The kernel was interrupted before it had the answer. Ask again."))
    if isinstance(value, bytes):
        return Answer(200, BINARY, value)
    return Answer(200, JSON, json.dumps(value).encode())


def _problem(problem: Any) -> Answer:
    return Answer(problem.status, PROBLEM, json.dumps(problem.document()).encode())


def _value(run: Run | None, names: list[str], texts: Mapping[str, str]) -> Any:
    """Returns JSON, or bytes. `names`: of the path below /api."""
    from kvscope.app.http.questions import QUESTIONS, Steps
    from kvscope.app.http.requests import EmbeddingQuery, ValuesQuery, parsed

    match names:
        case ["embedding"] if run is not None:
            return run._of_model().asks("embedding", parsed(EmbeddingQuery, texts).token)
        case ["sessions", _, "values"] if run is not None:
            place = parsed(ValuesQuery, texts, {"layer": (0, run.model["layers"] - 1), "step": (0, len(run.steps) - 1)})
            return _stored(run, place.layer, place.step)
        case ["sessions", _, name] if run is not None and name in QUESTIONS:
            chosen = [step["token"]["id"] for step in run.steps]
            question = QUESTIONS[name]
            steps = Steps(run.log.open, list(enumerate(chosen)), question.first)
            return run._of_model().asks(name, *question.asked(steps, texts))
    raise NotThere("A notebook's kernel does not answer this; a server of KVScope does.")


def _stored(run: Run, layer: int, step: int | None) -> bytes:
    """Returns the stored `values` frame of a step; of all steps, as a stream. Raises NotThere."""
    from kvscope.model.log.frames import to_stream

    values = run._content.values
    if values is None:
        raise NotThere("No exact values are stored with this run.")
    stored = [
        payload
        for part, payload in zip(values.parts, values.payloads(), strict=True)
        if part["layer"] == layer and step in (None, part["step"])
    ]
    if not stored:
        raise NotThere(f"No exact values of layer {layer} are stored with this run.")
    return b"".join(to_stream(stored)) if step is None else stored[0]
