"""Opens a run from a file, from an address, or by its id in the data folder.

Each gives the bytes of a file, which are checked as untrusted: none of them is run as code, and no size that they state
is trusted.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from kvscope.app.reader.download import download
from kvscope.app.reader.errors import CannotRead
from kvscope.app.reader.run import Run
from kvscope.app.settings import default_data_dir
from kvscope.app.travel.importing import MAX_FILE_BYTES, Imported, read_file
from kvscope.model.api import Refused

ADDRESS = re.compile(r"https?://", re.IGNORECASE)
ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
SHOWN_CHARS = 200
"""In a message, the requested source is cut to this many characters."""


def open(source: str | os.PathLike[str], *, data: str | os.PathLike[str] | None = None) -> Run:
    """Opens a recorded run.

    `source`: the path of a file that KVScope wrote (.safetensors or .html); the address of a saved session, of an ended
    run, or of such a file, on any server; or the id of a saved session or of an ended run. An id is looked up in the
    folder `data`; without `data`, in the database that DATABASE_URL names, else in the user's data folder, as the
    command line does.

    Raises CannotRead.
    """
    name = os.fspath(source)
    if ADDRESS.match(name):
        content = download(name)
    elif isinstance(source, str) and ID.fullmatch(name) and not Path(name).is_file():
        content = _looked_up(name, data)
    else:
        content = _read(Path(name))
    return Run(_checked(content, name))


def _checked(content: bytes, name: str) -> Imported:
    try:
        return read_file(memoryview(content))
    except Refused as refused:
        raise CannotRead(f"{_shown(name)} cannot be opened: {refused}") from None


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            what = "is not a file" if path.exists() else "does not exist"
            raise CannotRead(f"{_shown(path)} {what}.")
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CannotRead(f"{_shown(path)} cannot be read: {reason}.") from None
    if len(content) > MAX_FILE_BYTES:
        raise CannotRead(f"{_shown(path)} has more than {MAX_FILE_BYTES:,} bytes, the limit for a file of KVScope.")
    return content


def _looked_up(name: str, data: str | os.PathLike[str] | None) -> bytes:
    # Imported here: only an id needs a database, and its library takes longer to load than a file to read.
    from kvscope.app.store.database import FILE
    from kvscope.app.store.errors import StoreError
    from kvscope.app.travel.export import CannotExport, stored

    url = os.environ.get("DATABASE_URL") if data is None else None
    folder = default_data_dir() if data is None else Path(data)
    if not url and not (folder / FILE).is_file():
        raise CannotRead(f"{name!r} is not a file, and {folder} contains no runs. Name another folder with data=.")
    try:
        with stored(folder, url, name) as file:
            return file.archive()
    except (CannotExport, StoreError) as error:
        raise CannotRead(str(error)) from None


def _shown(name: str | Path) -> str:
    text = str(name)
    return repr(text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…")
