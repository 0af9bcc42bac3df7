"""The hub library reads its address once, when imported; so each of these runs in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_server import Quiet, serving
from tests.support.tiny_files import write_folder

pytestmark = pytest.mark.processes

PROGRAM = """
import sys
from kvscope.model.api import Refused
from kvscope.model.checkpoint import load
for model in sys.argv[1:]:
    try:
        loaded = load(model, lambda progress: None)
        print("loaded", loaded.name, loaded.config.arch, sorted(loaded.weights)[0])
    except Refused as refused:
        print("refused", refused.field, refused)
"""


def load_in_process(endpoint: str, home: Path, *models: str) -> list[str]:
    """What loading each says, a line each, with the hub at `endpoint` and its cache in `home`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "NO_PROXY": "127.0.0.1", "HF_HUB_DISABLE_XET": "1"}
    own |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-c", PROGRAM, *models]
    done = subprocess.run(command, env=kept | own, capture_output=True, text=True, check=True, timeout=100)
    return done.stdout.splitlines()


class Hub(Quiet):
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


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[str, type[Hub]]]:
    """A hub's address and its handler."""
    write_folder(tmp_path / "tiny", "llama")
    (tmp_path / "tiny" / "pytorch_model.bin").write_bytes(b"pickled")
    handler = type("Handler", (Hub,), {"folder": tmp_path / "tiny", "asked": []})
    with serving(handler) as address:
        yield address, handler


def test_a_repository_is_fetched_without_its_pickles_and_used_offline_afterwards(
    hub: tuple[str, type[Hub]], tmp_path: Path
) -> None:
    endpoint, handler = hub
    fetched, missing = load_in_process(endpoint, tmp_path / "home", "org/tiny", "org/missing")
    assert fetched == "loaded org/tiny llama blocks.0.attn.norm.weight"
    assert "model.safetensors" in handler.asked
    assert "pytorch_model.bin" not in handler.asked
    assert missing.startswith("refused model org/missing could not be downloaded")
    assert "no such public model" in missing
    kept, unreached = load_in_process("http://127.0.0.1:9", tmp_path / "home", "org/tiny", "org/other")
    assert kept == fetched
    assert unreached.startswith("refused model org/other could not be downloaded")
    assert "no network" in unreached
