"""Below a path that a proxy puts before the server, whether it says so or not."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any
from urllib.parse import urlencode, urljoin

import pytest
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.page_table import pages
from kvscope.app.settings import Settings
from tests.support.live_server import FAKE
from tests.support.over_http import finished, serving, share

LESSON = "01-what-is-a-token"
ROOM = "ABCD2345"
PAGES = [
    *(page.address for page in pages()),
    *(f"/learn/{LESSON}", f"/embed/learn/{LESSON}"),
    *("/embed/memory", "/embed/serving", "/embed/by-hand/b", f"/room/{ROOM}"),
]
OTHERS = ("/room/<code>.svg", "/oembed", "/healthz", "/readyz", "/metrics")
FOLLOWED = re.compile(r"""(?:href|src)="([^"]*)"|": "([^"]*/static/[^"]*)\"""")
FORGED = ("//evil.example", "https://evil.example", '/kv"><script>', "/a//b", "kv", "/kv /x", "/", "/kv?x=", "/kv#")


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client whose address is that of a proxy."""
    folder = tmp_path_factory.mktemp("trusting")
    with serving(Settings(folder / "data", service=FAKE, recordings_dir=folder, proxies=("127.0.0.1",))) as app:
        yield app.test_client()


def followed(client: FlaskClient, path: str, **said: Any) -> Iterator[str]:
    """Every address that a browser follows from the page, as it resolves it below /kv."""
    text = client.get(path, **said).text
    for address, library in FOLLOWED.findall(text):
        yield urljoin(f"http://localhost/kv{path}", address or library)


@pytest.mark.parametrize("path", PAGES)
def test_what_a_page_leads_to_is_below_the_path_that_nobody_told_it_of(client: FlaskClient, path: str) -> None:
    found = list(followed(client, path))
    assert len(found) > 10
    assert [address for address in found if not address.startswith("http://localhost/kv/")] == []
    for address in found:
        with client.get(address.removeprefix("http://localhost/kv"), buffered=True) as answer:
            assert answer.status_code == 200, address


def test_no_page_is_left_out(app: Flask) -> None:
    rules = {rule.rule for rule in app.url_map.iter_rules() if "GET" in (rule.methods or ())}
    told = {rule for rule in rules if rule.startswith(("/api/", "/static/")) or rule in OTHERS}
    served = {rule for rule in rules - told if not rule.endswith(("<session>", "/by-hand", "/by-hand/"))}
    pages = (page.replace(LESSON, "<lesson>").replace(ROOM, "<code>") for page in PAGES)
    assert served == {re.sub("(?<=by-hand/).", "<example>", page) for page in pages}


def test_slashes_too_many_are_counted_as_a_browser_counts_them(client: FlaskClient) -> None:
    page = client.get("/", environ_overrides={"PATH_INFO": "//memory"}).text
    [root] = re.findall(r'<html[^>]* data-root="([^"]*)"', page)
    assert root == "../"


@pytest.mark.parametrize("address", ["url", "embed"])
def test_so_is_what_a_session_leads_to(client: FlaskClient, address: str) -> None:
    path = share(client)[address]
    text = re.sub(r'<link rel="alternate"[^>]*>', "", client.get(path).text)  # for who is elsewhere
    found = [urljoin(f"http://localhost/kv{path}", found) for found in re.findall(r'(?:href|src)="([^"]*)"', text)]
    assert len(found) > 5
    assert [each for each in found if not each.startswith("http://localhost/kv/")] == []


def test_a_redirect_stays_below_it(trusting: FlaskClient) -> None:
    places = {"/by-hand": "./by-hand/a", "/by-hand/": "../by-hand/a", "/by-hand//a": "../../by-hand/a"}
    for (path, location), prefix in product(places.items(), ("", "/kv")):
        answer = trusting.get("/", environ_overrides={"PATH_INFO": path}, headers={"X-Forwarded-Prefix": prefix})
        assert (answer.status_code in (302, 308), answer.location) == (True, location)


def test_a_proxy_that_is_believed_says_below_which_path(trusting: FlaskClient) -> None:
    said: dict[str, Any] = {"headers": {"X-Forwarded-Prefix": "/user/ada%40x/proxy/5000"}}
    base = "/user/ada%40x/proxy/5000"
    run = finished(trusting)
    shared = trusting.post(f"/api/runs/{run}/share", json={}, **said)
    id = shared.json["id"]
    assert (shared.json["url"], shared.json["embed"]) == (f"{base}/s/{id}", f"{base}/embed/{id}")
    assert shared.headers["Location"] == f"{base}/api/sessions/{id}"
    card = trusting.get(f"/s/{id}", **said).text
    assert f'property="og:url" content="http://localhost{base}/s/{id}"' in card
    assert f'property="og:image" content="http://localhost{base}/api/sessions/{id}.png"' in card
    asked = urlencode({"url": f"http://localhost{base}/s/{id}#step=2"})
    answer = trusting.get(f"/oembed?{asked}", **said).json
    assert f'src="http://localhost{base}/embed/{id}?step=2"' in answer["html"]
    assert answer["thumbnail_url"] == f"http://localhost{base}/api/sessions/{id}.png"
    elsewhere = urlencode({"url": f"http://localhost/s/{id}"})
    assert trusting.get(f"/oembed?{elsewhere}", **said).status_code == 404


def test_the_document_of_the_contract_is_of_the_server_that_it_came_from(client: FlaskClient) -> None:
    [server] = client.get("/api/openapi.json").json["servers"]
    assert urljoin("https://hub.example/user/ada/proxy/5000/api/openapi.json", server["url"]).endswith("/proxy/5000/")


def answers(client: FlaskClient, session: str, **headers: str) -> list[str]:
    """Whatever could have a path in it, without what changes with every answer."""
    oembed = urlencode({"url": f"http://localhost/s/{session}"})
    paths = ("/", "/by-hand", f"/s/{session}", f"/embed/{session}", f"/oembed?{oembed}", "/api/runs/nobody")
    found = [client.get(path, headers=headers) for path in paths]
    return [re.sub(r'nonce="[^"]*"', "", f"{answer.location} {answer.text}") for answer in found]


def test_nobody_else_does(client: FlaskClient) -> None:
    session = share(client)["id"]
    assert answers(client, session, **{"X-Forwarded-Prefix": "/evil"}) == answers(client, session)


def test_what_is_no_path_is_not_believed_of_a_proxy_either(trusting: FlaskClient) -> None:
    session = share(trusting)["id"]
    for forged in FORGED:
        assert answers(trusting, session, **{"X-Forwarded-Prefix": forged}) == answers(trusting, session), forged
