"""Behind nginx, as docs/operating.md has it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from tests.support.live_server import ROOT, LiveServer, live
from tests.support.nginx import AT_THE_ROOT, BELOW_A_PATH, NAME, answers, nginx_before
from tests.support.viewer import Viewer
from tools.load.floods import HALF_HEAD, flood

pytestmark = pytest.mark.processes


@contextmanager
def server_behind(block: str, folder: Path) -> Iterator[tuple[LiveServer, str]]:
    """A server that three viewers of one address may watch, and the address of the nginx before it."""
    options = ["--proxy", "127.0.0.1", "--allowed-host", NAME, "--max-viewers-per-address", "3"]
    with (
        live(folder, "delay=0.01,bytes=20000", options=options) as server,
        nginx_before(server.port, block, folder) as url,
    ):
        yield server, url
    assert server.errors == ""


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, str]]:
    with server_behind(AT_THE_ROOT, tmp_path_factory.mktemp("nginx")) as pair:
        yield pair


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, str]]:
    with server_behind(BELOW_A_PATH, tmp_path_factory.mktemp("nginx")) as (server, url):
        yield server, f"{url}kv/"


def watched_whole(server: LiveServer, url: str, **where: str) -> str:
    """A run that is watched at the address comes as it is stored; its id."""
    run = server.start_run(max_new_tokens=20)
    viewer = Viewer(url, **where)
    viewer.watch(run)
    seen = viewer.wait_for_close()
    viewer.leave()
    assert seen == server.finished(run)
    return run


def test_the_page_comes_by_its_name_compressed_and_by_no_other(behind: tuple[LiveServer, str]) -> None:
    _, url = behind
    script = requests.get(f"{url}static/main.js", headers={"Host": NAME}, timeout=30)
    assert script.headers["Content-Encoding"] in ("gzip", "br", "zstd")
    assert script.text == (ROOT / "kvscope" / "static" / "main.js").read_text("utf-8")
    assert requests.get(url, headers={"Host": "evil.example"}, timeout=30).status_code == 421


def test_a_run_is_watched_over_the_websocket_and_shared_by_the_name_that_visitors_used(
    behind: tuple[LiveServer, str],
) -> None:
    run, url = watched_whole(*behind), behind[1]
    claims = {"Host": NAME, "X-Forwarded-Prefix": "/evil"}
    shared = requests.post(f"{url}api/runs/{run}/share", json={}, headers=claims, timeout=30).json()
    assert shared["url"] == f"/s/{shared['id']}"
    page = requests.get(f"{url}s/{shared['id']}", headers={"Host": NAME}, timeout=30).text
    assert f"http://{NAME}/s/{shared['id']}" in page


def test_a_file_goes_through_and_comes_back(behind: tuple[LiveServer, str]) -> None:
    _, url = behind
    file = (ROOT / "kvscope" / "app" / "recordings" / "capital.safetensors").read_bytes()
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


def test_below_a_path_links_have_it_whatever_a_visitor_claims(below: tuple[LiveServer, str]) -> None:
    server, url = below
    run = server.start_run(max_new_tokens=2)
    server.finished(run)
    claims = {"Host": NAME, "X-Forwarded-Prefix": "/evil"}
    shared = requests.post(f"{url}api/runs/{run}/share", json={}, headers=claims, timeout=30).json()
    assert shared["url"] == f"/kv/s/{shared['id']}"
    page = f"http://{NAME}{shared['url']}"
    text = requests.get(f"{url}s/{shared['id']}", headers=claims, timeout=30).text
    assert f'content="{page}"' in text
    assert "/evil" not in text
    told = requests.get(f"{url}oembed?url={quote(page)}", headers=claims, timeout=30).json()
    assert f'src="http://{NAME}/kv/embed/{shared["id"]}"' in told["html"]
    picture = told["thumbnail_url"].replace(f"http://{NAME}/kv/", url)
    assert requests.get(picture, headers={"Host": NAME}, timeout=30).headers["Content-Type"] == "image/png"


def test_below_a_path_a_run_is_watched_over_the_websocket(below: tuple[LiveServer, str]) -> None:
    watched_whole(*below, path="kv/socket.io")


def test_below_a_path_redirects_stay_there(below: tuple[LiveServer, str]) -> None:
    _, url = below
    for address in (url.rstrip("/"), f"{url}by-hand", f"{url}by-hand/"):
        led = requests.get(address, timeout=30)
        assert led.ok, address
        assert led.history, address
        assert led.url.startswith(url)
