"""The gallery: its recordings are saved sessions from the first start on, and its page leads to them."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest
from flask import Flask

from kvscope.app.settings import Settings
from kvscope.app.store.gallery import Gallery
from kvscope.app.store.sessions import canonical, name_of
from kvscope.model.log import frames as codec
from tests.support.outage import away

SHIPPED = Settings().recordings_dir
WORDS = {
    "title": "A <b>title</b>",
    "notes": [{"step": 0, "layer": None, "head": None, "text": "Look."}],
    "open": {"step": 0, "layer": 0, "head": 0, "query": 0, "key": 0, "view": "head"},
}
PICTURE = {
    "kind": "chances",
    "tokens": ["</script><script>alert(1)</script>"],
    "prompt": 0,
    "shares": [0.5],
    "most": [0.5],
}


def write(folder: Path, name: str = "one", *, id: str | None = None, starts: bool = False) -> str:
    """A recording with a card; the id of its session."""
    folder.mkdir(exist_ok=True)
    payloads = [frame.payload for frame in codec.split((SHIPPED / "code.safetensors").read_bytes())]
    id = id or name_of(canonical(WORDS), payloads)[:12]
    card = {"order": 0, "starts": starts, "shows": "One thing", "sentence": "It says & shows.", "picture": PICTURE}
    entries = {"session": {"id": id, **WORDS, "created": "2026-01-01T00:00:00Z"}, "gallery": card}
    file = codec.join(payloads, {name: json.dumps(entry) for name, entry in entries.items()})
    (folder / f"{name}.safetensors").write_bytes(file)
    return id


def test_every_shipped_recording_opens_as_a_session_from_its_card(
    make_app: Callable[..., Flask], settings: Settings
) -> None:
    client = make_app(replace(settings, recordings_dir=SHIPPED), ready=False).test_client()
    page = client.get("/gallery").text
    ids = re.findall(r'href="./s/([a-z2-7]+)"', page)
    assert len(ids) == len(set(ids)) == len(list(SHIPPED.glob("*.safetensors"))) >= 8
    pictures = json.loads(re.search(r'id="bootstrap">(.*?)</script>', page, re.S)[1])["pictures"]  # type: ignore[index]
    assert set(pictures) == set(ids)
    for id in ids:
        assert client.get(f"/s/{id}").status_code == 200
        manifest = client.get(f"/api/sessions/{id}").json
        assert 2 <= len(manifest["notes"]) <= 5
        assert str(escape(manifest["title"])) in page
        archive = client.get(f"/api/sessions/{id}.safetensors").data
        (source,) = [path for path in SHIPPED.glob("*") if manifest["run"].encode() in path.read_bytes()[:200_000]]
        assert [f.payload for f in codec.split(archive)] == [f.payload for f in codec.split(source.read_bytes())]


def test_only_those_that_say_so_open_from_the_start_page(make_app: Callable[..., Flask], settings: Settings) -> None:
    app = make_app(replace(settings, recordings_dir=SHIPPED), ready=False)
    carried = re.search(r'id="bootstrap">(.*?)</script>', app.test_client().get("/").text, re.S)
    examples = json.loads(carried[1])["examples"]  # type: ignore[index]
    assert [example["id"] for example in examples] == ["09a1cb39aa7e090a", "ad17083456a7f1f4"]


def test_a_second_start_saves_nothing_again(make_app: Callable[..., Flask], settings: Settings) -> None:
    id = write(settings.recordings_dir)
    shares = []
    for _ in range(2):
        app = make_app(settings, ready=False)
        client = app.test_client()
        assert f'href="./s/{id}"' in client.get("/gallery").text
        assert client.delete(f"/api/sessions/{id}", headers={"Authorization": "Bearer guess"}).status_code == 403
        with app.extensions["kvscope"].runs.engine.connect() as connection:
            shares.append(connection.exec_driver_sql("SELECT count(*) FROM session_tokens").scalar())
        app.extensions["kvscope"].close()
    assert shares == [1, 1]


def test_what_is_not_what_it_says_has_no_card(
    make_app: Callable[..., Flask], settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    good = write(settings.recordings_dir, "good")
    write(settings.recordings_dir, "claims-another-id", id="aaaaaaaaaaaa")
    file = (settings.recordings_dir / "good.safetensors").read_bytes()
    (settings.recordings_dir / "cut.safetensors").write_bytes(file[:-40])
    (settings.recordings_dir / "text.safetensors").write_text("no recording")
    page = make_app(settings, ready=False).test_client().get("/gallery").text
    assert set(re.findall(r'href="./s/([a-z2-7]+)"', page)) == {good}
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    names = ("claims-another-id", "cut", "text")
    assert sorted(message.split()[1] for message in told) == [f"{name}.safetensors" for name in names]


def test_one_that_was_damaged_since_has_no_card(make_app: Callable[..., Flask], settings: Settings) -> None:
    write(settings.recordings_dir)
    app = make_app(settings, ready=False)
    assert 'href="./s/' in app.test_client().get("/gallery").text
    with app.extensions["kvscope"].runs.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE sessions SET manifest_sha256 = 'x'")
    app.extensions["kvscope"].close()
    page = make_app(settings, ready=False).test_client().get("/gallery")
    assert page.status_code == 200
    assert 'href="./s/' not in page.text


def test_one_that_the_database_could_not_take_has_its_card_when_it_can(
    make_app: Callable[..., Flask], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = write(settings.recordings_dir)
    monkeypatch.setattr(Gallery, "start", lambda gallery: None)
    app = make_app(settings, ready=False)
    with away(app.extensions["kvscope"].runs.engine):
        assert 'href="./s/' not in app.test_client().get("/gallery").text
    assert f'href="./s/{id}"' in app.test_client().get("/gallery").text


def test_one_that_is_not_saved_yet_is_there_for_who_asks(
    make_app: Callable[..., Flask], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = write(settings.recordings_dir)
    monkeypatch.setattr(Gallery, "start", lambda gallery: None)
    for path in (f"/s/{id}", f"/embed/{id}", f"/api/sessions/{id}", f"/api/sessions/{id}/frames?after=-1"):
        settings = replace(settings, data_dir=settings.data_dir / "another")
        assert make_app(settings, ready=False).test_client().get(path).status_code == 200, path


def test_words_and_tokens_are_text(make_app: Callable[..., Flask], settings: Settings) -> None:
    write(settings.recordings_dir)
    page = make_app(settings, ready=False).test_client().get("/gallery")
    assert "A &lt;b&gt;title&lt;/b&gt;" in page.text
    assert "<script>alert" not in page.text
    assert "Notes: 1 ·" in page.text


def test_the_page_is_told_which_sessions_ship(make_app: Callable[..., Flask], settings: Settings) -> None:
    shipped = write(settings.recordings_dir)
    app = make_app(settings, ready=False)
    parts, client = app.extensions["kvscope"], app.test_client()
    parts.gallery.cards()
    frames = list(parts.sessions.all_frames(shipped))
    shared, _token = parts.sessions.keep(WORDS | {"title": "Another"}, lambda: iter(frames))
    for session in (shipped, shared):
        carried = re.search(r'id="bootstrap">(.*?)</script>', client.get(f"/s/{session}").text, re.S)
        assert json.loads(carried[1])["session"]["shipped"] is (session == shipped)  # type: ignore[index]
