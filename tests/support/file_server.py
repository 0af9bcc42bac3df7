"""A plain web server of files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any


class Quiet(SimpleHTTPRequestHandler):
    """Python's file server, which says nothing on the terminal."""

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving_files(folder: Path, handler: type[Quiet] = Quiet) -> Iterator[str]:
    """Serves a folder; gives its address, with a final slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
