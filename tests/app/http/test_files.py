"""Sessions as files: what was exported comes back as the same session; what strangers made is refused or harmless."""

import base64
import errno
import importlib
import io
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvscope.app.settings import Settings
from kvscope.app.store.sessions import sessions_table
from kvscope.app.travel.importing import MAX_FILE_BYTES
from kvscope.model.log.frames import MAX_FRAME_BYTES, from_stream, join, raw_header, relabel, split
from tests.support.integrity import damage_of
from tests.support.live_server import FAKE
from tests.support.over_http import delete, problem, serving, share
from tests.support.reading_here import reading_here
from tests.support.recorded import RECORDINGS
from tests.support.stored import limit_pages

RECORDING = RECORDINGS / "animal.safetensors"
WORDS = {
    "title": "</script><script>alert(1)</script>",
    "notes": [{"step": 3, "layer": 13, "head": 8, "text": "<img src=x onerror=alert(2)>\nשלום"}],
    "open": {"step": 3, "layer": 13, "head": 8, "query": 8, "key": 1, "view": "pair"},
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """An application with a real recorded run."""
    folder = tmp_path_factory.mktemp("files")
    with serving(Settings(folder / "data", service=FAKE, recordings_dir=RECORDINGS), ready=False) as app:
        yield app


@pytest.fixture(scope="module")
def shared(app: Flask) -> str:
    """A session of that run."""
    return share(app.test_client(), split(RECORDING.read_bytes())[0].run, **WORDS)["id"]


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Flask]:
    """Another application, that has nothing stored."""
    with serving(Settings(tmp_path / "data", service=FAKE, recordings_dir=tmp_path), ready=False) as app:
        yield app


def send(client: FlaskClient, file: bytes) -> Any:
    return client.post("/api/sessions", data=file, content_type="application/octet-stream")


@pytest.fixture
def read_here() -> Iterator[None]:
    """For very many files."""
    with reading_here():
        yield


def stored(app: Flask) -> int:
    app.extensions["kvscope"].gallery.cards()  # what the gallery shows is saved while the first requests are answered
    with app.extensions["kvscope"].runs.engine.connect() as connection:
        return int(connection.scalar(sa.select(sa.func.count()).select_from(sessions_table)))


def refused(app: Flask, file: bytes, status: int = 422) -> dict[str, Any]:
    """The problem with a file, of which nothing is stored."""
    before = stored(app)
    answer = send(app.test_client(), file)
    assert stored(app) == before
    return problem(answer, status, answer.json.get("field"))


def small_log() -> bytes:
    """The first step of the recording as a joined file of its own."""
    frames = [frame.payload for frame in split(RECORDING.read_bytes())]
    short = frames[: next(at for at, payload in enumerate(frames) if b'"kind":"step"' in payload[:20_000]) + 1]
    closing = split(RECORDING.read_bytes())[-1]
    return join([*short, relabel(closing.payload, closing.run, len(short), {"steps": 1}).payload])


SMALL = small_log()


def rebuilt(change: Callable[[dict[str, Any]], Any], file: bytes = SMALL) -> bytes:
    """A joined file whose header is changed by `change`, its data as they were."""
    (length,) = struct.unpack_from("<Q", file)
    header = json.loads(file[8 : 8 + length])
    change(header)
    return with_header(json.dumps(header).encode(), file[8 + length :])


