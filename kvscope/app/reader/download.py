"""Downloads a saved session or an ended run from a KVScope server, or a file from any server."""

from __future__ import annotations

import json
import re
import time
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, urlsplit, urlunsplit
from urllib.request import urlopen

from kvscope.app.reader.errors import CannotRead
from kvscope.app.store.manifest import unlinked
from kvscope.app.travel.importing import MAX_FILE_BYTES
from kvscope.model.log.check import LogCheck
from kvscope.model.log.frames import BadFrame, from_stream, header, join
from kvscope.model.log.untrusted import BadFile

SILENCE_S = 30.0
"""How long a server may send nothing."""
LONGEST_S = 600.0
"""How long a whole download may take."""
CHUNK_BYTES = 1024 * 1024
MAX_PROBLEM_BYTES = 64 * 1024
MAX_DETAIL_CHARS = 300

NAME = r"(?P<id>[0-9A-Za-z_-]+)"
SESSION = re.compile(rf"(?P<base>.*)/(?:s|embed|api/sessions)/{NAME}(?:\.\w+|/\w+)?/?")
RUN = re.compile(rf"(?P<base>.*)/api/runs/{NAME}(?:/\w+)?/?")
RUN_PAGE = re.compile(r"(?P<base>.*?)/(?:serving)?")


def download(url: str) -> bytes:
    """Returns the file of the session or run at `url`, not yet checked. Raises CannotRead."""
    try:
        parts = urlsplit(url)
        runs = parse_qs(parts.query).get("run", [])
    except ValueError as error:
        raise CannotRead(f"The address is not valid: {error}.") from None

    def at(path: str, query: str = "") -> str:
        return urlunsplit((parts.scheme, parts.netloc, path, query, ""))

    if match := SESSION.fullmatch(parts.path):
        return _fetched(at(f"{match['base']}/api/sessions/{match['id']}.safetensors"))
    if match := RUN.fullmatch(parts.path):
        return _joined(_fetched(at(f"{match['base']}/api/runs/{match['id']}/frames", "after=-1")))
    if runs and (match := RUN_PAGE.fullmatch(parts.path or "/")) and re.fullmatch(NAME, runs[0]):
        return _joined(_fetched(at(f"{match['base']}/api/runs/{runs[0]}/frames", "after=-1")))
    return _fetched(at(parts.path, parts.query))


def _joined(stream: bytes) -> bytes:
    """Returns the frames of a run as one file, without the run's id: with the id a reader of the notebook could branch
    the run and read its family.
    """
    try:
        frames = list(from_stream(stream))
        if not frames or header(frames[-1]).kind != "close":
            raise CannotRead("The run has not ended. It can be opened after it ends.")
        check = LogCheck()
        for frame in frames:
            check.take(frame)
        return join(map(unlinked, frames))
    except (BadFrame, BadFile) as error:
        raise CannotRead(f"The server did not send a run: {str(error).rstrip('.')}.") from None


def _fetched(address: str) -> bytes:
    deadline = time.monotonic() + LONGEST_S
    host = urlsplit(address).netloc.rpartition("@")[2]
    content = bytearray()
    try:
        with urlopen(address, timeout=SILENCE_S) as response:
            while chunk := response.read1(CHUNK_BYTES):
                content += chunk
                if len(content) > MAX_FILE_BYTES:
                    raise CannotRead(
                        f"{host} sends more than {MAX_FILE_BYTES:,} bytes, the limit for a file of KVScope."
                    )
                if time.monotonic() > deadline:
                    raise CannotRead(f"{host} took longer than {LONGEST_S:.0f} s to send the file.")
    except HTTPError as error:
        with error:
            raise CannotRead(f"{host} refused the request: {_detail(error)}") from None
    except (URLError, OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise CannotRead(f"{host} cannot be reached: {str(reason) or type(error).__name__}.") from None
    return bytes(content)


def _detail(error: HTTPError) -> str:
    """Returns the server's error message (RFC 9457), else the status."""
    try:
        detail = json.loads(error.read(MAX_PROBLEM_BYTES))["detail"]
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        detail = None
    if not isinstance(detail, str) or not detail:
        return f"status {error.code} {error.reason}."
    return " ".join(detail.split())[:MAX_DETAIL_CHARS]
