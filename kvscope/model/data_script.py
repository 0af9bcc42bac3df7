"""Writes data as scripts, which browsers load also where they refuse `fetch`: in a sandboxed frame, and from a disk.

A script sets its data under its own path; static/shared/log/root.js loads it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

from kvscope.model.packaged import cache_folder

ENDING = b";\n"


def data_script(path: str, value: Any) -> bytes:
    """Returns a script that sets a JSON value under `path`, from the site's root: "/api/index.js"."""
    text = json.dumps(json.dumps(value, ensure_ascii=False), ensure_ascii=False)
    return _beginning(path) + f"JSON.parse({text})".encode() + ENDING


def bytes_script(path: str, content: bytes) -> bytes:
    """Returns a script that sets bytes under `path`, in base64."""
    return b"".join((_beginning(path), b'"', b64encode(content), b'"', ENDING))


def stored_script(name: str) -> Path:
    """Returns where a server stores the script `name` of a model for browsers, compressed by gzip."""
    return cache_folder() / "browser" / f"{name}.gz"


def _beginning(path: str) -> bytes:
    return f"(self.kvscopeData ??= {{}})[{json.dumps(path)}] = ".encode()
