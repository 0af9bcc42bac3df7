"""`/api/tokens`, `/api/embedding`, `/api/words`: how the loaded model tokenizes text, and its embeddings.

Nothing is stored, and no run's place is taken.
"""

from __future__ import annotations

from flask import Blueprint, Response

from kvscope.app.engine.pool import Pool
from kvscope.app.http.access import ANSWERS, ASKS
from kvscope.app.http.answers import Cut, Embedding, WordsBeside
from kvscope.app.http.caching import json_response
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.reads import Reads
from kvscope.app.http.requests import EmbeddingQuery, Typed, Words, body, query


def blueprint(pool: Pool, reads: Reads) -> Blueprint:
    """Returns the routes."""
    named = pool.named
    routes = Blueprint("vocabulary", __name__, url_prefix="/api")

    # POST, although nothing changes: the longest prompt is longer than an address may be, and addresses are logged.
    @routes.post("/tokens")
    @describe(
        ASKS,
        "Tokenize a prompt without running it",
        {200: json_answer("the tokens that a run would start with", Cut)},
        *(400, 413, 415, 422, 503),
        body=Typed,
    )
    def tokens() -> Response:
        parameters = body(Typed)
        model = named(parameters.model or "")
        return json_response(reads.ask("tokens", parameters.prompt, parameters.chat, model=model), "no-store")

    @routes.get("/embedding")
    @describe(
        ANSWERS,
        "A token's embedding, and the nearest embeddings of the vocabulary",
        {200: json_answer("the embedding, and its coordinates among the nearest", Embedding)},
        *(422, 503),
        query=EmbeddingQuery,
    )
    def embedding() -> Response:
        parameters = query(EmbeddingQuery)
        # Another model may be loaded later.
        return json_response(reads.ask("embedding", parameters.token, model=named(parameters.model)), "no-cache")

    @routes.post("/words")
    @describe(
        ASKS,
        "The embeddings of words beside each other",
        {200: json_answer("cosines of each pair, and coordinates in a plane", WordsBeside)},
        *(400, 413, 415, 422, 503),
        body=Words,
    )
    def words() -> Response:
        parameters = body(Words)
        return json_response(reads.ask("words", parameters.words, model=named(parameters.model or "")), "no-store")

    return routes
