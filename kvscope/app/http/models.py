"""`/api/models`: list the models of this server, and load one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from flask import Blueprint, Response
from pydantic import Field
from typing_extensions import TypedDict

from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.pool import Pool
from kvscope.app.http.access import LOADS, TELLS, count
from kvscope.app.http.answers import Count, Positive
from kvscope.app.http.caching import json_response
from kvscope.app.http.limits import Limits
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.requests import LoadModel, body
from kvscope.model.log.schema import Model


class OfferedModel(TypedDict):
    """A model. Members that are known only after it was loaded are null before."""

    name: str
    state: Literal["unloaded", "fetching", "loading", "ready", "failed", "restarting"]
    message: str
    done: Annotated[Count, Field(description="Bytes of `total` that are fetched or loaded; both 0 where not known")]
    total: Count
    compiled: Annotated[str, Field(description="As in `/readyz`")]
    refusal: Annotated[str | None, Field(description="Why it cannot be loaded, where that is known beforehand")]
    parameters: Positive | None
    bytes: Annotated[Count | None, Field(description="Of its files")]
    is_here: Annotated[bool, Field(description="Whether its files are on the server's machine")]
    memory: Annotated[Count, Field(description="Bytes of memory that its engine takes")]
    measured: Annotated[bool, Field(description="Whether `memory` was measured when it was loaded, or is an estimate")]
    licence: str | None
    shows: Annotated[str, Field(description="What it shows well; empty where nobody says")]
    model: Annotated[Model | None, Field(description="As in an `open` frame; null until it was loaded once")]


class OfferedModels(TypedDict):
    """`models`: the first is the default. `memory`: bytes that their engines may use together."""

    models: list[OfferedModel]
    memory: Count


def blueprint(pool: Pool, limits: Limits) -> Blueprint:
    """Returns the routes."""
    routes = Blueprint("models", __name__, url_prefix="/api/models")

    def listed(status: int = 200) -> Response:
        models = [_offered(pool, model) for model in pool.models.all]
        return json_response({"models": models, "memory": pool.models.budget}, "no-store", status)

    @routes.get("")
    @describe(TELLS, "List the models", {200: json_answer("the models", OfferedModels)})
    def models() -> Response:
        return listed()

    @routes.post("/load")
    @describe(
        LOADS,
        "Load a model, which a run would do too",
        {202: json_answer("the models", OfferedModels)},
        *(400, 409, 413, 415, 422),
        body=LoadModel,
    )
    def load() -> Response:
        parameters = body(LoadModel)
        count(limits)
        pool.load(pool.named(parameters.model))
        return listed(202)

    return routes


def _offered(pool: Pool, model: ServedModel) -> dict[str, Any]:
    info, readiness, known = pool.info_of(model), asdict(pool.readiness_of(model)), model.known
    memory, measured = pool.memory_of(model)
    return {
        "name": info["name"] if info else model.name,
        **{name: readiness[name] for name in ("state", "message", "done", "total", "compiled")},
        "refusal": model.refusal if pool.models.several else None,
        "parameters": info["parameters"] if info else known.parameters,
        "bytes": known.bytes,
        "is_here": known.is_here,
        "memory": memory,
        "measured": measured,
        "licence": known.licence,
        "shows": known.shows,
        "model": info,
    }
