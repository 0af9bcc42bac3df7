"""What a session is elsewhere: the embed's page and headers, oEmbed, cards, the picture."""

import io
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image

from kvscope.app.paths import STATIC
from kvscope.app.settings import Settings
from kvscope.app.travel import palette
from kvscope.app.travel.card import read_card
from kvscope.app.travel.fonts import Fonts
from kvscope.app.travel.opening_head import NothingToShow, opening_head
from kvscope.app.travel.thumbnail import _visible
from kvscope.model.log import frames as codec
from tests.support.live_server import FAKE
from tests.support.over_http import (
    WORDS,
    NewClient,
    bootstrap,
    damage,
    delete,
    finished,
    frames,
    problem,
    serving,
    share,
)

RECORDED = "09a1cb39aa7e090a"
"""The run that ships with the project: "it" is its position 8, "animal" its position 1."""
OPENS = {"step": 3, "layer": 13, "head": 8, "query": 8, "key": 1, "view": "head"}


@pytest.fixture(scope="module")
def recorded_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """An application with the recorded runs."""
    with serving(Settings(data_dir=tmp_path_factory.mktemp("recorded"), service=FAKE)) as app:
        yield app


@pytest.fixture
def recorded(recorded_app: Flask) -> FlaskClient:
    return recorded_app.test_client()


