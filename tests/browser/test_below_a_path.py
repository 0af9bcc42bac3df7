"""Below a path that a proxy takes off: behind the real nginx and the real jupyter-server-proxy, neither of which the
server was told to believe. Whatever a page asks for, and whatever it leads to, stays below that path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.support.complaints import Complaints
from tests.support.jupyter import Jupyter, jupyter
from tests.support.nginx import BELOW_A_PATH, nginx_before
from tests.support.pages import NewPage
from tests.support.runs import share
from tests.support.server import Server
from tests.support.stage import Stage, open_file, share_by_dialog
from tests.support.traffic import Asked
from tests.support.viewer import Viewer, kind

ALIKE = (re.compile("s/"), re.compile(r"learn/\d"))
"""Pages of which one is opened: saved sessions and lessons."""
NO_PAGES = ("static/", "api/", "oembed", "socket.io", "embed/learn/")
"""Not opened. Lessons are embedded in frames without a login, which Jupyter refuses."""
EMBEDS = ("embed/memory", "embed/serving", "embed/by-hand/a", "embed/by-hand/b", "embed/by-hand/c")
"""Pages that no other page links to."""
PAGES = {"", "memory", "serving", "gallery", "by-hand/a", "by-hand/b", "by-hand/c"}
ADDRESSES = """() => {
  const named = [...document.querySelectorAll("[href]:not([rel=alternate]),[src],[action]")].flatMap((element) =>
    ["href", "src", "action"].map((name) => element.getAttribute(name)).filter(Boolean));
  const written = [...document.querySelectorAll("input,textarea")].map(({ value }) => value)
    .flatMap((value) => value.match(/https?:[^\\s"']+/g) ?? []);
  return [...named, ...written].map((address) => new URL(address, document.baseURI).href);
}"""
"""Where the page leads to and what it is made of, also what is for copying. The oEmbed answer is for who is elsewhere,
and has the path that a proxy says (tests/app/test_nginx.py)."""


@dataclass(frozen=True)
class Front:
    """A proxy before the server; `url` is where the server's root is seen, `login` what has to be opened first."""

    url: str
    login: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def inside(self, address: str) -> bool:
        """Whether an address is below the path, or of another host altogether. A socket's counts as a page's."""
        parts, own = urlsplit(address), urlsplit(self.url)
        return parts.netloc != own.netloc or parts.path.startswith(own.path)

    def page_of(self, address: str) -> str | None:
        """The page that an address is of, below the path; None where that is elsewhere, or no page."""
        parts, own = urlsplit(address), urlsplit(self.url)
        below = parts.path.removeprefix(own.path)
        mine = parts.netloc == own.netloc and parts.path.startswith(own.path)
        return below if mine and not below.startswith(NO_PAGES) else None

    def as_seen(self, server: Server) -> Server:
        """The same server at the address that the proxy gives it."""
        seen = copy(server)
        seen.url = self.url
        return seen


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with jupyter(tmp_path_factory.mktemp("jupyter")) as running:
        yield running


@pytest.fixture(params=["nginx", "jupyter"])
def front(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Iterator[Front]:
    if request.param == "jupyter":
        running: Jupyter = request.getfixturevalue("notebook")
        yield Front(running.proxied(port_of(server)), running.login, running.headers)
        return
    with nginx_before(port_of(server), BELOW_A_PATH, tmp_path) as url:
        yield Front(f"{url}kv/")


@pytest.fixture
def page(new_page: NewPage, front: Front) -> Iterator[Page]:
    """A page of somebody who is logged in where that is asked for. It is closed before its proxy is."""
    page = new_page(own=True)
    if front.login:
        page.goto(front.login)
    yield page
    page.close()


def port_of(server: Server) -> int:
    return int(server.url.rstrip("/").rpartition(":")[2])


def addresses(page: Page) -> set[str]:
    found: list[str] = page.evaluate(ADDRESSES)
    return {address for address in found if address.startswith(("http", "ws"))}


def leaving(front: Front, *found: str) -> list[str]:
    return [address for address in found if not front.inside(address)]


def test_every_page_is_reached_and_nothing_leads_out(page: Page, front: Front, short_run: str) -> None:
    asked = Asked().listen(page)
    waiting = ["", f"?run={short_run}", *EMBEDS]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop(0)
        seen.add(path)
        answer = page.goto(f"{front.url}{path}")
        assert answer is not None
        assert answer.ok, path
        expect(page.locator("main, .header").first).to_be_attached()
        page.wait_for_load_state("networkidle")
        found = addresses(page)
        assert len(found) > 5, path
        assert leaving(front, *found) == [], path
        new = {below for below in map(front.page_of, found) if below is not None} - seen - {*waiting}
        for alike in ALIKE:
            one_of_them = any(map(alike.match, (*seen, *waiting)))
            new -= {*sorted(filter(alike.match, new))[0 if one_of_them else 1 :]}
        waiting += sorted(new)
    assert {urlsplit(each).path for each in seen} >= PAGES
    assert any(each.startswith("s/") for each in seen)
    assert leaving(front, *asked.urls) == []


def test_a_run_is_made_watched_over_the_websocket_shared_and_saved(
    page: Page, front: Front, server: Server, complaints: Complaints, tmp_path: Path
) -> None:
    complaints.allow("status of 410")  # of the session once it is deleted
    asked = Asked().listen(page)
    stage = Stage(page, front.as_seen(server)).open()
    run = stage.run("Below a path", 4)
    stage.skip_to_the_end()
    page.wait_for_url(lambda url: url.startswith(f"{front.url}?run={run}"))
    sockets = [url for url in asked.urls if url.startswith("ws")]
    assert sockets
    assert all(url.startswith(f"{front.url.replace('http', 'ws', 1)}socket.io/") for url in sockets)
    dialog = share_by_dialog(stage, "Made below a path")
    link = dialog.get_by_label("Link", exact=True).input_value()
    assert link.startswith(f"{front.url}s/")
    # Jupyter's proxy takes the length of a file off, which is not shown as none.
    expect(dialog.locator(".file-size").first).to_have_text("" if front.login else re.compile("[1-9].*B$"))
    with page.expect_download() as download:
        dialog.get_by_role("link", name="Page with attention only").click()
    download.value.save_as(tmp_path / "run.html")
    assert leaving(front, *addresses(page), *asked.urls) == []

    page.goto(link)
    stage.skip_to_the_end()
    assert page.url.startswith(link)
    page.get_by_role("button", name="Delete", exact=False).first.click()
    page.get_by_role("button", name="Delete it for everybody").click()
    expect(page.get_by_role("heading", name="This session was deleted")).to_be_visible()
    page.get_by_role("link", name="Open KVScope").click()
    page.wait_for_url(lambda url: url.startswith(front.url) and "/s/" not in url)
    assert leaving(front, *asked.urls) == []
    open_file(page, tmp_path / "run.html", server)


def test_where_a_proxy_lets_no_websocket_through_a_run_is_watched_over_http_also_by_others(
    page: Page, front: Front, server: Server, short_run: str
) -> None:
    page.route_web_socket(re.compile("socket.io"), lambda socket: socket.close())
    stage = Stage(page, front.as_seen(server)).open()
    run = stage.run("Without a socket", 4)
    stage.skip_to_the_end()
    expect(stage.words).to_have_count(len(server.log(run).steps))
    path = f"{urlsplit(front.url).path.strip('/')}/socket.io"
    for transport in ("websocket", "polling"):
        viewer = Viewer(front.url, [transport], headers=front.headers, path=path)
        viewer.watch(short_run)
        seen = viewer.wait_for_close()
        viewer.leave()
        assert sum(kind(payload) == "step" for payload in seen) == len(server.log(short_run).steps)


def test_a_session_is_embedded(page: Page, front: Front, server: Server, short_run: str) -> None:
    session = share(server, short_run).id
    asked = Asked().listen(page)
    page.goto(f"{front.url}memory")
    # As a notebook's IFrame does it: behind a login a sandboxed frame is a stranger, to whom nothing is given.
    page.evaluate(
        "address => document.body.append(Object.assign(document.createElement('iframe'), { src: address }))",
        f"{front.url}embed/{session}",
    )
    inside = page.frame_locator("iframe")
    expect(inside.locator("html[data-state=paused]")).to_be_attached(timeout=60_000)
    way_out = inside.get_by_role("link", name="Open in KVScope")
    expect(way_out).to_have_attribute("href", re.compile(f"^{urlsplit(front.url).path}s/{session}"))
    assert leaving(front, *asked.urls) == []


@pytest.mark.parametrize("front", ["nginx"], indirect=True)
def test_a_page_beside_it_embeds_it_with_the_script(
    page: Page, front: Front, server: Server, complaints: Complaints, short_run: str
) -> None:
    """Where no login is asked for: a sandboxed frame has none."""
    complaints.allow("status of 40.")  # of the page that nginx has there
    session = share(server, short_run).id
    asked = Asked().listen(page)
    page.goto(urljoin(front.url, "/"))
    page.set_content(f'<div data-kvscope="{session}"></div><script src="{front.url}static/embed.js"></script>')
    expect(page.frame_locator("iframe").locator("html[data-state=paused]")).to_be_attached(timeout=60_000)
    assert any(url.startswith(f"{front.url}embed/{session}") for url in asked.urls)
    assert leaving(front, *asked.urls[1:]) == []
