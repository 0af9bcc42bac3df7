"""The gallery: its recordings are saved sessions from the first start on, and its page leads to them."""

import json
import re
from html import escape
from pathlib import Path

import pytest

from kvscope.app.settings import Settings
from kvscope.app.store.gallery import Gallery
from kvscope.app.store.manifest import canonical, name_of
from kvscope.app.store.sessions import tokens_table
from kvscope.app.travel.importing import read_file
from kvscope.model.log import frames as codec
from kvscope.model.log.archive import Archive
from kvscope.model.log.frames import from_stream
from tests.support.outage import away
from tests.support.over_http import NewClient, bearer, bootstrap
from tests.support.stored import count

SHIPPED = Settings().recordings_dir
WORDS = {
    "title": "A <b>title</b>",
    "notes": [{"step": 0, "layer": None, "head": None, "text": "Look."}],
    "open": {"step": 0, "layer": 0, "head": 0, "query": 0, "key": 0, "view": "head"},
}
HOSTILE = "</script><script>alert(1)</script>"
PICTURE = {"kind": "chances", "tokens": [HOSTILE], "prompt": 0, "shares": [0.5], "most": [0.5]}


def write(
    folder: Path, name: str = "one", *, id: str | None = None, starts: bool = False, values: str | None = None
) -> str:
    """A recording with a card; the id of its session."""
    folder.mkdir(exist_ok=True)
    shipped = (SHIPPED / "code.safetensors").read_bytes()
    payloads = [frame.payload for frame in codec.split(shipped)]
    id = id or name_of(canonical(WORDS), payloads)[:12]
    card = {"order": 0, "starts": starts, "shows": "One thing", "sentence": "It says & shows.", "picture": PICTURE}
    entries = {"session": {"id": id, **WORDS, "created": "2026-01-01T00:00:00Z", "values": values}, "gallery": card}
    stored = Archive(memoryview(shipped)).values() if values else ()
    file = codec.join(payloads, {name: json.dumps(entry) for name, entry in entries.items()}, stored)
    (folder / f"{name}.safetensors").write_bytes(file)
    return id


def cards_of(page: str) -> list[str]:
    return re.findall(r'href="./s/([a-z2-7]+)"', page)


def test_every_shipped_recording_opens_as_a_session_from_its_card(new_client: NewClient) -> None:
    client = new_client(recordings_dir=SHIPPED, ready=False)
    page = client.get("/gallery").text
    ids = cards_of(page)
    assert len(ids) == len(set(ids)) == len(list(SHIPPED.glob("*.safetensors"))) >= 8
    assert set(bootstrap(page)["pictures"]) == set(ids)
    for id in ids:
        assert client.get(f"/s/{id}").status_code == 200
        manifest = client.get(f"/api/sessions/{id}").json
        assert 2 <= len(manifest["notes"]) <= 5
        assert str(escape(manifest["title"])) in page
        archive = client.get(f"/api/sessions/{id}.safetensors").data
        (source,) = [path for path in SHIPPED.glob("*") if manifest["run"].encode() in path.read_bytes()[:200_000]]
        assert [f.payload for f in codec.split(archive)] == [f.payload for f in codec.split(source.read_bytes())]


def test_a_recording_has_exact_values_of_the_layer_that_it_opens_with(new_client: NewClient) -> None:
    client = new_client(recordings_dir=SHIPPED, ready=False)
    manifests = [client.get(f"/api/sessions/{id}").json for id in cards_of(client.get("/gallery").text)]
    stored = [manifest for manifest in manifests if manifest["values"]]
    assert len(stored) >= 7
    for manifest in stored:
        base, layer = f"/api/sessions/{manifest['id']}", manifest["open"]["layer"]
        assert {part["layer"] for part in manifest["values"]["parts"]} == {layer}
        frames = from_stream(client.get(f"{base}/values?layer={layer}").data)
        assert [codec.header(frame).data["step"] for frame in frames] == list(range(manifest["steps"]))
        file = client.get(f"{base}.safetensors").data
        again = read_file(memoryview(file)).values
        assert again is not None
        assert again.about == manifest["values"]
        assert read_file(memoryview(client.get(f"{base}.html").data)).values is not None