class Tags(HTMLParser):
    """All tags of a page, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def content(self, name: str) -> str | None:
        """Of the <meta> with this name or property."""
        metas = (attributes for tag, attributes in self.found if tag == "meta")
        return next((meta["content"] for meta in metas if name in (meta.get("name"), meta.get("property"))), None)


def oembed(client: FlaskClient, url: str, **more: Any) -> Any:
    return client.get(f"/oembed?{urlencode({'url': url, **more})}")


def ancestors(response: Any) -> str | None:
    """None: any page, also one without an origin."""
    named = re.search(r"frame-ancestors ([^;]*)", response.headers["Content-Security-Policy"])
    return named and named[1]


def test_an_embed_is_the_page_of_the_session_with_a_mark(client: FlaskClient) -> None:
    shared = share(client, title="Seen")
    page, embed = (bootstrap(client.get(shared[address]).text) for address in ("url", "embed"))
    assert embed == page | {"embed": True}
    assert "embed" not in page


def test_any_page_may_embed_a_session_and_nothing_else(client: FlaskClient) -> None:
    shared = share(client)
    assert ancestors(client.get(shared["embed"])) is None
    for path in ("/", shared["url"], "/s/none", "/healthz", f"/api/sessions/{shared['id']}", "/embedded", "/nowhere"):
        assert ancestors(client.get(path)) == "'self'", path
    for path in ("/", shared["embed"]):
        assert "X-Frame-Options" not in client.get(path).headers


def test_the_operator_says_who_may_embed(new_client: NewClient) -> None:
    own = "'self' https://course.example"
    client = new_client(frame_ancestors=own)
    assert ancestors(client.get(share(client)["embed"])) == own
    assert ancestors(client.get("/")) == "'self'"


def test_an_embed_that_leads_nowhere_is_a_readable_page(app: Flask, client: FlaskClient) -> None:
    deleted, damaged = share(client, title="deleted"), share(client, title="damaged")
    delete(client, deleted)
    damage(app, damaged["id"], None)
    for url, status in (("/embed/none", 404), (deleted["embed"], 410), (damaged["embed"], 500)):
        response = client.get(url)
        assert response.status_code == status
        [link] = [attributes for tag, attributes in Tags(response.text).found if tag == "a"]
        assert link["target"] == "_blank", "the page it leads to cannot be framed"


def test_oembed_answers_for_links_and_embeds(client: FlaskClient) -> None:
    shared = share(client, **WORDS)
    for address in ("url", "embed"):
        response = oembed(client, f"http://localhost{shared[address]}")
        answer = response.json
        assert (answer["version"], answer["type"], answer["title"]) == ("1.0", "rich", "Where it looks")
        [(tag, frame)] = Tags(answer["html"]).found
        assert tag == "iframe"
        assert frame["src"] == f"http://localhost{shared['embed']}"
        assert (frame["width"], frame["height"]) == (str(answer["width"]), str(answer["height"]))
        assert frame["title"] == "Where it looks"
        assert (answer["thumbnail_width"], answer["thumbnail_height"]) == (1200, 630)
        assert answer["thumbnail_url"] == f"http://localhost/api/sessions/{shared['id']}.png"
        assert response.headers["Access-Control-Allow-Origin"] == "*"


def test_oembed_stays_within_the_bounds_it_is_given(client: FlaskClient) -> None:
    url = f"http://localhost{share(client)['url']}"
    answer = oembed(client, url, maxwidth=320, maxheight=200).json
    assert (answer["width"], answer["height"]) == (320, 200)
    assert 'width="320" height="200"' in answer["html"]
    assert "thumbnail_url" not in answer
    answer = oembed(client, url, maxwidth=5000).json
    assert (answer["width"], answer["height"]) == (800, 600)


def test_oembed_hands_on_what_an_embed_takes(client: FlaskClient) -> None:
    url = f"http://localhost{share(client)['url']}"
    answer = oembed(client, f"{url}?present=1&theme=dark#step=2&layer=1&x=<b>").json
    [(_, frame)] = Tags(answer["html"]).found
    assert frame["src"].endswith("?step=2&layer=1&theme=dark")
    quoted = oembed(client, f'{url}?view="><script>').json["html"]
    assert [tag for tag, _ in Tags(quoted).found] == ["iframe"]


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://localhost/s/none", 404),
        ("http://localhost/", 404),
        ("http://localhost/s/abc/def", 404),
        ("http://elsewhere.example/s/abc", 404),
        ("javascript:alert(1)", 404),
        ("http://[", 404),
        ("//localhost/s/abc", 404),
        ("\x00", 404),
        ("", 400),
    ],
)
def test_oembed_refuses_other_addresses(client: FlaskClient, url: str, status: int) -> None:
    problem(oembed(client, url), status, "url")


def test_oembed_says_what_it_cannot_do(client: FlaskClient) -> None:
    shared = share(client, title="soon gone")
    problem(oembed(client, f"http://localhost{shared['url']}", format="xml"), 501, "format")
    delete(client, shared)
    problem(oembed(client, f"http://localhost{shared['url']}"), 410, "session")


def test_a_page_names_its_oembed_and_its_card(client: FlaskClient) -> None:
    shared = share(client, **WORDS)
    for address in ("url", "embed"):
        tags = Tags(client.get(shared[address]).text)
        [discovered] = [a["href"] for t, a in tags.found if t == "link" and a.get("type") == "application/json+oembed"]
        assert client.get(discovered.removeprefix("http://localhost")).json["title"] == "Where it looks"
        assert tags.content("og:title") == "Where it looks"
        assert tags.content("og:url") == f"http://localhost{shared['url']}"
        assert tags.content("og:image") == f"http://localhost/api/sessions/{shared['id']}.png"
        assert tags.content("twitter:card") == "summary_large_image"
        assert tags.content("og:description") == "“abc” — fake answers “def”"


def test_without_scripts_a_page_tells_the_run(client: FlaskClient) -> None:
    shared = share(client, **WORDS)
    for address in ("url", "embed"):
        [told] = re.findall(r"<noscript>(.*?)</noscript>", client.get(shared[address]).text, re.S)
        text = unescape(re.sub(r"<[^>]*>", " ", told))
        said = ("Where it looks", "abc", "def", "fake", "step 2, layer 1, head 2: ", "Here.\nAnd there.", "Prefill")
        assert [words for words in said if words not in text] == []


def test_a_session_with_a_damaged_part_still_has_its_page(app: Flask, client: FlaskClient) -> None:
    shared = share(client, title="damaged inside")
    parts = client.get(f"/api/sessions/{shared['id']}").json["parts"]
    damage(app, shared["id"], next(part["seq"] for part in parts if part["kind"] == "step"))
    for address in ("url", "embed"):
        page = client.get(shared[address])
        assert page.status_code == 200
        assert "The file is damaged" in page.text
        assert Tags(page.text).content("og:description") == "“abc”"


def test_the_answer_is_what_the_tokens_spell_together() -> None:
    class Store:
        def steps(self, session: str) -> list[codec.Header]:
            tokens = [("e2", False), ("82ac", False), ("3c7c656f737c3e", True), ("ff", False)]
            chosen = [{"bytes": spelled, "special": special} for spelled, special in tokens]
            return [codec.Header("step", at, "r", {"token": token}) for at, token in enumerate(chosen)]

    manifest = {"id": "a", "title": "", "prompt": " two\n\nlines ", "model": {"name": "m"}, "notes": []}
    card = read_card(Store(), manifest)  # type: ignore[arg-type]
    assert (card.answers, card.title) == ([(" two\n\nlines ", "€\ufffd")], "two lines")


def picture(client: FlaskClient, **words: Any) -> Image.Image:
    shared = share(client, RECORDED, **words)
    response = client.get(f"/api/sessions/{shared['id']}.png")
    assert response.mimetype == "image/png", response.text
    drawn = Image.open(io.BytesIO(response.data))
    drawn.load()
    return drawn


def test_the_picture_is_drawn_from_the_run(recorded: FlaskClient) -> None:
    drawn = picture(recorded, open=OPENS, title="What it means")
    assert (drawn.size, drawn.mode) == ((1200, 630), "RGB")
    # Cells of the head's matrix, 9 x 9: the row of "it" is dark at "animal" alone, keys after a query are masked.
    cell = [
        [drawn.getpixel((56 + 384 * (2 * k + 1) // 18, 174 + 384 * (2 * q + 1) // 18)) for k in range(9)]
        for q in range(9)
    ]
    brightness = [sum(colour) for colour in cell[8]]  # type: ignore[arg-type]
    assert brightness.index(min(brightness)) == 1
    assert all(cell[query][key] == (239, 236, 227) for query in range(9) for key in range(query + 1, 9))
    for other in (OPENS | {"head": 2}, OPENS | {"query": 5}, OPENS | {"step": 5, "query": None}):
        assert picture(recorded, open=other, title="What it means").tobytes() != drawn.tobytes()
    assert picture(recorded, open=OPENS, title="Other words").tobytes() != drawn.tobytes()


def test_the_head_is_the_one_the_page_opens_with(recorded: FlaskClient, recorded_app: Flask) -> None:
    frames = list(recorded_app.extensions["kvscope"].runs.all_frames(RECORDED))
    shown = opening_head(frames, OPENS)
    assert (shown.layer, shown.head, shown.query, shown.key) == (13, 8, 8, 1)
    assert 0.74 < shown.share < 0.76
    assert [len(row) for row in shown.rows] == list(range(1, 10))
    chosen = opening_head(frames, dict.fromkeys(OPENS))
    assert (chosen.layer, chosen.head, chosen.query) == (13, 8, 10)
    last = opening_head(frames, dict.fromkeys(OPENS) | {"step": 10**6, "layer": 3})
    assert (last.layer, last.head, last.query) == (3, 0, len(last.tokens) - 2)


def test_frames_that_hold_no_attention_are_no_fault(client: FlaskClient) -> None:
    store = client.application.extensions["kvscope"].sessions
    log = frames(client, finished(client))
    for seq, head in enumerate(map(codec.header, log)):
        if head.kind == "layer":
            log[seq] = codec.encode(head.run, seq, "layer", head.data, {"attention": np.zeros(6, np.uint8)}).payload
    words = {"title": "", "notes": [], "open": dict.fromkeys(OPENS)}
    session, _ = store.keep(words, lambda: iter(log))
    problem(client.get(f"/api/sessions/{session}.png"), 404, "session")
    with pytest.raises(NothingToShow):
        opening_head([], dict.fromkeys(OPENS))


def test_a_picture_that_is_kept_is_another_once_the_pages_colours_are(
    recorded: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"/api/sessions/{share(recorded, RECORDED)['id']}.png"
    first = recorded.get(url)
    kept = first.headers["ETag"]
    assert (first.headers["Cache-Control"], first.status_code) == ("no-cache", 200)
    assert recorded.get(url, headers={"If-None-Match": kept}).status_code == 304
    monkeypatch.setattr(palette, "light", lambda: {"bg": "#000000"})
    assert recorded.get(url, headers={"If-None-Match": kept}).status_code == 200


def test_any_title_can_be_drawn(recorded: FlaskClient) -> None:
    for title in ("", "W" * 200, "一二三 שלום مرحبا 🙂 \u0301", "word " * 39, "Ελληνικά, кириллица, Việt", "a\u00adb"):
        assert picture(recorded, title=title).size == (1200, 630)


def test_parts_of_letters_and_controls_are_escaped() -> None:
    shown = {"20646f67": " dog", "c3": "\\xC3", "0a0a": "\\n\\n", "c3a9": "é"}
    for spelled, text in shown.items():
        assert _visible({"text": bytes.fromhex(spelled).decode(errors="replace"), "bytes": spelled}) == text


@pytest.mark.parametrize("folder", [STATIC / "vendor/@fontsource-variable/inter", Path("nowhere")])
def test_fonts_know_what_they_cannot_draw(folder: Path) -> None:
    fonts = Fonts(folder)
    assert fonts.width("word", 20) > 0
    assert fonts.width("一二", 20) == pytest.approx(2 * 0.62 * 20)
    for text in ("one two three four five", "w" * 80, ""):
        lines = fonts.lines(text, 20, 400, 100, 2)
        assert len(lines) <= 2
        assert all(fonts.width(line, 20) <= 100 for line in lines)
    assert fonts.lines("one two three four five", 20, 400, 60, 2)[-1].endswith("…")
    assert fonts.lines("one two", 20, 400, 500, 2) == ["one two"]
