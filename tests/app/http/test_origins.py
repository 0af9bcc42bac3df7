"""Whose page sent a request, however its origin and the server's are written."""

from collections.abc import Mapping

import pytest

from kvscope.app.http.origins import is_own_origin, is_own_page, origin_of

OWN = {"wsgi.url_scheme": "https", "HTTP_HOST": "kv.example"}
LOCAL = {"wsgi.url_scheme": "http", "HTTP_HOST": "127.0.0.1:5000"}


@pytest.mark.parametrize(
    ("origin", "host", "scheme"),
    [
        ("https://kv.example", "kv.example", "https"),
        ("HTTPS://KV.Example:443", "kv.example", "https"),
        ("https://kv.example", "KV.EXAMPLE:443", "https"),
        ("https://kv.example:", "kv.example", "https"),
        ("https://kv.example", "kv.example.", "wss"),
        ("https://kv.example.:443", "kv.example", "https"),
        ("http://kv.example:80", "kv.example", "ws"),
        ("http://kv.example", "kv.example:080", "http"),
        ("http://[::1]:5000", "[0:0:0:0:0:0:0:1]:5000", "http"),
        ("http://[2001:DB8::1]", "[2001:db8::1]:80", "http"),
        ("http://localhost:5000", "localhost:5000", "http"),
    ],
)
def test_one_origin_has_several_writings(origin: str, host: str, scheme: str) -> None:
    assert is_own_origin(origin, {"HTTP_HOST": host, "wsgi.url_scheme": scheme})


@pytest.mark.parametrize(
    "origin",
    [
        *("http://kv.example", "https://kv.example:80", "https://kv.example:8443", "http://kv.example:443"),
        *("https://kv.example.evil.example", "https://evil.example", "https://kv.example@evil.example"),
        *("https://kvxexample", "null", "", "kv.example", "//kv.example", "https://", "https:/kv.example"),
        *("ftp://kv.example", "file://kv.example", "https://kv.example:abc", "https://kv.example:443:443"),
        *("https://kv.example/", "https://kv.example https://kv.example", "https://kv.example, https://kv.example"),
        *("https://kv.example\\@evil.example", "https://kv.example?", "https://[kv.example]", " https://kv.example"),
        *("https://kv%2eexample", "https://kv.ex\u00e4mple", "http\u017f://kv.example"),
    ],
)
def test_anything_else_is_another_one(origin: str) -> None:
    assert not is_own_origin(origin, OWN)


@pytest.mark.parametrize("host", ["", "kv.example:x", "a b", "[::1", "kv.example/", "kv.example, evil.example"])
def test_a_server_without_a_readable_name_has_no_pages(host: str) -> None:
    assert not is_own_origin("https://kv.example", {**OWN, "HTTP_HOST": host})
    assert origin_of(f"https://{host}") is None


@pytest.mark.parametrize(
    ("said", "own"),
    [
        ({}, True),  # no browser
        ({"HTTP_SEC_FETCH_SITE": "same-origin"}, True),
        ({"HTTP_SEC_FETCH_SITE": "none"}, True),
        ({"HTTP_ORIGIN": "http://127.0.0.1:5000"}, True),
        ({"HTTP_ORIGIN": "HTTP://127.0.0.1:5000"}, True),
        # TLS before a server that does not know of it
        ({"HTTP_SEC_FETCH_SITE": "same-origin", "HTTP_ORIGIN": "https://127.0.0.1:5000"}, True),
        ({"HTTP_SEC_FETCH_SITE": "cross-site"}, False),
        ({"HTTP_SEC_FETCH_SITE": "same-site"}, False),  # another port of this machine
        ({"HTTP_SEC_FETCH_SITE": "Same-Origin"}, False),
        ({"HTTP_SEC_FETCH_SITE": "same-origin, cross-site"}, False),
        ({"HTTP_SEC_FETCH_SITE": ""}, False),
        ({"HTTP_SEC_FETCH_SITE": "cross-site", "HTTP_ORIGIN": "null"}, False),
        ({"HTTP_SEC_FETCH_SITE": "cross-site", "HTTP_ORIGIN": "http://127.0.0.1:5000"}, False),
        ({"HTTP_SEC_FETCH_SITE": "same-origin", "HTTP_ORIGIN": "null"}, False),
        ({"HTTP_ORIGIN": "null"}, False),
        ({"HTTP_ORIGIN": ""}, False),
        ({"HTTP_ORIGIN": "http://127.0.0.1:8000"}, False),
        ({"HTTP_ORIGIN": "http://localhost:5000"}, False),
        ({"HTTP_ORIGIN": "http://evil.example"}, False),
    ],
)
def test_an_own_page_is_what_the_browser_says_and_nothing_is_what_programs_say(
    said: Mapping[str, str], own: bool
) -> None:
    assert is_own_page({**LOCAL, **said}) == own
