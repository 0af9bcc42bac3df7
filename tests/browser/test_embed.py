"""A session inside a page of another origin: it sizes itself, is driven, says its steps, and obeys that page alone."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from playwright.sync_api import Frame, FrameLocator, Locator, Page, Route, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.runs import note, share
from tests.support.server import Server
from tests.support.stage import Rest, Stage, box_of, found_in, open_link, share_by_dialog
from tests.support.traffic import sockets_of
from tests.support.waiting import eventually, until

HEAD = {"step": 3, "layer": 13, "head": 8, "query": 8, "key": 1, "view": "head"}
TITLE = 'What "it" & <b>that</b> mean'
SIZES = [(700, 500), (360, 520)]
KEEPING = """["localStorage.length", "document.cookie = 'a=1; SameSite=None; Secure', document.cookie"].map((kept) => {
  try { return String((0, eval)(kept)) } catch (error) { return error.name }
})"""
"""What the embed is allowed to keep: in storage, in a cookie."""
CUT = "part => { const box = part.closest('.panel'); return box.scrollHeight - box.clientHeight }"


class Course:
    """A course page that embeds a session: long enough to be scrolled, a button before the embed and one after it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self._rest = Rest(page)
        page.goto(address)

    @property
    def embed(self) -> FrameLocator:
        return self.page.frame_locator("iframe").first

    @property
    def inside(self) -> Frame:
        """The frame of the first embed."""
        return next(frame for frame in self.page.frames if "/embed/" in frame.url)

    def expect_step(self, step: int) -> None:
        expect(self.embed.locator(f"html[data-step='{step}']")).to_be_attached()

    def wait_until_heard(self, type: str) -> None:
        until(self.page, "type => heard.some((data) => data.type === type)", type)

    @property
    def height(self) -> float:
        """Of the first frame, in CSS pixels."""
        return float(self.page.locator("iframe").first.evaluate("frame => frame.getBoundingClientRect().height"))

    def rest(self) -> None:
        """Until all is there in the first embed, nothing in it changes, and the frame has kept its height."""
        before = -1.0
        while before != (before := self.height):
            self._rest.wait(self.inside)


@pytest.fixture
def course(server: Server) -> Iterator[Callable[..., Course]]:
    """Serves a page with what is given in its body on another origin, and another site, than the server's."""
    bodies: list[str] = []
    headers: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 204)
            self.send_header("Content-Type", "text/html")
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(bodies[-1].encode() if self.path == "/" else b"")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as host:
        Thread(target=host.serve_forever, daemon=True).start()

        def make(page: Page, body: str, isolated: str = "") -> Course:
            policies = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": isolated}
            headers.update(policies if isolated else {})
            bodies.append(f"""<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">
                <title>A course</title>
                <body style="min-height:4000px"><p><button>before</button></p>{body}<p><button>after</button></p>
                <script>
                  window.heard = [];
                  window.steps = [];
                  addEventListener("message", (event) => heard.push(event.data));
                  addEventListener("stepchange", (event) => steps.push(event.detail));
                </script>
                <script src="{server.url}static/embed.js"></script>""")
            return Course(page, f"http://localhost:{host.server_port}/")

        yield make
        host.shutdown()


@pytest.fixture(scope="session")
def session(_server: Server, short_run: str) -> str:
    return share(_server, short_run, title=TITLE, notes=[note(3, "Look at the row of it.", 13, 8)], open=HEAD).id


def made(session: str, query: str = "") -> str:
    return f'<div id="demo" data-kvscope="{session}{query}" title="A run"></div>'


