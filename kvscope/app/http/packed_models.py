"""The packed models for browsers in the cache: a description by model, and the scripts that it names.

Scripts are named by their content, so a new version of KVScope, or of a model's file, adds scripts. Whoever remembers
a new description removes those that no model needs any more.
"""

from __future__ import annotations

import gzip
import json
import time
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from kvscope.model.api import Refused
from kvscope.model.data_script import stored_script
from kvscope.model.sources import find
from kvscope.model.work_folder import whole_file

BEING_PACKED_S = 3600
"""Age at which a script that no description names is removed: until then, another server may be packing its model."""


def is_stored(description: dict[str, Any]) -> bool:
    """Returns whether all scripts of a model are stored."""
    return all(stored_script(name).is_file() for name in _names(description))


def remember(model: str, description: dict[str, Any]) -> None:
    """Stores the description of a packed model, unless it is stored or the disk is full. If it is new, removes what no
    model needs any more.

    `model`: as `--model` names it.
    """
    entry = {"file": _file_of(model), "description": description}
    path, content = _path(model), gzip.compress(json.dumps(entry).encode(), mtime=0)
    with suppress(OSError):
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(content)
            _clear_away(path.parent, description["format"])


def remembered(model: str) -> dict[str, Any] | None:
    """Returns the description of the model when it was last packed; None if none is stored."""
    entry = _read(_path(model))
    return entry and entry["description"]


def _clear_away(folder: Path, version: int) -> None:
    """Removes descriptions of another format or of a file that is gone, and scripts that no description names."""
    needed = set[str]()
    for path in folder.glob("*.json.gz"):
        entry = _read(path)
        if entry and entry["description"]["format"] == version and (not entry["file"] or Path(entry["file"]).exists()):
            needed.update(stored_script(name).name for name in _names(entry["description"]))
        else:
            path.unlink(missing_ok=True)
    for path in folder.glob("*.js.gz"):
        if path.name not in needed and time.time() - path.stat().st_mtime > BEING_PACKED_S:
            path.unlink(missing_ok=True)


def _file_of(model: str) -> str | None:
    """Returns the file or folder of a model; None if it has another source."""
    with suppress(Refused):
        path = find(model).path
        return str(path.absolute()) if path else None
    return None


def _path(model: str) -> Path:
    return stored_script(f"{sha256(model.encode()).hexdigest()[:16]}.json")


def _read(path: Path) -> dict[str, Any] | None:
    """Returns what `remember` stored; None if it cannot be read."""
    with suppress(OSError, EOFError, zlib.error, ValueError):
        entry: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        if entry.keys() == {"file", "description"}:
            return entry
    return None


def _names(description: dict[str, Any]) -> list[str]:
    return [each["file"] for each in (*description["parts"], description["details"], description["wasm"])]
