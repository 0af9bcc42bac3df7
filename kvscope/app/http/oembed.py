"""`/oembed`: how to embed the session at an address (https://oembed.com)."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from flask import Blueprint, Response, jsonify, render_template, request

from kvscope.app.http.access import READS
from kvscope.app.http.answers import OEmbed
from kvscope.app.http.openapi import describe, json_answer
from kvscope.app.http.problems import Problem
from kvscope.app.http.requests import OEmbedQuery, query
from kvscope.app.http.root import full
from kvscope.app.http.site import file_of, site
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel.card import title_of

ADDRESS = r"/(?:s|embed)/([a-z2-7]+)"
PARAMETERS = ("step", "layer", "head", "query", "key", "view", "hide", "theme", "autoplay", "speed")
"""Parameters of an embed's address (docs/embed.md). Others are dropped."""
WIDTH, HEIGHT = 800, 600
"""Default size of an embed, in CSS pixels."""
THUMBNAIL = 1200, 630
UNBOUNDED = 2**31
"""More pixels than any frame has."""
CACHED_S = 24 * 60 * 60


def blueprint(sessions: SessionStore) -> Blueprint:
    """Returns the route."""
    routes = Blueprint("oembed", __name__)

    @routes.get("/oembed")
    @describe(
        READS,
        "How to embed a saved session, by its address (oEmbed)",
        {200: json_answer("HTML of the frame, with its size", OEmbed)},
        *(400, 404, 410, 500, 501),
        query=OEmbedQuery,
    )
    def oembed() -> Response:
        if request.args.get("format", "json") != "json":
            raise Problem(501, "format must be json; no other format is available.", field="format", limit=["json"])
        parameters = query(OEmbedQuery, status=400)
        most = parameters.maxwidth or UNBOUNDED, parameters.maxheight or UNBOUNDED
        width, height = min(WIDTH, most[0]), min(HEIGHT, most[1])
        address = _address(parameters.url)
        session = _session_of(address)
        try:
            manifest = sessions.manifest(session)
        except KeyError:
            raise Problem(404, "No saved session has this address.", field="url") from None
        title = title_of(manifest)
        framed = f"/embed/{session}"
        source = full(f"/{file_of(framed)}" if site() else framed) + _query_of(address)
        answer = {
            "version": "1.0",
            "type": "rich",
            "provider_name": "KVScope",
            "provider_url": full("/"),
            "title": title,
            "html": render_template("embed.html", source=source, title=title, width=width, height=height).strip(),
            "width": width,
            "height": height,
            "cache_age": CACHED_S,
        }
        if most[0] >= THUMBNAIL[0] and most[1] >= THUMBNAIL[1]:
            answer["thumbnail_url"] = full(f"/api/sessions/{session}.png")
            answer["thumbnail_width"], answer["thumbnail_height"] = THUMBNAIL
        return jsonify(answer)

    return routes


def _address(text: str) -> SplitResult:
    """Parses the address to embed. Raises Problem unless it is one of this server."""
    try:
        address = urlsplit(text)
    except ValueError:
        raise Problem(404, "url is not a valid address.", field="url") from None
    if address.scheme not in ("http", "https") or address.netloc.lower() != request.host.lower():
        raise Problem(404, "url is not an address of this server.", field="url")
    return address


def _session_of(address: SplitResult) -> str:
    match = re.fullmatch(re.escape(request.script_root) + ADDRESS, address.path)
    if not match:
        raise Problem(404, "Only saved sessions can be embedded: /s/… or /embed/…", field="url")
    return match[1]


def _query_of(address: SplitResult) -> str:
    """Returns the embed's parameters, from the query and the hash, as a query with its `?`."""
    try:
        parameters = dict(parse_qsl(address.query) + parse_qsl(address.fragment))
    except ValueError:
        return ""
    query = urlencode({name: parameters[name] for name in PARAMETERS if name in parameters})
    return f"?{query}" if query else ""