def test_a_course_elsewhere_embeds_a_session_and_drives_it(
    new_page: NewPage, course: Callable[..., Course], server: Server, session: str
) -> None:
    page = new_page()
    opened = sockets_of(page)
    held: list[Route] = []
    page.route("**/frames?after=*", lambda route: held.append(route))
    with page.expect_request("**/frames?after=*"):
        shown = course(page, made(session, "?step=0"))
    entries = page.evaluate("history.length")
    page.evaluate("demo.kvscope.goto({ step: 5 })")  # before the run is there
    for route in held:
        route.continue_()
    page.unroute("**/frames?after=*")
    shown.expect_step(5)
    frame, address = page.get_by_title("A run", exact=True).last, shown.inside.url
    assert frame.get_attribute("sandbox") == "allow-scripts allow-popups allow-popups-to-escape-sandbox"
    assert shown.inside.evaluate(KEEPING) == ["SecurityError", "SecurityError"]
    shown.rest()
    assert shown.height > 600
    page.evaluate("demo.kvscope.goto({ step: 4, layer: 2, head: 1, view: 'pair' })")
    shown.expect_step(4)
    until(page, "steps.at(-1)?.step === 4 && steps.at(-1).layer === 2 && steps.at(-1).view === 'pair'")
    last = page.evaluate("steps.at(-1)")
    assert (last["steps"], last["head"], last["playing"]) == (6, 1, False)
    shown.embed.get_by_role("button", name="Previous step", exact=True).click()
    until(page, "steps.at(-1).step === 3")
    page.evaluate("demo.kvscope.play()")
    until(page, "steps.at(-1).playing")
    page.evaluate("demo.kvscope.pause()")
    until(page, "!steps.at(-1).playing")
    shown.rest()
    assert (page.evaluate("history.length"), shown.inside.url) == (entries, address)
    assert opened == []
    assert page.context.cookies() == []
    page.evaluate("demo.kvscope.goto({ step: 4 })")
    shown.expect_step(4)
    with page.expect_popup() as popup:
        shown.embed.get_by_role("link", name="Open in KVScope").click()
    expect(popup.value.locator("html[data-step='4']")).to_be_attached()
    assert popup.value.url.startswith(f"{server.url}s/{session}#step=4&layer=2")
    assert popup.value.evaluate("window.origin") == server.url.rstrip("/"), "without a sandbox"


