"""Files that are brought back are read in this process: a process for each of very many takes half a second."""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from unittest.mock import patch

from kvscope.app.travel.importing import Imported, read_file


@contextmanager
def reading_here() -> Iterator[None]:
    """What a file is refused for is the same as by app.travel.apart, but for what it takes."""
    with patch("kvscope.app.http.files.read_apart", _read):
        yield


def _read(file: IO[bytes], _folder: Path) -> tuple[Imported, int]:
    buffer = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return read_file(buffer), len(buffer)
