"""`/api/engine/model.js` and `/api/engine/<name>.js`: the model of this server, to run in a visitor's browser.

Its engine packs it when it is first asked for, and stores the files in the cache (model/service/for_browser.py).
packed_models.py remembers which there are.
"""

from __future__ import annotations

import gzip
import re

from flask import Blueprint, Response, request

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.pool import Pool
from kvscope.app.http import packed_models
from kvscope.app.http.access import HANDS_OUT, PACKS_MODEL
from kvscope.app.http.caching import revalidated
from kvscope.app.http.openapi import Answer, describe
from kvscope.app.http.problems import Problem
from kvscope.app.http.reads import Reads
from kvscope.app.http.security import EMBED_PREFIX
from kvscope.app.http.site import site
from kvscope.app.paths import WASM
from kvscope.app.settings import Settings
from kvscope.model.data_script import data_script, stored_script

BASE = "/api/engine"
DESCRIPTION = f"{BASE}/model.js"
SCRIPT = "text/javascript"
NAME = re.compile(r"[0-9a-f]{16}")
FOREVER = "public, max-age=31536000, immutable"
"""Of files that are named by their content."""
OFF = "This server does not offer its model to browsers (--browser-engine)."
ELSEWHERE = "The engines of this server are in a Ray cluster, so it cannot offer its model to browsers."


def blueprint(settings: Settings, pool: Pool, reads: Reads) -> Blueprint:
    """Returns the routes. Templates get `engine`, as `offer` returns it."""
    routes = Blueprint("browser_engine", __name__, url_prefix=BASE)
    routes.app_context_processor(lambda: {"engine": offer(settings)})

    @routes.get("/model.js")
    @describe(
        PACKS_MODEL,
        "Describe the default model for browsers, and the files that they need to run it",
        {200: Answer("a script that sets the description", {SCRIPT: None})},
        *(404, 503, 507),
        revalidated=True,
    )
    def model() -> Response:
        if settings.browser_engine == "off" or settings.ray:
            raise Problem(404, OFF if settings.browser_engine == "off" else ELSEWHERE)
        asked, first = ("browser_model", BASE, str(WASM)), pool.models.first
        try:
            description = reads.ask(*asked, model=first)
            if not packed_models.is_stored(description):
                description = reads.ask_again(*asked, model=first)
            packed_models.remember(first.source or first.name, description)
        except EngineUnavailable:
            # While the engine starts, a visitor's browser can already compute with the model as it was packed last.
            description = packed_models.remembered(first.source or first.name)
            if not description or not packed_models.is_stored(description):
                raise
        return revalidated(Response(data_script(DESCRIPTION, description), mimetype=SCRIPT))

    @routes.get("/<name>.js")
    @describe(
        HANDS_OUT,
        "Send a file that a browser needs to run the model",
        {200: Answer("a script that sets the file's bytes, in base64", {SCRIPT: None})},
        404,
    )
    def file(name: str) -> Response:
        path = stored_script(f"{name}.js") if NAME.fullmatch(name) and settings.browser_engine != "off" else None
        if path is None or not path.is_file():
            raise Problem(404, f"There is no file {name[:80]!r} of a model here. Load the page again.", field="name")
        content = path.read_bytes()
        response = Response(mimetype=SCRIPT)
        response.vary.add("Accept-Encoding")
        response.headers["Cache-Control"] = FOREVER
        if request.accept_encodings["gzip"]:
            response.headers["Content-Encoding"] = "gzip"
        else:
            content = gzip.decompress(content)
        response.set_data(content)
        return response

    return routes


def offer(settings: Settings) -> str:
    """Returns whether the requested page may run a model in the browser: "offer" or "default" as in the setting, "" if
    not. A static site with a model has no other. Embeds of a server may not, because its routes answer own pages only.
    """
    if (written := site()) is not None:
        return "default" if written.worker else ""
    if settings.browser_engine == "off" or settings.ray or request.path.startswith(EMBED_PREFIX):
        return ""
    return settings.browser_engine
