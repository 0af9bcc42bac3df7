"""Requests pages and answers from the application, as the files of a static site."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from flask import Flask, render_template
from werkzeug.test import Client, TestResponse

from kvscope.app.factory import Parts
from kvscope.app.http.site import ENVIRONMENT, Site, file_of
from kvscope.app.site.folder import CannotWrite
from kvscope.app.store.manifest import manifest_of
from kvscope.app.travel.file import SessionFile, of_session
from kvscope.app.travel.page import frame_parts
from kvscope.app.travel.page_parts import values_id
from kvscope.app.travel.words import Share
from kvscope.model.data_script import data_script

NOWHERE = "http://localhost/"
"""The application's address while it answers; the files do not have it."""
OK = 200
File = tuple[str, bytes]
"""Name and content."""


class SitePages:
    """The files of a site. `site`: what they are written for; the name of each file is filled in. `language`: of the
    pages, as `?lang=` names it; "" for English.
    """

    def __init__(self, app: Flask, site: Site, language: str = "") -> None:
        parts: Parts = app.extensions["kvscope"]
        self.site = site
        self._app, self._sessions, self._runs = app, parts.sessions, parts.runs
        self._client: Client = app.test_client()
        self._query = {"lang": language} if language else {}

    def page(self, path: str, name: str | None = None) -> File:
        """Returns a page's file. Raises CannotWrite."""
        name = name or file_of(path)
        return name, self._answered(path, name).data

    def json(self, path: str) -> Any:
        """Returns the JSON of an answer. Raises CannotWrite."""
        return self._answered(path).json

    def data(self, *paths: str) -> Iterator[File]:
        """Yields the files that have the JSON at these paths as scripts. Raises CannotWrite."""
        for path in paths:
            yield data_file(f"{path}.js", self.json(path))

    def glossary(self) -> File:
        """Returns the file of the glossary, which pages with terms load."""
        path = "/static/shared/words/glossary"
        return data_file(f"{path}.js", self.json(f"{path}.json"))

    @contextmanager
    def request(self, name: str) -> Iterator[None]:
        """Answers a request for a file of the site, which the block renders."""
        where = {"query_string": self._query, **self._as_file(name, NOWHERE)}
        with self._app.test_request_context(f"/{name}", **where):
            self._app.preprocess_request()
            yield

    def rendered(self, template: str, name: str | None = None, **values: Any) -> File:
        """Returns the page of a template that only a site has. `name`: of its file, if it is not the template's."""
        name = name or template
        with self.request(name):
            return name, render_template(template, csp_nonce=self.site.nonce, **values).encode()

    def recorded(self, session: str) -> Iterator[File]:
        """Yields the log and the exact values of a session. Raises Damaged."""
        file, base = of_session(self._sessions, session), f"api/sessions/{session}"
        yield log_file(f"/{base}", file)
        if file.manifest.get("values"):
            for layer in range(file.manifest["model"]["layers"]):
                steps = enumerate(self._sessions.values(session, layer=layer))
                parts = {values_id(step, layer): b64encode(payload).decode() for step, payload in steps}
                if parts:
                    yield data_file(f"/{base}/values-{layer}.js", parts)

    def session(self, session: str) -> Iterator[File]:
        """Yields the files of a session. Raises Damaged."""
        base = f"api/sessions/{session}"
        yield from self.recorded(session)
        for path in (f"/s/{session}", f"/embed/{session}"):
            yield self.page(path)
        picture = self._get(f"/{base}.png")
        if picture.status_code == OK:
            yield f"{base}.png", picture.data
        if address := self.site.address:
            answer = self._get(f"/oembed?{urlencode({'url': f'{address}s/{session}'})}", base=address)
            yield f"oembed/{session}.json", answer.data

    def run(self, run: str) -> Iterator[File]:
        """Yields the files of a run under its own id, which its family and the pages use."""

        def frames() -> Iterator[bytes]:
            return self._runs.all_frames(run)

        base = f"/api/runs/{run}"
        yield from self.data(base, f"{base}/family")
        manifest = manifest_of(Share.model_validate({}).words(), frames)
        # Not now: the same run gives the same file.
        manifest["created"] = self.json(base)["created"]
        yield log_file(base, SessionFile(manifest, frames, lambda: iter(())))

    def _answered(self, path: str, name: str = "") -> TestResponse:
        response = self._get(path, name)
        if response.status_code != OK:
            raise CannotWrite(f"Internal error: {path} answers {response.status_code}; see the lines above.")
        return response

    def _get(self, path: str, name: str = "", base: str = NOWHERE) -> TestResponse:
        # Unbuffered, an answer from a file would stay open.
        query = {"query_string": self._query} if self._query else {}
        return self._client.get(path, buffered=True, **query, **self._as_file(name, base))

    def _as_file(self, name: str, base: str) -> dict[str, Any]:
        """Returns the arguments of a request for a file of the site."""
        return {"base_url": base, "environ_overrides": {ENVIRONMENT: replace(self.site, file=name)}}


def log_file(base: str, file: SessionFile) -> File:
    """Returns the file of a log: its manifest and its parts, as in a saved page."""
    return data_file(f"{base}/frames.js", {"manifest": file.manifest, "parts": dict(frame_parts(file))})


def data_file(path: str, value: Any) -> File:
    """Returns the file that has a value as a script."""
    return path[1:], data_script(path, value)
