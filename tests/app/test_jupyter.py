"""Behind jupyter-server-proxy on a hub with TLS, started as docs/operating.md has it."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import requests
import websocket

from tests.support.jupyter import Jupyter, jupyter
from tests.support.live_server import ROOT, LiveServer, live

pytestmark = pytest.mark.processes

NAME = "hub.example"
PRINTED = re.findall(r"```sh\n(kvscope .*?)\n```", (ROOT / "docs" / "operating.md").read_text("utf-8"))
OPTIONS = shlex.split(next(line for line in PRINTED if "--proxy" in line).replace("--port 5000", ""))[1:]
"""Of the command, on a port that is free."""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with jupyter(tmp_path_factory.mktemp("jupyter")) as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live(tmp_path_factory.mktemp("server"), options=OPTIONS) as server:
        yield server
    # Some requests here come without the address that a hub's proxy adds.
    assert [line for line in server.errors.splitlines() if "without visitors' addresses" not in line] == []


def said(hub: Jupyter) -> dict[str, str]:
    """What the hub's own proxy hands on of a browser's request."""
    page = {"Origin": f"https://{NAME}", "Sec-Fetch-Site": "same-origin"}
    return {**hub.headers, "Host": NAME, "X-Forwarded-Proto": "https", **page}


def greeting(hub: Jupyter, server: LiveServer) -> str:
    """The first message over a websocket that the page opens there."""
    address = f"{hub.proxied(server.port).replace('http', 'ws', 1)}socket.io/?EIO=4&transport=websocket"
    told = {name: text for name, text in said(hub).items() if name not in ("Host", "Origin")}
    socket = websocket.create_connection(address, host=NAME, origin=f"https://{NAME}", header=told, timeout=30)
    try:
        return str(socket.recv())
    finally:
        socket.close()


def test_a_run_is_made_watched_and_shared_by_the_hubs_name(hub: Jupyter, server: LiveServer) -> None:
    url = hub.proxied(server.port)
    below = urlsplit(url).path
    made = requests.post(f"{url}api/runs", json={"prompt": "abc", "max_new_tokens": 3}, headers=said(hub), timeout=30)
    assert made.status_code == 201, made.text
    run = made.json()["id"]
    assert made.json()["url"] == f"{below}?run={run}"
    assert "upgrades" in greeting(hub, server)
    server.finished(run)
    shared = requests.post(f"{url}api/runs/{run}/share", json={}, headers=said(hub), timeout=30).json()
    link = f"https://{NAME}{below}s/{shared['id']}"
    page = requests.get(f"{url}s/{shared['id']}", headers=said(hub), timeout=30).text
    assert f'property="og:url" content="{link}"' in page
    told = requests.get(f"{url}oembed?url={quote(link)}", headers=said(hub), timeout=30).json()
    assert f'src="https://{NAME}{below}embed/{shared["id"]}"' in told["html"]
    for path in ("by-hand", "by-hand/"):
        led = requests.get(f"{url}{path}", headers=hub.headers, timeout=30)
        assert (led.ok, led.url) == (True, f"{url}by-hand/a")
    elsewhere = {**hub.headers, "Host": "evil.example"}
    assert requests.get(url, headers=elsewhere, timeout=30).status_code == 421


def test_without_its_proxy_the_page_comes_but_is_not_told_of_path_and_protocol(hub: Jupyter, tmp_path: Path) -> None:
    with live(tmp_path, options=OPTIONS[: OPTIONS.index("--proxy")]) as server:
        url = hub.proxied(server.port)
        run = server.start_run(max_new_tokens=2)
        server.finished(run)
        shared = requests.post(f"{url}api/runs/{run}/share", json={}, headers=said(hub), timeout=30).json()
        assert shared["url"] == f"/s/{shared['id']}"
        assert requests.get(f"{url}s/{shared['id']}", headers=said(hub), timeout=30).ok
        with pytest.raises(websocket.WebSocketConnectionClosedException):
            greeting(hub, server)
        assert "not an accepted origin" in server.errors
