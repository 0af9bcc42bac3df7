"""`python -m tools.faults.mutants`: sends many malformed requests, files and socket messages.

Each operation of the published document is requested, for runs and sessions that exist, with one to four faults: in a
byte, a number, a type, a header, a method, a place in a file. No answer may be a fault of the server: no status above
499 except the documented 501, 503 and 507, no traceback in its log, and no stranger's markup in a page. The same
`--seed` gives the same requests.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import simple_websocket
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app import create_app
from kvscope.app.settings import Settings
from kvscope.model.log.frames import join, relabel, split
from tests.support.live_server import FAKE, ROOT, LiveServer
from tests.support.over_http import start
from tests.support.reading_here import reading_here
from tests.support.waiting import eventually

ALLOWED = (501, 503, 507)
RECORDING = ROOT / "kvscope" / "app" / "recordings" / "animal.safetensors"
MARKUP = "<script>alert(1)</script>"
BINARY = "application/octet-stream"
NUMBERS = (0, -1, 1.5, 10**20, -(2**63), 2**31 - 1, 1e308, float("nan"), float("inf"), "0", "1e3")
STRANGE = ("", "x", MARKUP, "\0", "\ud800", "\u202e", "é" * 300, "9" * 5000, "../../etc/passwd", "%00", "'; DROP")
ODD: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"": {}}, *NUMBERS, *STRANGE)
ODD_TEXT = ("", "-1", "1e3", "\u0663", "9" * 20, "NaN", "0x1", "1,2", " 1", "null", "\0", "%", "é", MARKUP, "a" * 3000)
NOBODY = ("nobody", "%00", MARKUP, "é", "a" * 2000)
HEADERS = {
    "Authorization": ("Bearer", "Bearer x", "Basic eDp5", "Bearer é", "Bearer " + "x" * 9000, "bearer\tx"),
    "Content-Type": ("text/plain", "application/json; charset=utf-16", "multipart/form-data", "", "application/\0"),
    "If-None-Match": ("*", '"', 'W/"x', '"é"', ", ,"),
    "Range": ("bytes=0-", "bytes=-1", "bytes=9-1", "x"),
    "X-KVScope-Client": ("", "a" * 16, "a" * 5000, "é" * 16),
    "X-Forwarded-For": ("127.0.0.1", "evil", "::1"),
    "Accept-Encoding": ("br;q=x", "*", "zstd,,"),
    "Origin": ("null", "https://evil.example", MARKUP),
    "Content-Length": ("-1", "x", "99999999999"),
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW")


@dataclass
class Found:
    """Counts of the answers, and the faults."""

    sent: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def note(self, kind: str, asked: str, status: int, page: bytes = b"") -> None:
        """Counts an answer. A fault is stored with its request."""
        self.sent[kind] += 1
        self.statuses[status] += 1
        if status >= 500 and status not in ALLOWED:
            self.faults.append(f"{status}: {asked[:600]}")
        if MARKUP.encode() in page:
            self.faults.append(f"markup in a page: {asked[:600]}")


def anywhere(chance: random.Random, value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns `value` with one of its parts, or all of it, changed."""
    parts = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    if not parts or chance.random() < 0.2:
        return change(value)
    key, part = chance.choice(parts)
    made = dict(value) if isinstance(value, dict) else list(value)
    made[key] = anywhere(chance, part, change)
    return made


def wrong_json(chance: random.Random, value: Any) -> bytes:
    """Returns JSON with a fault, as a value or as text."""
    for _ in range(chance.randint(0, 3)):
        value = anywhere(chance, value, lambda _old: chance.choice(ODD))
    if isinstance(value, dict) and chance.random() < 0.2:
        value = {**value, chance.choice(("more", "", "__proto__", "é")): chance.choice(ODD)}
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    return wrong_bytes(chance, text) if chance.random() < 0.3 else text


