"""Saved sessions: named by their content, whole or absent, checked when read, there until all have withdrawn them."""

import json
import struct
from base64 import b32encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kvscope.app.store import sessions
from kvscope.app.store.errors import Damaged, Deleted, StoreError
from kvscope.app.store.manifest import label_of
from kvscope.app.store.packing import pack
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore, parts_table, sessions_table, tokens_table
from kvscope.model.log import frames as codec
from kvscope.model.log.frames import encode, relabel
from tests.support.integrity import damage_of
from tests.support.outage import Fault, away, crowded
from tests.support.stored import OTHER, SQLITE_ONLY, WORDS, change, count, log_of, run_of

NAMES = (b"child", b"mother")


@pytest.fixture
def log(log: RunLog) -> RunLog:
    """With the run "a"."""
    log.append(run_of("a", 3))
    return log


def shared_frames(log: RunLog, run: str) -> list[bytes]:
    """What a session of the run is to hold: its frames, with a label for its id."""
    label = sha256(f"kvscope session of run {run}".encode()).hexdigest()[:16]
    return [relabel(payload, label, seq).payload for seq, payload in enumerate(log.all_frames(run))]


def test_a_session_is_read_as_its_run_is(log: RunLog, store: SessionStore) -> None:
    session, _ = store.share("a", WORDS)
    frames = shared_frames(log, "a")
    assert list(store.all_frames(session)) == frames
    assert list(store.all_frames(session, 2, 4)) == frames[3:5]
    assert list(store.all_frames(session, 700)) == []
    assert store.head(session) == replace(log.head("a"), bytes=sum(map(len, frames)))
    assert store.opening(session) == log.opening("a")
    assert store.chosen(session) == log.chosen("a")
    assert damage_of(store, session) == []


def test_no_frame_of_a_session_leads_to_its_run_or_to_the_one_before(log: RunLog, store: SessionStore) -> None:
    parent = {"run": "mother", "position": 4, "token": 7}
    opening = codec.header(run_of("child", 0)[0].payload).data | {"parent": parent}
    log.append([encode("child", 0, "open", opening), *log_of("child", 2, closed=True)[1:]])
    session, _ = store.share("child", WORDS)
    frames = list(store.all_frames(session))
    headers = list(map(codec.header, frames))
    assert not any(name in frame for frame in [*frames, json.dumps(store.manifest(session)).encode()] for name in NAMES)
    assert {header.run for header in headers} == {label_of("child")} == {store.manifest(session)["run"]}
    assert headers[0].data == opening | {"parent": parent | {"run": label_of("mother")}}
    for before, after in zip(log.all_frames("child"), frames, strict=True):
        tensors = codec.tensors(before)
        assert all((codec.tensors(after)[name] == tensor).all() for name, tensor in tensors.items())
    assert len({label_of(run) for run in ("child", "mother", label_of("child"))}) == 3


def test_a_log_that_is_kept_stays_as_it_is_after_its_run_and_a_restart(
    tmp_path: Path, database: str | None, log: RunLog, store: SessionStore
) -> None:
    session, _ = store.share("a", WORDS)
    frames = list(store.all_frames(session))
    again, token = store.keep(WORDS, lambda: iter(frames))
    assert again == session
    own, _ = store.keep(WORDS, lambda: log.all_frames("a"))
    assert own != session
    assert list(store.all_frames(own)) == list(log.all_frames("a"))
    assert store.withdraw(session, token)
    assert log.delete(["a"])
    log.close()
    with RunLog(tmp_path, database) as later:
        assert list(SessionStore(later).all_frames(session)) == frames
        assert damage_of(SessionStore(later), session) == []


def test_the_manifest_says_what_is_in_it(log: RunLog, store: SessionStore) -> None:
    session, _ = store.share("a", WORDS)
    manifest = store.manifest(session)
    frames = shared_frames(log, "a")
    assert {name: manifest[name] for name in WORDS} == WORDS
    about = {"id": session, "run": label_of("a"), "prompt": "x", "schema": "1", "model": {"name": "fake"}, "steps": 3}
    assert {name: manifest[name] for name in about} == about
    assert manifest["bytes"] == sum(map(len, frames))
    assert [part["kind"] for part in manifest["parts"]] == ["open", *["layer", "step"] * 3, "close"]
    for seq, (part, frame) in enumerate(zip(manifest["parts"], frames, strict=True)):
        assert (part["seq"], part["bytes"], part["sha256"]) == (seq, len(frame), sha256(frame).hexdigest())


