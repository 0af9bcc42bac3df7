"""Read the JSON files of a model folder, even with a byte order mark, in UTF-16 or with errors from editing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kvscope.model.api import Refused


def read_json(path: Path, folder: str) -> dict[str, Any]:
    """Reads a JSON object from a file of the folder that messages call `folder`. Raises Refused("model")."""
    if not path.is_file():
        raise Refused("model", f"The folder {folder} has no {path.name}{why_missing(path)}.")
    try:
        value = json.loads(path.read_bytes())  # from bytes, the library detects the encoding
    except OSError as error:
        raise Refused("model", f"{path.name} of {folder} cannot be read: {error.strerror or error}.") from None
    except json.JSONDecodeError as error:
        fault = f"{error.msg} in line {error.lineno}, column {error.colno}"
        raise Refused("model", f"{path.name} of {folder} is not valid JSON: {fault}.") from None
    except (ValueError, RecursionError) as error:  # not Unicode, or too deep
        raise Refused("model", f"{path.name} of {folder} is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise Refused("model", f"{path.name} of {folder} is not a valid JSON object: it holds something else.")
    return value


def read_optional(path: Path, folder: str) -> dict[str, Any]:
    """Reads a JSON object as `read_json` does; an empty one if the file is missing.

    Refuses a name in another case and a link whose target is missing. Raises Refused("model").
    """
    return read_json(path, folder) if path.is_file() or why_missing(path) else {}


def why_missing(path: Path) -> str:
    """Explains why a file is missing, to complete the sentence "has no <file>…"; "" if nothing explains it."""
    if path.is_symlink():
        return f": it is a link to {path.readlink()}, which is missing"
    if path.is_dir():
        return ": it is a folder"
    names = (each.name for each in path.parent.iterdir()) if path.parent.is_dir() else ()
    other = next((name for name in sorted(names) if name.lower() == path.name.lower()), None)
    return "" if other is None else f", but {other}: rename it"