def test_without_embed_js_a_frame_of_any_kind_says_its_height_to_canvas_too(
    new_page: NewPage, course: Callable[..., Course], server: Server, session: str
) -> None:
    page = new_page()
    page.route("**/static/embed.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    shown = course(page, f'<iframe src="{server.url}embed/{session}" width="700" height="500"></iframe>')
    shown.expect_step(3)
    shown.wait_until_heard("stepchange")
    assert shown.inside.evaluate(KEEPING) == ["SecurityError", ""], "this browser blocks what a third party keeps"
    until(page, "heard.some((data) => data.subject === 'lti.frameResize' && data.height > 500)")
    told = page.evaluate("heard")
    assert {data["type"] for data in told if "type" in data} == {"ready", "size", "stepchange"}
    numbers = [value for data in told for name, value in data.items() if name not in ("type", "subject", "view")]
    assert all(value is None or isinstance(value, int | bool) for value in numbers), "nothing of the text leaves"
    assert shown.height == 504
    page.evaluate("frames[0].postMessage({ kvscope: 1, type: 'goto', step: 99 }, '*')")
    shown.expect_step(5)


def test_it_obeys_the_page_around_alone_and_only_its_commands(
    new_page: NewPage, course: Callable[..., Course], session: str
) -> None:
    addresses = ("javascript:alert(1)", "https://elsewhere.example/embed/abc", "/s/abc", "", "../embed/x/../../s/y")
    foreign = "".join(f'<div class="foreign" data-kvscope="{address}"></div>' for address in addresses)
    shown = course(new_page(), f"{made(session)}{foreign}<iframe srcdoc='<p>other</p>'></iframe>")
    shown.expect_step(3)
    shown.rest()
    before, page = shown.height, shown.page
    assert page.locator(".foreign iframe").count() == 0
    stranger = next(frame for frame in page.frames if frame.url == "about:srcdoc")
    stranger.evaluate("parent.frames[0].postMessage({ kvscope: 1, type: 'goto', step: 1 }, '*')")
    stranger.evaluate("parent.postMessage({ kvscope: 1, type: 'size', height: 3000 }, '*')")
    stranger.evaluate("parent.postMessage({ kvscope: 1, type: 'stepchange', step: 77 }, '*')")
    for message in (
        "{ type: 'goto', step: 1 }",
        "{ kvscope: 2, type: 'goto', step: 1 }",
        "'goto'",
        "null",
        "{ kvscope: 1, type: 'goto', step: 'x', view: '<b>', head: [1], key: {} }",
        "{ kvscope: 1, type: '__proto__' }",
    ):
        page.evaluate(f"frames[0].postMessage({message}, '*')")
    # It has all arrived when a command of the page's own, sent after it, has.
    page.evaluate("demo.kvscope.goto({ layer: 7 })")
    until(page, "steps.at(-1).layer === 7")
    assert {data["step"] for data in page.evaluate("steps")} == {3}
    told = page.evaluate("heard.filter((data) => data.type === 'stepchange' && data.step === 3).at(-1)")
    assert {name: told[name] for name in HEAD} == HEAD | {"layer": 7}
    shown.rest()
    assert abs(shown.height - before) < 60
    page.evaluate("id => document.body.insertAdjacentHTML('beforeend', `<p id=late data-kvscope=${id}></p>`)", session)
    expect(page.locator("#late iframe")).to_be_attached()


def test_in_a_sandboxed_frame_nothing_is_computed_and_what_is_stored_is_shown(
    new_page: NewPage, course: Callable[..., Course], server: Server
) -> None:
    # A run of its own: the server keeps answers that another test asked for.
    run = server.finished_run("Nobody has looked inside this run", max_new_tokens=4)
    session = share(server, run, title="Not looked at yet", open={**HEAD, "view": "model"}).id
    lens = f"{server.url}api/sessions/{session}/lens?step=3"
    inspector = course(new_page(), made(session)).embed.get_by_role("region", name="Inspector", exact=True)
    expect(inspector).to_contain_text("not stored with this session")
    assert requests.get(lens, headers={"Origin": "null", "Sec-Fetch-Site": "cross-site"}, timeout=60).status_code == 204
    assert requests.get(lens, headers={"Sec-Fetch-Site": "same-origin"}, timeout=60).ok  # as the page of the link does
    inspector = course(new_page(), made(session)).embed.get_by_role("region", name="Inspector", exact=True)
    expect(inspector).to_contain_text("parts 4, 5 and 6 are applied")
    expect(inspector).not_to_contain_text("not stored with this session")


@pytest.mark.parametrize("size", SIZES, ids=["wide", "narrow"])
def test_the_wheel_is_the_pages_around_unless_ctrl_is_held(
    new_page: NewPage, course: Callable[..., Course], server: Server, session: str, size: tuple[int, int]
) -> None:
    width, height = size
    frame = f'<iframe src="{server.url}embed/{session}" data-fixed style="width:{width}px;height:{height}px"></iframe>'
    page = new_page(viewport={"width": 900, "height": 700})
    shown = course(page, frame)
    shown.expect_step(3)
    expect(shown.embed.get_by_role("table").first).to_be_attached()
    box = box_of(page.locator("iframe"))
    inspector = shown.embed.get_by_role("region", name="Inspector")
    top = "panel => panel.closest('.panel').scrollTop"
    # Everywhere: header, timeline, notes, tabs, the panel from its upper end to its lower.
    for y in range(10, height - 10, 70):
        page.evaluate("scrollTo(0, 0)")
        page.mouse.move(box["x"] + width / 2, box["y"] + y)
        page.mouse.wheel(0, 120)
        until(page, "scrollY === 120")
    hint = shown.embed.get_by_role("status").filter(has_text="Ctrl")
    page.mouse.move(box["x"] + width / 2, box["y"] + height - 60)
    page.mouse.wheel(0, 120)
    expect(hint).to_be_visible()  # for a moment
    assert inspector.evaluate(top) == 0
    page.evaluate("scrollTo(0, 0)")
    page.mouse.move(box["x"] + width / 2, box["y"] + height - 60)
    page.keyboard.down("Control")
    page.mouse.wheel(0, 120)
    page.keyboard.up("Control")
    until(page, "scrollY === 0")
    eventually(lambda: inspector.evaluate(top) == 120)
    expect(hint).to_be_hidden()


def test_the_keyboard_goes_in_and_out_and_the_arrows_stay_where_the_focus_is(
    new_page: NewPage, course: Callable[..., Course], session: str
) -> None:
    shown = course(new_page(), made(session))
    shown.expect_step(3)
    keys, page = shown.page.keyboard, shown.page
    page.get_by_role("button", name="before").focus()
    page.evaluate("addEventListener('scrollend', () => (document.title = 'scrolled'), { once: true })")
    keys.press("ArrowRight")
    keys.press("ArrowDown")
    expect(page).to_have_title("scrolled")
    shown.expect_step(3)
    keys.press("Tab")
    skip = shown.embed.get_by_role("button", name=re.compile("^Skip to the end"))
    expect(skip).to_be_focused()
    keys.press("Enter")
    keys.press("Tab")
    expect(page.get_by_role("button", name="after")).to_be_focused()
    keys.press("Shift+Tab")
    until(page, "document.activeElement.localName === 'iframe'")
    shown.embed.get_by_role("slider", name="Step").focus()
    page.evaluate("scrollTo(0, 0)")
    keys.press("ArrowRight")
    shown.expect_step(4)
    assert page.evaluate("scrollY") == 0
    shown.inside.evaluate("stops = 0; addEventListener('focusin', () => (stops += 1), true)")
    outside = "document.activeElement.textContent === 'after'"
    for tabs in range(1, 121):
        keys.press("Tab")
        # The frame is a process of its own: the focus moves, or leaves it, a little after the key.
        eventually(lambda tabs=tabs: page.evaluate(outside) or shown.inside.evaluate("stops") >= tabs)
        if page.evaluate(outside):
            break
    expect(page.get_by_role("button", name="after")).to_be_focused()


def test_what_the_address_says_is_hidden_coloured_and_played(new_page: NewPage, server: Server, session: str) -> None:
    page = new_page(color_scheme="dark", viewport={"width": 700, "height": 500})
    address = f"{server.url}embed/{session}"
    parts = {
        "prompt": page.get_by_role("group", name=re.compile("^Prompt, ")),
        "controls": page.get_by_role("group", name="Playback"),
        "header": page.get_by_role("heading", name=TITLE),
        "notes": page.get_by_role("region", name="Notes"),
    }
    for hidden, theme, shown in (
        ((), "light", "light"),
        (("prompt", "notes"), "pink", "dark"),
        (tuple(parts), "auto", "dark"),
    ):
        page.goto(f"{address}?hide={','.join(hidden)},nonsense&theme={theme}")
        expect(page.locator(f"html[data-theme={shown}][data-state=paused][data-step='3']")).to_be_attached()
        for name, part in parts.items():
            expect(part).to_have_count(0 if name in hidden else 1)
    page.emulate_media(color_scheme="light")
    expect(page.locator("html[data-theme=light]")).to_be_attached()
    page.goto(f"{address}?autoplay=1&speed=77&step=2")
    expect(page.get_by_label("Speed")).to_have_value("4")
    expect(page.locator("html[data-state=done][data-step='5']")).to_be_attached()
    failed = '{"state": "failed", "message": "no such file"}'
    page.route("**/readyz", lambda route: route.fulfill(status=503, body=failed, content_type="application/json"))
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{address}?autoplay=1&step=2&present=1")
    expect(page.locator("html[data-state=paused][data-step='2']:not([data-present])")).to_be_attached()
    expect(page.get_by_role("region", name="Inspector")).to_contain_text("not stored with this session")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_no_other_page_can_be_framed_elsewhere(
    new_page: NewPage, course: Callable[..., Course], server: Server, session: str, complaints: Complaints
) -> None:
    complaints.allow("frame-ancestors|chrome-error")
    page = new_page()
    body = "".join(f'<iframe src="{server.url}{path}"></iframe>' for path in ("", f"s/{session}", "s/none"))
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        course(page, body)
    refused = ["chrome-error://chromewebdata/"] * 3
    eventually(lambda: page.title() and [frame.url for frame in page.frames[1:]] == refused)


@pytest.mark.parametrize("width", [700, 360])
def test_nothing_is_cut_at_the_height_it_asks_for(
    new_page: NewPage, course: Callable[..., Course], session: str, width: int
) -> None:
    page = new_page(viewport={"width": width + 60, "height": 700})
    shown = course(page, f'<div style="width:{width}px">{made(session)}</div>')
    shown.expect_step(3)
    panel = shown.embed.get_by_role("region", name="Inspector")
    for view in ("head", "model", "pair", "time"):
        page.evaluate("view => demo.kvscope.goto({ view })", view)
        until(page, "view => steps.at(-1)?.view === view", view)
        shown.rest()
        # The page around follows a little after the panel has found its height.
        eventually(lambda: panel.evaluate(CUT) <= 1)
        assert shown.inside.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view


def test_embed_js_is_small_as_it_is_served(server: Server) -> None:
    served = requests.get(f"{server.url}static/embed.js", headers={"Accept-Encoding": "identity"}, timeout=30)
    assert 0 < len(served.content) <= 2048


def test_other_pages_work_in_a_sandboxed_frame_that_is_as_high_as_they_are(
    new_page: NewPage, course: Callable[..., Course], server: Server
) -> None:
    page = new_page()

    def framed(address: str) -> Course:
        sandbox = 'width="900" height="300" sandbox="allow-scripts allow-popups"'
        return course(page, f'<iframe src="{server.url}embed/{address}" {sandbox}></iframe>')

    shown = framed("by-hand/a?w_v1=1,1;1,2.5")
    expect(shown.embed.locator('[data-cell="mixed1:3:1"]')).to_have_text("2.313")
    shown.embed.get_by_role("textbox", name="W_V, row 2, column 2").fill("-1")
    expect(shown.embed.locator('[data-cell="mixed1:3:1"]')).to_have_text("0.000")
    eventually(lambda: shown.height > 700)
    link = shown.embed.get_by_role("link", name="Open in KVScope")
    expect(link).to_have_attribute("href", re.compile(r"/by-hand/a\?w_v1=1,1;1,-1&"))
    shown = framed("memory?gpus=2")
    shown.embed.get_by_role("textbox", name="Number of GPUs").fill("1")
    expect(shown.embed.get_by_role("region", name="Does it fit")).to_contain_text("59 requests")
    expect(shown.embed.get_by_role("button", name="Measure this machine")).to_have_count(0)
    figure = shown.embed.get_by_role("figure", name="Cache against length")
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".main-svg").first).to_be_visible()