def test_the_id_begins_the_hash_of_the_content_as_documented(log: RunLog, store: SessionStore) -> None:
    words = json.dumps(WORDS, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    content = b"".join(struct.pack("<I", len(piece)) + piece for piece in (b"1", words, *log.all_frames("a")))
    expected = b32encode(sha256(content).digest()).decode().lower()[:12]
    assert store.keep(WORDS, lambda: log.all_frames("a"))[0] == expected
    # The name of this very content, for ever: where it changes, the schema has a new version.
    assert expected == "x2saxblucspr"


def test_the_same_content_is_one_session_and_anything_else_is_another(log: RunLog, store: SessionStore) -> None:
    log.append(run_of("b", 3))
    reordered = dict(reversed(WORDS.items()))
    ids = [store.share(run, words)[0] for run, words in (("a", WORDS), ("a", reordered), ("a", OTHER), ("b", WORDS))]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert count(store, sessions_table) == 3


def test_each_token_withdraws_its_own_sharing_and_the_last_one_deletes(store: SessionStore) -> None:
    (session, first), (_, second) = store.share("a", WORDS), store.share("a", WORDS)
    assert not store.withdraw(session, "")
    assert not store.withdraw(session, sha256(first.encode()).hexdigest())
    assert not store.withdraw(session, store.share("a", OTHER)[1]), "of another session"
    assert store.withdraw(session, first)
    assert not store.withdraw(session, first)
    assert len(list(store.all_frames(session))) == 8
    assert store.withdraw(session, second)
    for read in (store.manifest, store.head, store.all_frames, store.opening, store.chosen):
        with pytest.raises(Deleted):
            read(session)
    with pytest.raises(Deleted):
        store.withdraw(session, second)
    assert (count(store, parts_table), count(store, tokens_table)) == (8, 1), "of the other session"


@SQLITE_ONLY
def test_tokens_are_not_stored(tmp_path: Path, log: RunLog, store: SessionStore) -> None:
    _, token = store.share("a", WORDS)
    log.close()
    assert all(token.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_what_was_deleted_can_be_shared_again_and_old_tokens_stay_void(store: SessionStore) -> None:
    session, first = store.share("a", WORDS)
    store.withdraw(session, first)
    assert store.share("a", WORDS)[0] == session
    assert not store.withdraw(session, first)
    assert damage_of(store, session) == []


def test_an_unknown_session_is_none(store: SessionStore) -> None:
    assert store.head("nobody") is None
    for read in (store.manifest, store.all_frames, store.opening, store.chosen):
        with pytest.raises(KeyError):
            read("nobody")
    with pytest.raises(KeyError):
        store.withdraw("nobody", "token")


def test_an_id_that_other_content_has_is_lengthened(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"one": "a" * 12 + "b" * 40, "two": "a" * 14 + "c" * 38, "three": "a" * 14 + "d" * 38}

    def name_of(words: bytes, payloads: Any, values: Any) -> str:
        assert values is None
        assert len(list(payloads)) == 8
        return names[json.loads(words)["title"]]

    monkeypatch.setattr(sessions, "name_of", name_of)
    shared = {title: store.share("a", WORDS | {"title": title}) for title in names}
    ids = {title: session for title, (session, _) in shared.items()}
    assert ids == {"one": "a" * 12, "two": "a" * 14, "three": "a" * 14 + "dd"}
    assert store.withdraw(*shared["one"])
    for title in ("two", "three", "one"):
        assert store.share("a", WORDS | {"title": title})[0] == ids[title]
        assert store.manifest(ids[title])["title"] == title


def flips(value: bytes) -> Iterator[bytes]:
    """The value with one bit of each byte flipped, and at last as it was."""
    for byte in range(len(value)):
        yield value[:byte] + bytes([value[byte] ^ 1 << byte % 8]) + value[byte + 1 :]
    yield value


def put(store: SessionStore, row: sa.Update, **values: Any) -> None:
    with store._engine.begin() as connection:
        connection.execute(row.values(values))


def test_a_flipped_bit_anywhere_in_a_part_is_found(store: SessionStore) -> None:
    session, _ = store.share("a", WORDS)
    with store._engine.connect() as connection:
        rows = connection.execute(sa.select(parts_table.c.seq, parts_table.c.payload)).all()
    assert len(rows) == 8
    for seq, payload in rows:
        part = sa.update(parts_table).where(parts_table.c.session == session, parts_table.c.seq == seq)
        for stored in flips(payload):
            put(store, part, payload=stored)
            if stored != payload:
                with pytest.raises(Damaged) as damaged:
                    list(store.all_frames(session, seq - 1, seq))
                assert damaged.value.part == f"parts[{seq}]"
    assert damage_of(store, session) == []


@pytest.mark.parametrize("column", ["payload", "stored_sha256"])
def test_a_damaged_part_is_named_and_the_others_stay_readable(store: SessionStore, column: str) -> None:
    session, _ = store.share("a", WORDS)
    frames = list(store.all_frames(session))
    for seq in range(len(frames)):
        change(store, parts_table, column, 5, session=session, seq=seq)
        reading = store.all_frames(session)
        assert [next(reading) for _ in range(seq)] == frames[:seq]
        with pytest.raises(Damaged, match="is damaged") as damaged:
            next(reading)
        assert damaged.value.part == f"parts[{seq}]"
        assert damage_of(store, session) == [f"parts[{seq}]"]
        assert list(store.all_frames(session, seq)) == frames[seq + 1 :]
        change(store, parts_table, column, 5, session=session, seq=seq)
    assert damage_of(store, session) == []


def test_what_is_forged_missing_or_changed_beside_the_content_is_found(store: SessionStore) -> None:
    session, _ = store.share("a", WORDS)
    for column, found in (("name", "id"), ("manifest_sha256", "manifest")):
        for damage in ([found], []):  # flipped, and flipped back
            change(store, sessions_table, column, 3, id=session)
            assert damage_of(store, session) == damage
    for forged in (b"", b"no zstandard", pack(b"another frame"), pack(bytes(10**8))):
        put(store, sa.update(parts_table).where(parts_table.c.seq == 3), payload=forged, stored_sha256=digest(forged))
        assert damage_of(store, session) == ["parts[3]"]
    with store._engine.begin() as connection:
        connection.execute(sa.delete(parts_table).where(parts_table.c.seq == 3))
    assert damage_of(store, session) == ["parts[3]"]


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def test_a_flipped_bit_anywhere_in_the_manifest_is_found(store: SessionStore) -> None:
    session, _ = store.share("a", WORDS)
    with store._engine.connect() as connection:
        manifest = connection.scalar(sa.select(sessions_table.c.manifest)) or b""
    for stored in flips(manifest):
        put(store, sa.update(sessions_table).where(sessions_table.c.id == session), manifest=stored)
        if stored != manifest:
            assert damage_of(store, session) == ["manifest"]
            with pytest.raises(Damaged):
                store.manifest(session)
    assert damage_of(store, session) == []


def test_a_reader_under_way_is_told_of_a_deletion(log: RunLog, store: SessionStore) -> None:
    log.append(run_of("long", 60))
    session, token = store.share("long", WORDS)
    reading = store.all_frames(session)
    next(reading)
    store.withdraw(session, token)
    with pytest.raises(Deleted):
        list(reading)


USES: tuple[Callable[[SessionStore, str, str], object], ...] = (
    lambda store, _session, _token: store.share("a", OTHER),
    lambda store, _session, _token: store.keep(OTHER, lambda: iter([f.payload for f in run_of("b", 1)])),
    lambda store, _session, _token: store.of_run("a"),
    lambda store, session, token: store.withdraw(session, token),
    *(lambda store, session, _, name=name: getattr(store, name)(session) for name in ("manifest", "head", "opening")),
    lambda store, session, _token: store.chosen(session),
    lambda store, session, _token: list(store.all_frames(session)),
    lambda store, session, _token: list(store.values(session, layer=0)),
)


@SQLITE_ONLY
@pytest.mark.parametrize("fault", [away, crowded])
def test_a_database_that_cannot_be_used_is_one_kind_of_error(log: RunLog, store: SessionStore, fault: Fault) -> None:
    session, token = store.share("a", WORDS)
    for use in USES:
        with fault(log.engine), pytest.raises(StoreError, match=r"disk I/O error\.|all its connections are in use\."):
            use(store, session, token)
        assert damage_of(store, session) == []
