"""Behind nginx, as docs/operating.md has it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator

import pytest
import requests

from tests.load.floods import HALF_HEAD, flood
from tests.support.live_server import ROOT, LiveServer
from tests.support.viewer import Viewer
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

NAME = "kv.school.example"
BLOCK = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs" / "operating.md").read_text("utf-8"), re.DOTALL)[0]
AROUND = """
{user}
daemon off;
pid {folder}/pid;
error_log stderr;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    include /etc/nginx/mime.types;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {block}
}}
"""


@pytest.fixture(scope="module")
def nginx() -> str:
    """Path of the system's nginx. Without one the test is skipped, or failed where CI=true."""
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no nginx on PATH")
    return found


@pytest.fixture(scope="module")
def behind(nginx: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, str]]:
    """A server that three viewers of one address may watch, and the address of the nginx before it."""
    folder = tmp_path_factory.mktemp("nginx")
    options = ["--proxy", "127.0.0.1", "--allowed-host", NAME, "--max-viewers-per-address", "3"]
    server = LiveServer(folder / "data", "delay=0.01,bytes=20000", options=options)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    block = BLOCK.replace("listen 80", f"listen 127.0.0.1:{port}").replace("127.0.0.1:5000", f"127.0.0.1:{server.port}")
    assert str(server.port) in block
    # Started by root it would go on as somebody who may not read this folder.
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(AROUND.format(user=user, folder=folder, block=block), "utf-8")
    with (folder / "log").open("w") as log:
        proxy = subprocess.Popen([nginx, "-p", str(folder), "-c", "nginx.conf"], stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}/"
    try:
        eventually(lambda: proxy.poll() is None and answers(url))
        eventually(lambda: server.get("readyz").ok, 60)
        yield server, url
    finally:
        proxy.terminate()
        proxy.wait(30)
        server.close()
    assert server.errors == ""
    assert "[emerg]" not in (folder / "log").read_text("utf-8")


def answers(url: str) -> bool:
    try:
        return requests.get(url, headers={"Host": NAME}, timeout=10).ok
    except requests.ConnectionError:
        return False


def test_the_page_comes_by_its_name_compressed_and_by_no_other(behind: tuple[LiveServer, str]) -> None:
    _, url = behind
    script = requests.get(f"{url}static/main.js", headers={"Host": NAME}, timeout=30)
    assert script.headers["Content-Encoding"] in ("gzip", "br", "zstd")
    assert script.text == (ROOT / "static" / "main.js").read_text("utf-8")
    assert requests.get(url, headers={"Host": "evil.example"}, timeout=30).status_code == 421


def test_a_run_is_watched_over_the_websocket_and_is_the_same_bytes(behind: tuple[LiveServer, str]) -> None:
    server, url = behind
    run = server.start_run(max_new_tokens=20)
    viewer = Viewer(url)
    viewer.watch(run)
    seen = viewer.wait_for_close()
    viewer.leave()
    assert seen == server.finished(run)


def test_links_have_the_name_and_protocol_that_visitors_used(behind: tuple[LiveServer, str]) -> None:
    server, url = behind
    run = server.start_run(max_new_tokens=2)
    server.finished(run)
    shared = requests.post(f"{url}api/runs/{run}/share", json={}, headers={"Host": NAME}, timeout=30).json()
    page = requests.get(f"{url}s/{shared['id']}", headers={"Host": NAME}, timeout=30).text
    assert f"http://{NAME}/s/{shared['id']}" in page


def test_a_file_goes_through_and_comes_back(behind: tuple[LiveServer, str]) -> None:
    _, url = behind
    file = (ROOT / "app" / "recordings" / "capital.safetensors").read_bytes()
    headers = {"Content-Type": "application/octet-stream"}
    sent = requests.post(f"{url}api/sessions", data=file, headers=headers, timeout=60)
    assert sent.status_code == 201, sent.text
    back = requests.get(f"{url}api/sessions/{sent.json()['id']}.safetensors", timeout=30).content
    again = requests.post(f"{url}api/sessions", data=back, headers=headers, timeout=60)
    assert again.json()["id"] == sent.json()["id"]


def test_each_visitor_has_an_address_of_its_own(
    behind: tuple[LiveServer, str], leave: Callable[[Viewer], None]
) -> None:
    """127.0.0.2 is this machine too, but nginx tells it from 127.0.0.1. What a visitor claims counts for nothing."""
    _, url = behind
    polled = "socket.io/?EIO=4&transport=polling"
    for _ in range(3):
        leave(Viewer(url))
    claims = {"X-Forwarded-For": "203.0.113.9"}
    assert requests.get(f"{url}{polled}", headers=claims, timeout=30).status_code == 429
    with requests.Session() as elsewhere:
        elsewhere.get_adapter(url).init_poolmanager(1, 1, source_address=("127.0.0.2", 0))
        assert elsewhere.get(f"{url}{polled}", timeout=30).status_code == 200


@pytest.fixture
def leave() -> Iterator[Callable[[Viewer], None]]:
    """Viewers that leave at the test's end."""
    here: list[Viewer] = []
    yield here.append
    for viewer in here:
        viewer.leave()


def test_clients_that_send_half_a_request_keep_nobody_waiting(behind: tuple[LiveServer, str]) -> None:
    _, url = behind
    with flood(int(url.rstrip("/").rpartition(":")[2]), 300, HALF_HEAD):
        assert all(answers(url) for _ in range(5))