@pytest.mark.parametrize("policy", ["require-corp", "credentialless"])
@pytest.mark.parametrize("sandbox", ["", 'sandbox="allow-scripts"'], ids=["plain", "sandboxed"])
def test_a_page_that_is_cross_origin_isolated_embeds_too(
    new_page: NewPage,
    course: Callable[..., Course],
    server: Server,
    session: str,
    policy: str,
    sandbox: str,
) -> None:
    page = new_page()
    shown = course(page, f'<iframe src="{server.url}embed/{session}" {sandbox}></iframe>', isolated=policy)
    assert page.evaluate("crossOriginIsolated")
    shown.expect_step(3)
    shown.rest()
    assert shown.height > 600
    shown = course(page, f'<iframe src="{server.url}embed/by-hand/a" {sandbox}></iframe>', isolated=policy)
    expect(shown.embed.locator('[data-cell="mixed1:3:1"]')).to_be_visible()


def builder(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Embed this run")


def pasted(form: Locator) -> str:
    return form.get_by_label("Text to paste").input_value()


def asked(form: Locator) -> dict[str, list[str]]:
    """The parameters of the address in the HTML to paste."""
    found = found_in(pasted(form), r'src="([^"]*)"')
    return parse_qs(urlsplit(html.unescape(found[1])).query)


def test_what_is_built_and_pasted_into_another_page_shows_what_the_preview_shows(
    new_page: NewPage, server: Server, session: str, course: Callable[..., Course]
) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    open_link(page, server, session).button("Embed…").click()
    form, preview = builder(page), builder(page).frame_locator("iframe")
    expect(preview.locator("html[data-step='3']")).to_be_attached()
    assert asked(form) == {name: [str(value)] for name, value in HEAD.items()}
    form.get_by_role("combobox", name="View").select_option("tokens")
    form.get_by_label("Colours").select_option("dark")
    for part in ("notes", "title"):
        form.get_by_label(part, exact=True).uncheck()
    form.get_by_label("Width").fill("800")
    form.get_by_label("Height").fill("99999")
    form.get_by_label("Height").blur()
    expect(form.get_by_label("Height")).to_have_value("1200")
    assert asked(form)["view"] == ["tokens"]
    assert asked(form)["hide"] == ["header,notes"]
    assert 'width="800" height="1200"' in pasted(form)
    expect(preview.locator("html[data-theme='dark']")).to_be_attached()
    expect(preview.get_by_role("heading", name=TITLE)).to_have_count(0)
    other = course(new_page(), pasted(form))
    expect(other.embed.locator("html[data-theme='dark'][data-step='3']")).to_be_attached()
    assert other.page.locator("iframe").first.get_attribute("title") == TITLE
    form.get_by_label("Paste into").select_option("Jupyter notebook")
    form.get_by_role("button", name="Copy text to paste").click()
    expect(form.get_by_role("button", name="Copied text to paste")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == pasted(form)
    form.get_by_label("Paste into").select_option("HTML page")
    form.get_by_label("Where the shared link opens").check()
    form.get_by_label("Plays by itself").check()
    form.get_by_label("Speed").select_option("2×")
    assert asked(form) == {"autoplay": ["1"], "speed": ["2"], "theme": ["dark"], "hide": ["header,notes"]}


def test_a_link_just_made_is_embedded_from_its_dialog(stage: Stage, short_run: str) -> None:
    stage.open(short_run, "#step=2&layer=3&head=1&view=head").expect_step(2)
    form = share_by_dialog(stage, TITLE)
    made_id = form.get_by_label("Link", exact=True).input_value().rpartition("/")[2]
    form.get_by_role("button", name="Embed…").click()
    assert f"/embed/{made_id}?step=2&amp;layer=3&amp;head=1" in pasted(builder(stage.page))
    assert html.escape(TITLE) in pasted(builder(stage.page))
    stage.page.keyboard.press("Escape")
    expect(builder(stage.page)).to_have_count(0)
    expect(form).to_be_visible()


def test_an_embedded_lesson_says_its_steps_and_answers(course: Callable[..., Course], new_page: NewPage) -> None:
    page = new_page()
    body = '<div data-kvscope="embed/learn/test-one?theme=light" title="A lesson"></div>\n<script>window.lessons = [];'
    course(page, body + 'addEventListener("lesson", (event) => lessons.push(event.detail));</script>')
    lesson = page.frame_locator("iframe").first
    expect(lesson.frame_locator("iframe").locator("html[data-lesson]")).to_be_attached()
    lesson.get_by_role("textbox", name="Your prediction").fill("4")
    lesson.get_by_role("button", name="Check").click()
    expect(lesson.get_by_role("region", name="Prediction").get_by_role("status")).to_contain_text("it is 4")
    lesson.get_by_role("button", name="Next", exact=True).click()
    until(page, "() => lessons.some(({ step }) => step === 1)", None)
    said = page.evaluate("lessons")
    assert {(each["lesson"], each["steps"]) for each in said} == {("test-one", 5)}
    assert [each["right"] for each in said if each["step"] == 0][-1] is True
