"""JSON Schemas (2020-12) of the HTTP contract: bodies that are taken and answers that are given.

A limit is the constant that the reader of the body checks. What is taken has no members but those named; what is given
may get more.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kvscope.app.http.requests import ACTIONS, MAX_SEED, MAX_TEMPERATURE, MAX_TOP_K, STRATEGIES, TWINS
from kvscope.app.store.values import LEVELS
from kvscope.app.travel.words import MAX_NOTE_CHARS, MAX_NOTES, MAX_TITLE_CHARS, PLACE, POINT, VIEWS
from kvscope.model.api import (
    MAX_BEAM_LENGTH,
    MAX_BEAMS,
    MAX_CANDIDATE_CHARS,
    MAX_NEW_TOKENS,
    MAX_PROMPT_CHARS,
    RunRequest,
    Sampling,
)

Schema = dict[str, Any]


def reference(name: str) -> Schema:
    """What stands where the schema of this name is meant."""
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    """The schema, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def whole(minimum: int, maximum: int | None = None, **more: Any) -> Schema:
    """An integer in bounds, both included."""
    return {"type": "integer", "minimum": minimum, **({} if maximum is None else {"maximum": maximum}), **more}


def listed(items: Schema, **more: Any) -> Schema:
    """An array."""
    return {"type": "array", "items": items, **more}


def one_of(*values: str, **more: Any) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(values), **more}


def taken(required: tuple[str, ...], **properties: Schema) -> Schema:
    """An object in a request: no other members."""
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


def given(*optional: str, **properties: Schema) -> Schema:
    """An object in an answer: these members are there, but for the optional ones, and others may come to be."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties}


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
COUNT = whole(0)
COORDINATE = nullable(COUNT)
ANYTHING: Schema = {}

SHOWN = r"[^\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]"
"""A character that a title may have: no control character, no bidi embedding, override or isolate."""
TITLE: Schema = {"type": "string", "maxLength": MAX_TITLE_CHARS, "pattern": f"^{SHOWN}*$"}
NOTE_TEXT: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NOTE_CHARS,
    "pattern": rf"^(?:{SHOWN}|\n)*$",
}

STEP = whole(0, description="which step; 0 is prefill")
LAYER = whole(0)
HEAD = whole(0)
POSITION = whole(0, description="which token, counted from the first of the prompt")
AFTER = whole(-1, 2**31, default=-1, description="seq of the last frame that is known already; -1 for none")
CANDIDATE: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_CANDIDATE_CHARS}

_run, _sampling = RunRequest("", ""), asdict(Sampling())

REQUESTS: dict[str, Schema] = {
    "NewRun": taken(
        ("prompt",),
        prompt={"type": "string", "minLength": 1, "maxLength": MAX_PROMPT_CHARS},
        chat=BOOLEAN | {"default": _run.chat, "description": "wrap the prompt in the model's chat template"},
        max_new_tokens=whole(1, MAX_NEW_TOKENS, default=_run.max_new_tokens),
        strategy=one_of(*STRATEGIES, default=_sampling["strategy"]),
        temperature=NUMBER | {"exclusiveMinimum": 0, "maximum": MAX_TEMPERATURE, "default": _sampling["temperature"]},
        top_k=whole(0, MAX_TOP_K, default=_sampling["top_k"], description="0 for no limit"),
        top_p=NUMBER | {"exclusiveMinimum": 0, "maximum": 1, "default": _sampling["top_p"]},
        seed=whole(0, MAX_SEED, default=_sampling["seed"]),
        model={"type": ["string", "null"], "description": "the name of the model that must be loaded; null for any"},
    ),
    "Control": taken(("action",), action=one_of(*ACTIONS)),
    "Fork": taken(
        ("position", "token"),
        position=whole(0, description="of the token that is put in another's place: one that the run chose"),
        token=whole(0, description="its id in the vocabulary"),
    ),
    "Twin": taken(("cache",), cache=one_of(*TWINS)),
    "Beam": taken(("step", "beams", "length"), step=STEP, beams=whole(1, MAX_BEAMS), length=whole(1, MAX_BEAM_LENGTH)),
    "Share": taken(
        (),
        title=nullable(TITLE),
        notes=nullable(
            listed(taken(("step", "text"), step=STEP, layer=COORDINATE, head=COORDINATE, text=NOTE_TEXT))
            | {"maxItems": MAX_NOTES}
        ),
        open=nullable(taken((), **dict.fromkeys(POINT, COORDINATE), view=nullable(one_of(*VIEWS)))),
        values=one_of(*LEVELS, default=LEVELS[0], description="what is stored beyond the frames"),
    ),
}
"""Bodies. Steps, layers, heads and positions must be the run's: a larger one is a 422."""

