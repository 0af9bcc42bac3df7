"""Reads text files that people write in any editor: UTF-8 with or without a byte order mark, any line ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SAVE_AS = "save it as UTF-8 (in Notepad: Save as, Encoding)"
LINE_END = re.compile("\r\n?")


class NotUtf8(ValueError):
    """A file is not UTF-8 text; the message says where, and what to do. `line`: from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"the file is not UTF-8 text: {what}; {SAVE_AS}")
        self.line = line


def text_of(content: bytes) -> str:
    """Returns the text with newlines as line ends. Raises NotUtf8, also for UTF-16."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotUtf8(1, "it begins as UTF-16 does")
    if 0 in content:
        raise NotUtf8(1, "it has bytes that are zero, as UTF-16 or a file that is no text has")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + len(LINE_END.sub("\n", content[: error.start].decode("latin-1")).split("\n")[1:])
        raise NotUtf8(line, f"line {line} has a byte 0x{content[error.start]:02X} of another encoding") from None
    return LINE_END.sub("\n", text)


def files_with(suffix: str, folder: Path) -> Iterator[Path]:
    """Yields a folder's files with this suffix, ordered by name.

    Names that begin with a dot belong to a system or an editor: `._name`, which macOS writes on foreign disks, and
    `.#name`, the lock of Emacs.
    """
    for path in sorted(folder.glob("*")):
        if path.suffix.lower() == suffix and not path.name.startswith(".") and not path.is_dir():
            yield path
