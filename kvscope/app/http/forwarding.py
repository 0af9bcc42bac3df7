"""Forwards requests to the leader of several web processes that share a database.

A route declares whether every process answers it (access.py). The leader answers all others, so that the queue, the
limits and the engine are in one process. The leader trusts the visitor's address, host, protocol and path in a
forwarded request, because it comes with a secret that only these processes know (hosts.py).
"""

from __future__ import annotations

import errno
import hmac
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from http import HTTPStatus
from typing import Any
from urllib.parse import quote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import urllib3
from flask import Flask
from urllib3.exceptions import HTTPError
from werkzeug.exceptions import HTTPException

from kvscope.app.http import socket_guard
from kvscope.app.http.access import declared
from kvscope.app.http.hosts import FORWARDED, PEER, PEER_SAID
from kvscope.app.http.places import Places
from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import network_of
from kvscope.app.store.cluster.lead import Lead
from kvscope.app.store.cluster.member import Member

AT_ONCE = 100
"""Most requests forwarded at once. Others wait for a place, this long:"""
FREE_S = 2.0
CONNECT_S, ANSWER_S = 2.0, 90.0
"""The engine may take a minute for an answer."""
RETRY_S = 2
CHUNK_BYTES = 64 * 1024
SAFE = frozenset(("GET", "HEAD"))
HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade", "expect")
)
"""Headers of one connection (RFC 9110, 7.6.1), and one that the worker has answered."""
HEADER = re.compile(r"HTTP_(\w+)")
READINESS = "pages.readyz"
"""Pages ask for it at any time. If there is no leader, this process answers it with that as the reason."""


def init_app(app: Flask, member: Member) -> None:
    """Installs the forwarding before the application as it is now."""
    app.wsgi_app = Forwarding(app, app.wsgi_app, member)  # type: ignore[method-assign]


class Forwarding:
    """Sends each request to the application or to the leading process."""

    def __init__(self, app: Flask, inner: WSGIApplication, member: Member) -> None:
        self._app, self._inner, self._member = app, inner, member
        self._everywhere: dict[str, bool] | None = None
        self._places = Places(AT_ONCE, FREE_S)
        self._pool = urllib3.PoolManager(maxsize=AT_ONCE, retries=False)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The WSGI interface."""
        if self._member.leads:
            return self._inner(environ, start_response)
        endpoint = self._endpoint(environ)
        if endpoint is None or self._is_everywhere(endpoint):
            return self._inner(environ, start_response)
        lead = None if environ[PEER_SAID] else self._member.lead
        if lead is not None:
            try:
                answer = self._leaders(environ, start_response, lead)
            except Problem as problem:
                return problem.response()(environ, start_response)
            if answer is not None:
                return answer
        if endpoint == READINESS:
            return self._inner(environ, start_response)
        sentence = "No web process leads at the moment; another one takes over. Try again in a moment."
        return Problem(503, sentence, retry_after=RETRY_S).response()(environ, start_response)

    def _leaders(self, environ: WSGIEnvironment, start_response: StartResponse, lead: Lead) -> Iterable[bytes] | None:
        """Returns the leader's answer, which holds a place until it is sent; None without a leader. Raises Problem."""
        with ExitStack() as place:
            place.enter_context(self._places.held(network_of(environ.get("REMOTE_ADDR", ""))))
            try:
                answer = self._forwarded(environ, lead)
            except HTTPError:
                return None
            start_response(f"{answer.status} {_phrase(answer.status)}", _kept(answer.headers.items()))
            return _Body(answer, place.pop_all())

    def _endpoint(self, environ: WSGIEnvironment) -> str | None:
        """Returns the route of a request; None if it has none, or if each process answers it."""
        if environ.get("PATH_INFO", "").startswith(socket_guard.PATH) or environ["REQUEST_METHOD"] == "OPTIONS":
            return None
        try:
            return str(self._app.url_map.bind_to_environ(environ).match()[0])
        except HTTPException:  # a redirection is one
            return None

    def _is_everywhere(self, endpoint: str) -> bool:
        if self._everywhere is None:
            views = declared(self._app.view_functions)
            self._everywhere = {name: access.everywhere for name, access in views.items()}
        return self._everywhere[endpoint]

    def _forwarded(self, environ: WSGIEnvironment, lead: Lead) -> urllib3.BaseHTTPResponse:
        """Returns the leader's answer before its body is read. Raises HTTPError."""
        query = environ.get("QUERY_STRING", "")
        path = quote(environ.get("PATH_INFO", "").encode("latin-1")) + (f"?{query}" if query else "")
        length = environ.get("CONTENT_LENGTH") or "0"
        has_body = length != "0" or "HTTP_TRANSFER_ENCODING" in environ
        method = environ["REQUEST_METHOD"]
        return self._pool.request(
            method,
            lead.address.rstrip("/") + path,
            body=environ["wsgi.input"] if has_body else None,
            headers=_headers(environ, lead, length if has_body and length != "0" else None),
            # The leader may have just closed a kept-alive connection.
            retries=urllib3.Retry(1, redirect=False, status=0) if method in SAFE else False,
            redirect=False,
            timeout=urllib3.Timeout(connect=CONNECT_S, read=ANSWER_S),
            preload_content=False,
            decode_content=False,
        )


class _Body:
    """The body of an answer as it arrives. Releases the connection and the place at the end."""

    def __init__(self, answer: urllib3.BaseHTTPResponse, place: ExitStack) -> None:
        self._answer, self._place = answer, place

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._answer.stream(CHUNK_BYTES, decode_content=False)
        except HTTPError as error:  # ends the visitor's connection, so that nobody takes this for the whole answer
            raise ConnectionResetError(errno.ECONNRESET, "the leader ended in the middle of its answer") from error

    def close(self) -> None:
        """Stops reading; drops the rest of the body."""
        with self._place:
            self._answer.drain_conn() if self._answer.length_remaining == 0 else self._answer.close()
            self._answer.release_conn()


def is_leads_secret(member: Member, secret: str) -> bool:
    """Returns whether a request with this secret comes from a process that follows this one, or believes so."""
    lead = member.lead
    return lead is not None and hmac.compare_digest(secret.encode(), lead.secret.encode())


def _headers(environ: WSGIEnvironment, lead: Lead, length: str | None) -> dict[str, str]:
    """Returns the visitor's headers and those that say who the visitor is."""
    sent = {
        match[1].replace("_", "-").title(): str(value)
        for name, value in environ.items()
        if (match := HEADER.fullmatch(name)) and not FORWARDED.fullmatch(name)
    }
    sent = {name: value for name, value in sent.items() if name.lower() not in {*HOP_BY_HOP, "host"}}
    added = dict.fromkeys(("Accept-Encoding", "User-Agent"), urllib3.util.SKIP_HEADER)  # the library would add them
    visitor = {
        "Content-Type": environ.get("CONTENT_TYPE"),
        "Content-Length": length,
        "X-Forwarded-For": environ.get("REMOTE_ADDR", ""),
        "X-Forwarded-Host": environ.get("HTTP_HOST"),
        "X-Forwarded-Proto": environ.get("wsgi.url_scheme"),
        "X-Forwarded-Prefix": environ.get("SCRIPT_NAME"),
        PEER.removeprefix("HTTP_").replace("_", "-").title(): lead.secret,
    }
    return added | sent | {name: value for name, value in visitor.items() if value}


def _kept(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in HOP_BY_HOP]


def _phrase(status: int) -> Any:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