TOKEN = given("bytes", "special", id=COUNT, text=TEXT, bytes=TEXT, special=BOOLEAN)
PARENT = nullable(given("token", run=TEXT, position=COUNT, token=ANYTHING))
STATUS = one_of("running", "paused", "closed")
REASON = nullable(one_of("eos", "length", "stopped", "failed", "interrupted"))
STUDY = nullable(given(kind=one_of("twin", "beam"), of=TEXT))
TIME: Schema = {"type": "string", "format": "date-time"}
SESSION_ID: Schema = {"type": "string", "pattern": "^[a-z2-7]{12,52}$"}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}

ANSWERS: dict[str, Schema] = {
    "Problem": given("field", "limit", title=TEXT, status=whole(400, 599), detail=TEXT, field=TEXT, limit=ANYTHING)
    | {"description": "RFC 9457. `field` is what the problem is about, `limit` the bound that was broken."},
    "Model": given(name=TEXT, sha256=TEXT, layers=whole(1), heads=whole(1), vocab=whole(1))
    | {"description": "The model object of docs/frames.md."},
    "Created": given(id=TEXT, url=TEXT),
    "RunStatus": given(
        id=TEXT,
        url=TEXT,
        status=STATUS,
        reason=REASON,
        error=nullable(TEXT),
        last_seq=COUNT,
        steps=COUNT,
        bytes=COUNT,
        prompt_tokens=COUNT,
        study=STUDY,
        model=reference("Model"),
        prompt=TEXT,
        chat=BOOLEAN,
        sampling=given(strategy=TEXT, temperature=NUMBER, top_k=COUNT, top_p=NUMBER, seed=COUNT),
        limits=given(max_new_tokens=whole(1), max_positions=whole(1)),
        parent=PARENT,
        created=TIME,
    ),
    "Controlled": given(id=TEXT, status=STATUS),
    "Family": given(
        root=TEXT,
        runs=listed(
            given(id=TEXT, parent=PARENT, study=STUDY, status=STATUS, reason=REASON, steps=COUNT, created=TIME)
        ),
    ),
    "Candidates": given(candidates=listed(TOKEN)),
    "Lens": given(
        token=TOKEN,
        layers=listed(given(layer=COUNT, top=listed(TOKEN), chosen=given(prob=NUMBER, rank=COUNT))),
    ),
    "ShareChoices": given(
        levels=given(
            **dict.fromkeys(LEVELS, given(bytes=COUNT, estimated=BOOLEAN, refusal=nullable(TEXT))),
        ),
        computing=nullable(given(done=COUNT, steps=whole(1))),
    ),
    "Shared": given(id=SESSION_ID, url=TEXT, embed=TEXT, delete_token=TEXT),
    "Session": given(
        "values",
        id=SESSION_ID,
        schema={"const": "1"},
        title=TITLE,
        notes=listed(given(**dict.fromkeys(PLACE, COORDINATE), text=NOTE_TEXT)),
        open=given(**dict.fromkeys(POINT, COORDINATE), view=nullable(one_of(*VIEWS))),
        created=TIME,
        run=TEXT,
        prompt=TEXT,
        model=reference("Model"),
        steps=whole(1),
        bytes=whole(1),
        parts=listed(given(seq=COUNT, kind=TEXT, bytes=whole(1), sha256=SHA256)),
        values=nullable(
            given(
                level=one_of(*LEVELS[1:]),
                bytes=whole(1),
                parts=listed(given(step=COUNT, layer=COUNT, bytes=whole(1), sha256=SHA256)),
            )
        ),
    )
    | {"description": "The manifest of a saved session (docs/sessions.md)."},
    "OEmbed": given(
        "thumbnail_url",
        "thumbnail_width",
        "thumbnail_height",
        version={"const": "1.0"},
        type={"const": "rich"},
        provider_name=TEXT,
        provider_url=TEXT,
        title=TEXT,
        html=TEXT,
        width=whole(1),
        height=whole(1),
        cache_age=whole(1),
        thumbnail_url=TEXT,
        thumbnail_width=whole(1),
        thumbnail_height=whole(1),
    )
    | {"description": "https://oembed.com"},
    "Health": given(status={"const": "ok"}, version=TEXT),
    "Readiness": given(
        state=one_of("fetching", "loading", "ready", "failed", "restarting"),
        phase=TEXT,
        done=COUNT,
        total=COUNT,
        message=TEXT,
        model=nullable(reference("Model")),
    ),
}

SCHEMAS = REQUESTS | ANSWERS

PROBLEMS = {
    400: "The body is not what it says it is, or has a member of another name.",
    401: "A token is needed.",
    403: "That is not the token.",
    404: "There is nothing of this id.",
    409: "The run is not in a state for it, or another model is loaded.",
    410: "The session was deleted.",
    413: "The body, or the text in it, is too long.",
    415: "The body is of another media type.",
    422: "A value is missing, of the wrong type, or out of bounds.",
    429: "The server has as many runs as it takes.",
    500: "What is stored is damaged; `field` names the part.",
    501: "That is not served in this form.",
    507: "There is no room on the disk.",
    503: "The model is loading or did not load, or nothing can be stored.",
}