def test_a_recording_saved_by_an_earlier_version_gets_its_exact_values_and_no_other_id(
    new_client: NewClient, settings: Settings
) -> None:
    id = write(settings.recordings_dir)
    client = new_client(ready=False)
    assert client.get("/gallery").status_code == 200
    before = client.get(f"/api/sessions/{id}").json
    assert before["values"] is None
    client.application.extensions["kvscope"].close()
    assert write(settings.recordings_dir, values="qkv") == id
    client = new_client(ready=False)
    assert cards_of(client.get("/gallery").text) == [id]
    after = client.get(f"/api/sessions/{id}").json
    assert {**after, "values": None} == before
    assert {part["layer"] for part in after["values"]["parts"]} == {21}


def test_only_those_that_say_so_open_from_the_start_page(new_client: NewClient) -> None:
    examples = bootstrap(new_client(recordings_dir=SHIPPED, ready=False).get("/").text)["examples"]
    assert [example["id"] for example in examples] == ["09a1cb39aa7e090a", "ad17083456a7f1f4"]


def test_a_second_start_saves_nothing_again(new_client: NewClient, settings: Settings) -> None:
    id = write(settings.recordings_dir)
    for _ in range(2):
        client = new_client(ready=False)
        assert cards_of(client.get("/gallery").text) == [id]
        assert client.delete(f"/api/sessions/{id}", headers=bearer("guess")).status_code == 403
        parts = client.application.extensions["kvscope"]
        assert count(parts.sessions, tokens_table) == 1
        parts.close()


def test_what_is_not_what_it_says_has_no_card(
    new_client: NewClient, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    good = write(settings.recordings_dir, "good")
    write(settings.recordings_dir, "claims-another-id", id="aaaaaaaaaaaa")
    file = (settings.recordings_dir / "good.safetensors").read_bytes()
    (settings.recordings_dir / "cut.safetensors").write_bytes(file[:-40])
    (settings.recordings_dir / "text.safetensors").write_text("no recording")
    assert cards_of(new_client(ready=False).get("/gallery").text) == [good]
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    names = ("claims-another-id", "cut", "text")
    assert sorted(message.split()[1] for message in told) == [f"{name}.safetensors" for name in names]


def test_one_that_was_damaged_since_has_no_card(new_client: NewClient, settings: Settings) -> None:
    write(settings.recordings_dir)
    client = new_client(ready=False)
    assert cards_of(client.get("/gallery").text)
    parts = client.application.extensions["kvscope"]
    with parts.runs.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE sessions SET manifest_sha256 = 'x'")
    parts.close()
    page = new_client(ready=False).get("/gallery")
    assert (page.status_code, cards_of(page.text)) == (200, [])


def test_one_that_the_database_could_not_take_has_its_card_when_it_can(
    new_client: NewClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = write(settings.recordings_dir)
    monkeypatch.setattr(Gallery, "start", lambda gallery: None)
    client = new_client(ready=False)
    with away(client.application.extensions["kvscope"].runs.engine):
        assert cards_of(client.get("/gallery").text) == []
    assert cards_of(client.get("/gallery").text) == [id]


def test_one_that_is_not_saved_yet_is_there_for_who_asks(
    new_client: NewClient, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = write(settings.recordings_dir)
    monkeypatch.setattr(Gallery, "start", lambda gallery: None)
    paths = (f"/s/{id}", f"/embed/{id}", f"/api/sessions/{id}", f"/api/sessions/{id}/frames?after=-1")
    for number, path in enumerate(paths):
        client = new_client(ready=False, data_dir=tmp_path / str(number))
        assert client.get(path).status_code == 200, path


def test_words_and_tokens_are_text(new_client: NewClient, settings: Settings) -> None:
    write(settings.recordings_dir)
    page = new_client(ready=False).get("/gallery").text
    assert "A &lt;b&gt;title&lt;/b&gt;" in page
    assert "<script>alert" not in page
    assert "Notes: 1 ·" in page


def test_the_page_is_told_which_sessions_ship(new_client: NewClient, settings: Settings) -> None:
    shipped, client = write(settings.recordings_dir), new_client(ready=False)
    parts = client.application.extensions["kvscope"]
    parts.gallery.cards()
    frames = list(parts.sessions.all_frames(shipped))
    shared, _token = parts.sessions.keep(WORDS | {"title": "Another"}, lambda: iter(frames))
    for session in (shipped, shared):
        assert bootstrap(client.get(f"/s/{session}").text)["session"]["shipped"] is (session == shipped)