def with_header(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + data


def with_metadata(**changes: str) -> bytes:
    return rebuilt(lambda header: header["__metadata__"].update(changes))


def with_tensor(**changes: Any) -> bytes:
    """The small log with one tensor described otherwise."""
    return rebuilt(lambda header: header["000001.attention"].update(changes))


def with_data(seq: int, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The small log with the data of a frame changed."""

    def change_frame(header: dict[str, Any]) -> None:
        fields = json.loads(header["__metadata__"][f"{seq:06d}"])
        fields["data"] = json.dumps(change(json.loads(fields["data"])))
        header["__metadata__"][f"{seq:06d}"] = json.dumps(fields)

    return rebuilt(change_frame)


def foreign(**header: Any) -> bytes:
    """A file of these metadata and tensors, without any bytes of tensors."""
    return with_header(json.dumps(header).encode())


@pytest.mark.parametrize("kind", ["html", "safetensors"])
def test_a_file_opens_on_another_server_under_the_same_name(app: Flask, shared: str, kind: str, empty: Flask) -> None:
    client = app.test_client()
    sent = client.get(f"/api/sessions/{shared}.{kind}")
    assert sent.headers["Content-Disposition"] == f'attachment; filename="kvscope-{shared}.{kind}"'
    file, manifest = sent.data, client.get(f"/api/sessions/{shared}").json
    assert send(client, file).json["id"] == shared
    assert client.get(f"/api/sessions/{shared}").json == manifest
    mine = empty.test_client()
    assert send(mine, file).json["id"] == shared
    assert {**mine.get(f"/api/sessions/{shared}").json, "created": ""} == {**manifest, "created": ""}
    first, second = (each.get(f"/api/sessions/{shared}/frames?after=-1").data for each in (client, mine))
    assert first == second != b""
    assert damage_of(empty.extensions["kvscope"].sessions, shared) == []


def test_what_kvscope_run_writes_is_taken_without_words(app: Flask) -> None:
    client = app.test_client()
    response = send(client, join(frame.payload for frame in split(RECORDING.read_bytes())))
    assert response.status_code == 201, response.text
    manifest = client.get(f"/api/sessions/{response.json['id']}").json
    assert (manifest["title"], manifest["notes"], manifest["steps"]) == ("", [], 16)
    kept = list(from_stream(client.get(f"/api/sessions/{response.json['id']}/frames?after=-1").data))
    assert kept == [frame.payload for frame in split(RECORDING.read_bytes())]


def test_a_page_says_how_large_it_is_before_it_is_fetched(app: Flask, shared: str) -> None:
    client = app.test_client()
    head, whole = client.head(f"/api/sessions/{shared}.html"), client.get(f"/api/sessions/{shared}.html")
    assert head.content_length == len(whole.data)


def test_a_page_with_other_names_of_pages_in_it_is_another_one(
    app: Flask, shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, address = app.test_client(), f"/api/sessions/{shared}.html"
    tag = client.head(address).headers["ETag"]
    assert client.head(address).headers["ETag"] == tag
    monkeypatch.setattr("kvscope.app.travel.page.links", lambda: [{"id": "stage", "name": "Other", "address": "/"}])
    assert client.head(address).headers["ETag"] != tag


def test_no_word_leaves_its_place_in_a_page(app: Flask, shared: str) -> None:
    page = app.test_client().get(f"/api/sessions/{shared}.html").data.decode()
    assert "alert(1)</script>" not in page
    assert "<img src=x" not in page
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    nonce = re.match(r"default-src 'none'; script-src 'nonce-(\w+)'", policy)[1]
    assert page.count(f'<script nonce="{nonce}"') == 1


FIRST = raw_header(SMALL)["__metadata__"]["000000"]
HOSTILE_FILES: dict[str, tuple[bytes, str]] = {
    "nothing at all": (b"", "empty"),
    "four bytes": (b"\x01\0\0\0", "truncated"),
    "something else": (b"# Read me\n\nThis is a text.", "neither an exported page nor"),
    "a header of 2^63 bytes": (struct.pack("<Q", 2**63) + b"{}", "header"),
    "a header longer than the file": (struct.pack("<Q", 5000) + b"{}", "truncated"),
    "a header that is no JSON": (with_header(b"{\xff\xfe"), "UTF-8"),
    "a header nested deeply": (with_header(b'{"a":' * 200_000), "nested too deeply"),
    "a number of 10,000 digits": (with_header(b'{"a": ' + b"9" * 10_000 + b"}"), "JSON"),
    "a name twice": (with_header(b'{"a": 1, "a": 2}'), "twice"),
    "half of a surrogate pair": (foreign(__metadata__={"v": "2", "session": "\ud800"}), "UTF-8"),
    "not a number": (with_header(b'{"a": NaN}'), "NaN"),
    "metadata that is no text": (foreign(__metadata__={"v": 1}), "not text"),
    "no format version": (foreign(__metadata__={}), "not from KVScope"),
    "an older version": (with_metadata(v="1"), "has the format version 1; this"),
    "a newer version": (with_metadata(v="3"), "has the format version 3; this"),
    "another version in a frame": (
        rebuilt(lambda header: header["__metadata__"].update({"000000": FIRST.replace('"v":"2"', '"v":"7"')})),
        "parts[0] has the format version 7; this",
    ),
    "a type of no frame": (with_tensor(dtype="F64"), "type"),
    "a shape of 10 GB": (with_tensor(shape=[10**5, 10**5]), "as many bytes"),
    "a shape of 10 GB and offsets to match": (
        with_tensor(shape=[10**5, 10**5], data_offsets=[0, 10**10]),
        "overlaps",
    ),
    "one tensor of 10 GB": (
        foreign(
            __metadata__={"v": "2"}, **{"000000.x": {"dtype": "U8", "shape": [10**10], "data_offsets": [0, 10**10]}}
        ),
        "bytes long",
    ),
    "a negative size": (with_tensor(shape=[-1, 9]), "shape"),
    "a size of true": (with_tensor(shape=[True]), "shape"),
    "overlapping offsets": (
        rebuilt(lambda header: header.update({"000001.again": header["000001.attention"]})),
        "overlaps",
    ),
    "a gap": (rebuilt(lambda header: header.pop("000001.k_norm")), "gap"),
    "bytes behind the last tensor": (SMALL + b"\0", "bytes long"),
    "a tensor of no frame": (
        rebuilt(lambda header: header.update({"000077.x": header.pop("000001.k_norm")})),
        "to no frame",
    ),
    "a frame that is missing": (rebuilt(lambda header: header["__metadata__"].pop("000000")), "lacks a frame"),
    "a frame that says nothing": (foreign(__metadata__={"v": "2", "000000": "{}"}), "parts[0] is not from KVScope"),
    "no end": (rebuilt(lambda header: header["__metadata__"].pop("000003")), "no end"),
    "a step that was never computed": (with_data(2, lambda data: data | {"step": 1}), "not step 0"),
    "more heads than there are": (with_data(0, lambda data: data | {"model": data["model"] | {"heads": 12}}), "q_norm"),
    "a million layers": (
        with_data(0, lambda data: data | {"model": data["model"] | {"layers": 10**6}}),
        "parts[0].data.model.layers is refused: Input should be less than or equal to 512",
    ),
    "a prompt that is a list": (
        with_data(0, lambda data: data | {"prompt": ["x"]}),
        "parts[0].data.prompt is refused: Input should be a valid string",
    ),
    "a study": (with_data(0, lambda data: data | {"study": {"kind": "twin", "of": "x"}}), "study"),
    "a title of 1 MB": (with_metadata(session=json.dumps({"title": "x" * 1_000_000})), "title"),
    "a note on a step that is not there": (with_metadata(session='{"notes": [{"step": 9, "text": "x"}]}'), "step"),
    "a page of something else": (b"<!doctype html><title>x</title><p>Hello", "not from KVScope"),
    "a page that is no text": (b"<\xff", "contains no session"),
    "a manifest that is no text": (b'<script type="application/json" id="manifest">\xff</script>', "UTF-8"),
    "a header of 11 million lists": (with_header(b'{"a":[' + b",".join([b"[]"] * 11_000_000) + b"]}"), "values"),
    "a header nested 65 deep": (with_header(b'{"a":' + b"[" * 65 + b"]" * 65 + b"}"), "nested too deeply"),
    "a manifest that is cut short": (b'<script type="application/json" id="manifest">{"title"', "truncated"),
}


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_a_hostile_file_is_refused_and_nothing_is_stored(app: Flask, name: str) -> None:
    file, reason = HOSTILE_FILES[name]
    found = refused(app, file, 413 if name == "a title of 1 MB" else 422)
    assert reason.lower() in found["detail"].lower()


def test_the_small_log_is_taken_so_that_each_refusal_is_about_its_own_fault(app: Flask) -> None:
    assert send(app.test_client(), SMALL).status_code == 201


BOMB = zlib.compress(bytes(10_000_000), 9)
"""10 KB."""


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (base64.b64encode(BOMB), "larger than"),
        (base64.b64encode(zlib.compress(bytes(MAX_FRAME_BYTES))[:-3]), "extra bytes"),
        (base64.b64encode(zlib.compress(b"x") + b"more"), "extra bytes"),
        (b"!!!", "base64"),
        (base64.b64encode(b"plain"), "deflated"),
    ],
)
def test_a_part_of_a_page_that_is_no_frame_is_refused(app: Flask, shared: str, packed: bytes, reason: str) -> None:
    page = app.test_client().get(f"/api/sessions/{shared}.html").data
    changed = re.sub(rb'(id="part-1">)[^<]+', rb"\1" + packed, page)
    assert changed != page
    assert reason in refused(app, changed)["detail"]


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ('"2"', "schema version 2; this KVScope reads version 1"),
        ('"0"', "schema version 0; this KVScope reads version 1"),
        ('"17"', "schema version 17; this KVScope reads version 1"),
        ("1", "no schema version"),
        ('"one"', "no schema version"),
        ("null", "no schema version"),
    ],
)
def test_a_page_of_another_version_is_refused_by_its_version(app: Flask, shared: str, schema: str, reason: str) -> None:
    page = app.test_client().get(f"/api/sessions/{shared}.html").data
    changed = re.sub(rb'"schema": ?"1"', b'"schema": ' + schema.encode(), page, count=1)
    assert changed != page
    assert reason in refused(app, changed)["detail"]


def test_a_page_that_a_browser_or_an_editor_saved_again_is_read(app: Flask, shared: str) -> None:
    page = app.test_client().get(f"/api/sessions/{shared}.html").data.decode()
    page = re.sub(r'<script type="(application/vnd[^"]+)" id="([^"]+)">', r"<SCRIPT ID='\2'  TYPE='\1' x>\n", page)
    assert send(app.test_client(), b"\xef\xbb\xbf\n" + page.encode()).json["id"] == shared


@pytest.mark.usefixtures("read_here")
def test_a_page_made_to_keep_the_parser_busy_is_refused_soon(app: Flask) -> None:
    for piece in (b"<script ", b"<!", b"<![CDATA[", b"</", b"<a b='", b"<script>"):
        refused(app, piece * 200_000)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(app: Flask) -> None:
    response = app.test_client().post(
        "/api/sessions",
        data=b"x",
        environ_overrides={"CONTENT_LENGTH": str(MAX_FILE_BYTES + 1)},
        content_type="application/octet-stream",
    )
    assert problem(response, 413, "body")["limit"] == MAX_FILE_BYTES


@pytest.mark.parametrize("kind", ["text/html", "multipart/form-data; boundary=x", "text/plain", "application/json"])
def test_what_a_form_elsewhere_could_send_is_not_taken(app: Flask, kind: str) -> None:
    response = app.test_client().post("/api/sessions", data=SMALL, content_type=kind)
    problem(response, 415, "Content-Type")


def test_a_full_database_keeps_nothing_of_a_file(empty: Flask) -> None:
    limit_pages(empty.extensions["kvscope"].runs)
    assert "full" in refused(empty, RECORDING.read_bytes(), 507)["detail"]


def test_a_disk_without_room_for_the_file_keeps_nothing(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def __init__(self, **_: Any) -> None:
            super().__init__()

        def write(self, _: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kvscope.app.http.files.tempfile.TemporaryFile", Full)
    assert "no room" in refused(app, SMALL, 507)["detail"]


FUZZ = settings(max_examples=150, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
KINDS = st.sampled_from(["flip", "cut", "put", "drop"])
EDIT = st.tuples(st.floats(0, 1, exclude_max=True), KINDS, st.binary(max_size=9))
EDITS = st.lists(EDIT, min_size=1, max_size=4)


def mutated(file: bytes, edits: list[tuple[float, str, bytes]]) -> bytes:
    for place, kind, new in edits:
        # The first bytes are where sizes and shapes are: half of all edits go there.
        at = int(place * 2 * min(len(file), 30_000)) if place < 0.5 else int(place * len(file))
        match kind:
            case "flip":
                file = file[:at] + bytes([file[at] ^ (1 + len(new))]) + file[at + 1 :] if at < len(file) else file
            case "cut":
                file = file[:at]
            case "put":
                file = file[:at] + new + file[at:]
            case _:
                file = file[:at] + file[at + len(new) + 1 :]
    return file


@pytest.fixture(scope="module")
def small_page(app: Flask) -> bytes:
    client = app.test_client()
    return client.get(f"/api/sessions/{send(client, SMALL).json['id']}.html").data


@pytest.mark.usefixtures("read_here")
@FUZZ
@given(EDITS)
def test_no_change_of_an_archive_is_a_fault_of_the_server(app: Flask, edits: list[tuple[float, str, bytes]]) -> None:
    assert send(app.test_client(), mutated(SMALL, edits)).status_code in (201, 400, 413, 422)


@pytest.mark.usefixtures("read_here")
@FUZZ
@given(EDITS)
def test_no_change_of_a_page_is_a_fault_of_the_server(
    app: Flask, small_page: bytes, edits: list[tuple[float, str, bytes]]
) -> None:
    start = small_page.index(b'<script type="application/json" id="manifest"')
    end = small_page.index(b'id="code"')
    page = small_page[:start] + mutated(small_page[start:end], edits) + small_page[end:]
    assert send(app.test_client(), page).status_code in (201, 400, 413, 422)


HEADER = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.usefixtures("read_here")
@FUZZ
@given(st.integers(0, 3), st.data())
def test_no_value_in_a_frames_data_is_a_fault_of_the_server(app: Flask, seq: int, data: st.DataObject) -> None:
    """One value, anywhere, is replaced by any other."""

    def replace(value: Any) -> Any:
        if isinstance(value, dict) and value and data.draw(st.integers(0, 5)):
            name = data.draw(st.sampled_from(sorted(value)))
            return {**value, name: replace(value[name])}
        return data.draw(HEADER)

    assert send(app.test_client(), with_data(seq, replace)).status_code in (201, 400, 413, 422)


@pytest.mark.parametrize(
    ("name", "makes"),
    [(".png", "travel.thumbnail.draw"), (".html", "travel.page.file_page"), (".safetensors", "travel.file.join")],
)
def test_a_picture_and_a_page_are_made_once_and_are_gone_with_their_session(
    app: Flask, name: str, makes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, function = f"kvscope.app.{makes}".rpartition(".")
    made = Mock(wraps=getattr(importlib.import_module(module), function))
    monkeypatch.setattr(f"{module}.{function}", made)
    client, run = app.test_client(), split(RECORDING.read_bytes())[0].run
    session = share(client, run, title=f"One that is deleted, {name}")
    address = f"/api/sessions/{session['id']}{name}"
    stranger = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: app.test_client().get(address, headers=stranger).data, range(16)))
    assert len(set(got)) == 1
    assert len(got[0]) > 1000
    assert made.call_count == 1
    tag = client.get(address).headers["ETag"]
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 304
    delete(client, session)
    assert client.get(address).status_code == 410
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 410
    assert made.call_count == 1