def wrong_bytes(chance: random.Random, data: bytes) -> bytes:
    """Returns bytes with some flipped, cut, repeated or inserted."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(made) + 1)
        match chance.randrange(4):
            case 0 if at < len(made):
                made[at] ^= 1 << chance.randrange(8)
            case 1:
                del made[at : at + chance.randint(1, 1 + len(made) // 4)]
            case 2:
                made[at:at] = made[at : at + chance.randint(1, 200)]
            case _:
                made[at:at] = chance.randbytes(chance.randint(1, 8))
    return bytes(made)


def wrong_file(chance: random.Random, file: bytes) -> bytes:
    """Returns a joined file with a fault in its header, in the metadata of a frame, or anywhere."""
    (length,) = struct.unpack_from("<Q", file)
    header, body = json.loads(file[8 : 8 + length]), file[8 + length :]
    match chance.randrange(4):
        case 0:
            return wrong_bytes(chance, file)
        case 1:
            header = anywhere(chance, header, lambda _old: chance.choice(ODD))
        case 2:
            key = chance.choice([key for key in header["__metadata__"] if key.isdigit()])
            fields = json.loads(header["__metadata__"][key])
            data = anywhere(chance, json.loads(fields["data"]), lambda _old: chance.choice(ODD))
            header["__metadata__"][key] = json.dumps({**fields, "data": json.dumps(data)})
        case _:
            at = chance.randrange(len(body))
            body = body[:at] + chance.randbytes(min(4, len(body) - at)) + body[at + 4 :]
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + body


class Requests:
    """Mutants of every operation, sent to an application in this process."""

    def __init__(self, app: Flask, chance: random.Random) -> None:
        self._client, self._chance = app.test_client(), chance
        self._client.get("/healthz")
        self._known, self._file = filled(self._client)
        published = self._client.get("/api/openapi.json").json
        self._operations = [
            (method, path, operation)
            for path, methods in published["paths"].items()
            for method, operation in methods.items()
        ] + [("get", path, {"parameters": []}) for path in ("/", "/s/{session}", "/embed/{session}", "/gallery")]
        self._published = published

    def ask(self, found: Found) -> None:
        """Sends one."""
        chance = self._chance
        method, path, operation = chance.choice(self._operations)
        method = chance.choice(METHODS) if chance.random() < 0.05 else method.upper()
        named = chance.sample(list(HEADERS), chance.choice((0, 0, 1, 2)))
        headers = {name: chance.choice(HEADERS[name]) for name in named}
        for name, ids in self._known.items():
            there = chance.choice(ids if chance.random() < 0.9 else NOBODY)
            path = path.replace(f"{{{name}}}", there)
        query = {
            parameter["name"]: chance.choice((str(chance.randrange(8)), *ODD_TEXT))
            for parameter in operation["parameters"]
            if parameter.get("in") == "query" and chance.random() < 0.85
        }
        body = self._body(operation)
        if body:
            headers.setdefault("Content-Type", "application/json")
        asked = f"{method} {path} {query} {headers} {body[:300]!r}"
        with suppress(UnicodeError, ValueError):  # what no client could send
            response = self._client.open(path, method=method, query_string=query, headers=headers, data=body or None)
            saved = "attachment" in response.headers.get("Content-Disposition", "")
            html = response.mimetype == "text/html" and not saved
            found.note("requests", asked, response.status_code, response.data if html else b"")
            response.close()

    def bring_back(self, found: Found) -> None:
        """Uploads a file."""
        file = wrong_file(self._chance, self._file)
        response = self._client.post("/api/sessions", data=file, content_type=BINARY)
        found.note("files", f"POST /api/sessions {file[:400]!r}", response.status_code)

    def _body(self, operation: dict[str, Any]) -> bytes:
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            return self._chance.choice((b"", b"", b"x", b"{}"))
        return wrong_json(self._chance, self._example(schema))

    def _example(self, schema: dict[str, Any]) -> Any:
        """Returns a value that the schema allows, with few exceptions."""
        if "$ref" in schema:
            return self._example(self._published["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
        if "anyOf" in schema:
            return self._example(self._chance.choice(schema["anyOf"]))
        if "enum" in schema:
            return self._chance.choice(schema["enum"])
        match schema.get("type"):
            case "object":
                return {name: self._example(each) for name, each in schema.get("properties", {}).items()}
            case "array":
                return [self._example(schema["items"]) for _ in range(self._chance.randrange(3))]
            case "integer" | "number":
                return self._chance.randrange(1, 6)
            case "boolean":
                return self._chance.random() < 0.5
            case "string":
                return self._chance.choice(("abc", MARKUP, "é🙂", "x" * 50))
        return None


def filled(client: FlaskClient) -> tuple[dict[str, list[str]], bytes]:
    """Fills the server: runs in every state, sessions and a deleted one. Returns their ids, and a file of one step."""
    ended, paused = start(client), start(client, prompt=MARKUP, max_new_tokens=256)
    eventually(lambda: client.get(f"/api/runs/{ended}").json["status"] == "closed")
    client.post(f"/api/runs/{paused}/control", json={"action": "pause"})
    kept = client.post(f"/api/runs/{ended}/share", json={"title": MARKUP}).json
    gone = client.post(f"/api/runs/{ended}/share", json={"title": "gone"}).json
    client.delete(f"/api/sessions/{gone['id']}", headers={"Authorization": f"Bearer {gone['delete_token']}"})
    recorded = split(RECORDING.read_bytes())
    first = next(at for at, frame in enumerate(recorded) if frame.kind == "step") + 1
    close = relabel(recorded[-1].payload, recorded[-1].run, first, {"steps": 1})
    file = join([*(frame.payload for frame in recorded[:first]), close.payload])
    return {
        "run": [ended, paused],
        "session": [kept["id"], gone["id"]],
        "filename": ["main.js", "../app/cli.py"],
    }, file


def wrong_message(chance: random.Random, run: str) -> str | bytes:
    """Returns a Socket.IO packet with a fault."""
    event = chance.choice(("watch", "unwatch", "frame", "connect", "", 1, None))
    body: Any = {"run": chance.choice((run, "nobody")), "after": chance.choice((-1, 0, 3))}
    packet = [event, anywhere(chance, body, lambda _old: chance.choice(ODD[:24])), *ODD[: chance.choice((0, 0, 0, 3))]]
    text = f"4{chance.choice('0123456789')}{chance.choice(('', '1', '99-', '/x,', '2-'))}" + json.dumps(packet)
    if chance.random() < 0.3:
        mutated = wrong_bytes(chance, text.encode())
        return mutated if chance.random() < 0.3 else mutated.decode("utf-8", "replace")
    return text


def send_messages(count: int, chance: random.Random, found: Found, folder: Path) -> None:
    """Sends packets to a new server over its websocket. It must continue, and its log must have no traceback."""
    server = LiveServer(folder / "data", "delay=0.01")
    try:
        run = server.start_run(max_new_tokens=30)
        address = f"ws{server.url[4:]}socket.io/?EIO=4&transport=websocket"
        while found.sent["messages"] < count:
            with suppress(simple_websocket.ConnectionClosed, simple_websocket.ConnectionError, OSError):
                socket = simple_websocket.Client(address)
                socket.receive(5)
                socket.send("40")
                for _ in range(20):
                    socket.send(wrong_message(chance, run))
                    found.sent["messages"] += 1
                    while socket.receive(0) is not None:
                        pass
                socket.close()
        answer = server.get("healthz").status_code
        found.note("after all messages", "GET /healthz", answer)
        for number in range(server.errors.count("Traceback")):
            found.faults.append(f"traceback {number} after a message: {server.errors[-1500:]}")
    finally:
        server.close()


class Tracebacks(logging.Handler):
    """A log handler that stores what this process logs with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Stores it."""
        if record.exc_info:
            self.seen.append(f"{record.getMessage()}: {record.exc_info[1]!r}")


def storm(requests: int, files: int, messages: int, seed: int) -> Found:
    """Sends so many of each."""
    found, chance, tracebacks = Found(), random.Random(seed), Tracebacks()
    logging.getLogger().addHandler(tracebacks)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = Settings(data_dir=folder / "app", service=FAKE, recordings_dir=folder)
        app = create_app(replace(place, max_disk_bytes=50_000_000, max_waiting=8))
        parts = app.extensions["kvscope"]
        parts.start()
        try:
            eventually(lambda: parts.engine.readiness.state == "ready")
            mutants = Requests(app, chance)
            with reading_here():
                for number in range(requests + files):
                    (mutants.bring_back if number % (requests + files) < files else mutants.ask)(found)
        finally:
            parts.close()
        if messages:
            send_messages(messages, chance, found, folder)
    logging.getLogger().removeHandler(tracebacks)
    found.faults += [f"traceback: {each}" for each in tracebacks.seen]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.faults.mutants", description=__doc__)
    parser.add_argument("--requests", type=int, default=80_000)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    began = time.monotonic()
    found = storm(options.requests, options.files, options.messages, options.seed)
    print(f"{sum(found.sent.values()):,} sent in {time.monotonic() - began:.0f} s: {dict(found.sent)}")
    print(f"answers by status: {dict(sorted(found.statuses.items()))}")
    print(f"faults: {len(found.faults)}")
    for fault in found.faults[:20]:
        print(f"  {fault}")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
