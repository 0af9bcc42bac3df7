"""The hub library reads its address once, when imported; so each of these runs in a process of its own."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_files import write_folder

pytestmark = pytest.mark.processes

PROGRAM = """
import sys
from kvscope.model.api import Refused
from kvscope.model.checkpoint import load
try:
    loaded = load(sys.argv[1], lambda progress: None)
    print("loaded", loaded.name, loaded.config.arch, sorted(loaded.weights)[0])
except Refused as refused:
    print("refused", refused.field, refused)
"""


def load_in_process(model: str, endpoint: str, home: Path) -> str:
    """What loading prints, with the hub at `endpoint` and its cache in `home`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_XET": "1"}
    own |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-c", PROGRAM, model]
    return subprocess.run(command, env=kept | own, capture_output=True, text=True, check=True, timeout=100).stdout


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of the hub as a download needs: one repository, `org/tiny`."""

    folder: Path
    asked: list[str]
    COMMIT = "0123456789abcdef0123456789abcdef01234567"

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), Content_Type="application/json")

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        files = {file.name: file for file in self.folder.iterdir()}
        if path.startswith("/api/models/org/tiny/tree/"):
            listed = [{"type": "file", "path": name, "size": file.stat().st_size} for name, file in files.items()]
            self._json([entry | {"oid": hashlib.sha1(entry["path"].encode()).hexdigest()} for entry in listed])
        elif path.startswith("/api/models/org/tiny"):
            siblings = [{"rfilename": name} for name in files]
            self._json({"id": "org/tiny", "modelId": "org/tiny", "sha": self.COMMIT, "siblings": siblings})
        elif path.startswith(f"/org/tiny/resolve/{self.COMMIT}/"):
            name = path.rpartition("/")[2]
            self.asked.append(name)
            tag = '"' + hashlib.sha1(name.encode()).hexdigest() + '"'
            self._send(200, files[name].read_bytes(), ETag=tag, X_Repo_Commit=self.COMMIT)
        else:
            self._send(404, b"{}", X_Error_Code="RepoNotFound", Content_Type="application/json")

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[str, type[Hub]]]:
    """A hub's address and its handler."""
    write_folder(tmp_path / "tiny", "llama")
    (tmp_path / "tiny" / "pytorch_model.bin").write_bytes(b"pickled")
    handler = type("Handler", (Hub,), {"folder": tmp_path / "tiny", "asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_repository_is_fetched_without_its_pickles_and_used_offline_afterwards(
    hub: tuple[str, type[Hub]], tmp_path: Path
) -> None:
    endpoint, handler = hub
    assert (
        load_in_process("org/tiny", endpoint, tmp_path / "home") == "loaded org/tiny llama blocks.0.attn.norm.weight\n"
    )
    assert "model.safetensors" in handler.asked
    assert "pytorch_model.bin" not in handler.asked
    said = load_in_process("org/tiny", "http://127.0.0.1:9", tmp_path / "home")
    assert said.startswith("loaded org/tiny llama")


def test_a_repository_the_hub_does_not_have_is_refused(hub: tuple[str, type[Hub]], tmp_path: Path) -> None:
    said = load_in_process("org/missing", hub[0], tmp_path / "home")
    assert said.startswith("refused model org/missing could not be fetched")
    assert "no such public model" in said


def test_without_a_network_one_sentence_says_so(tmp_path: Path) -> None:
    said = load_in_process("org/tiny", "http://127.0.0.1:9", tmp_path / "home")
    assert said.startswith("refused model org/tiny could not be fetched")
    assert "no network" in said
    assert said.count("\n") == 1
