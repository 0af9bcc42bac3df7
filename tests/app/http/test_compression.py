"""What is sent compressed, and that nothing else about the answer changes."""

import gzip
import re

import brotli
import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from kvscope.app.http.access import SENDS
from kvscope.app.paths import STATIC
from kvscope.model.log.frames import from_stream
from tests.support.over_http import finished, share

SHEET = "shared/ui/base.css"
SMALL = "icon.svg"
TEXTS = ["main.js", SHEET, "shared/words/glossary.json", "vendor/preact/dist/preact.mjs"]
DECODERS = {"br": brotli.decompress, "gzip": gzip.decompress}


def ask(client: FlaskClient, path: str, *algorithms: str, method: str = "GET", **headers: str) -> TestResponse:
    """The whole answer, its file closed. `If_Range` is the header If-Range."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    named |= {"Accept-Encoding": ", ".join(algorithms)} if algorithms else {}
    return client.open(path, method=method, headers=named, buffered=True)


def ask_file(client: FlaskClient, name: str, *algorithms: str, **options: str) -> TestResponse:
    return ask(client, f"/static/{name}", *algorithms, **options)


def content(name: str) -> bytes:
    return (STATIC / name).read_bytes()


@pytest.mark.parametrize("algorithm", DECODERS)
@pytest.mark.parametrize("name", TEXTS)
def test_text_is_sent_compressed_and_is_the_file(client: FlaskClient, name: str, algorithm: str) -> None:
    plain, packed = ask_file(client, name), ask_file(client, name, algorithm)
    assert DECODERS[algorithm](packed.data) == plain.data == content(name)
    assert len(packed.data) < len(plain.data)
    assert [each.headers.get("Content-Encoding") for each in (plain, packed)] == [None, algorithm]
    assert packed.content_type == plain.content_type
    assert all("Accept-Encoding" in each.vary for each in (plain, packed))


def test_each_form_has_an_etag_of_its_own_and_is_not_sent_again(client: FlaskClient) -> None:
    forms = {name: ask_file(client, SHEET, name).headers["ETag"] for name in ("br", "gzip", "identity")}
    assert len(set(forms.values())) == 3
    for algorithm, tag in forms.items():
        again = ask_file(client, SHEET, algorithm, If_None_Match=tag)
        assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
        assert "Accept-Encoding" in again.vary
    other = ask_file(client, SHEET, "gzip", If_None_Match=forms["br"])
    assert (other.status_code, other.headers["Content-Encoding"]) == (200, "gzip")


def test_heads_and_ranges_are_of_the_file_that_get_sends(client: FlaskClient) -> None:
    told, sent = (ask_file(client, SHEET, "br", method=method) for method in ("HEAD", "GET"))
    assert told.data == b""
    for name in ("Content-Encoding", "ETag", "Vary", "Content-Type", "Cache-Control"):
        assert told.headers[name] == sent.headers[name]
    part = ask_file(client, SHEET, "br", Range="bytes=10-29")
    assert (part.status_code, part.data) == (206, content(SHEET)[10:30])
    assert "Content-Encoding" not in part.headers
    rest = ask_file(client, SHEET, "br", Range="bytes=10-", If_Range=sent.headers["ETag"])
    assert (rest.status_code, rest.data) == (200, sent.data)  # of a compressed file the whole


def test_so_is_every_page(app: Flask, client: FlaskClient) -> None:
    session, compressed = share(client, finished(client))["id"], []
    for rule in app.url_map.iter_rules():
        if app.view_functions[rule.endpoint].__dict__.get("access") is SENDS and rule.endpoint != "static":
            address = re.sub(r"<(?:\w+:)?(\w+)>", lambda name: {"session": session}.get(name[1], "a"), rule.rule)
            response = ask(client, address, "gzip", "br")
            if response.status_code == 200:  # others lead on
                compressed.append(response.headers.get("Content-Encoding"))
    assert len(compressed) >= 9
    assert set(compressed) == {"br"}
    page = ask(client, "/", "gzip", "br")
    nonce = page.headers["Content-Security-Policy"].split("'nonce-")[1].split("'")[0]
    assert f'nonce="{nonce}"' in brotli.decompress(page.data).decode()


def test_fonts_and_what_compression_would_not_shorten_are_sent_as_they_are(client: FlaskClient) -> None:
    font = next(STATIC.rglob("*.woff2")).relative_to(STATIC).as_posix()
    for name in (font, SMALL):
        response = ask_file(client, name, "br")
        assert "Content-Encoding" not in response.headers
        assert response.data == content(name)


def test_frames_and_exact_values_are_sent_as_they_are(client: FlaskClient) -> None:
    run = finished(client)
    for query in ("frames?after=-1", "head?step=0&layer=0&head=0", "lens?step=0"):
        path = f"/api/runs/{run}/{query}"
        plain, asked = ask(client, path), ask(client, path, "br", "gzip")
        assert "Content-Encoding" not in asked.headers
        assert asked.data == plain.data
        again = ask(client, path, "br", If_None_Match=asked.headers["ETag"])
        assert (again.status_code, again.headers["ETag"]) == (304, plain.headers["ETag"])
    assert list(from_stream(ask(client, f"/api/runs/{run}/frames", "br").data))
