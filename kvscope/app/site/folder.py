"""The folder of a static site: a manifest of its files, written atomically and only if they differ.

The manifest names a file before the file is written, so that the next build can remove what a killed build wrote.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict

MANIFEST, PART = "kvscope-site.json", "kvscope-site.part"
"""`PART`: the name of any file while it is written; a killed build leaves at most this one."""
FORMAT = 1
UNFINISHED = ""
"""Stamp of a part that may be incomplete."""


class CannotWrite(Exception):
    """The site cannot be written; the message is one readable sentence."""


class Unit(BaseModel):
    """A part of the site. `stamp`: tells whether to write its files again."""

    model_config = ConfigDict(frozen=True, strict=True)

    stamp: str
    files: list[str]


class Manifest(BaseModel):
    """The content of MANIFEST."""

    model_config = ConfigDict(strict=True)

    about: str = "Static site of KVScope; `kvscope site` reads this file."
    format: int
    units: dict[str, Unit]


class SiteFolder:
    """The folder at `path`, with the units of its manifest by name. Methods raise CannotWrite."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._earlier = self._read()
        self._units: dict[str, Unit] = {}
        self._remove(PART)
        self._save(self._earlier)  # first of all, so that the folder of an interrupted build is known as a site

    def is_written(self, unit: str, stamp: str) -> bool:
        """Returns whether the part was written with this stamp. If so, it stays."""
        known = self._earlier.get(unit)
        if known is None or known.stamp != stamp or not all(self._at(name).is_file() for name in known.files):
            return False
        self._units[unit] = known
        return True

    def keep(self, unit: str) -> bool:
        """Keeps a part that cannot be written now. Returns whether an earlier build completed it."""
        known = self._earlier.get(unit)
        if known is None or known.stamp == UNFINISHED:
            return False
        self._units[unit] = known
        return True

    def write(self, unit: str, stamp: str, files: Mapping[str, bytes]) -> None:
        """Writes a part. The manifest names its files first."""
        known = self._earlier.get(unit, Unit(stamp=UNFINISHED, files=[]))
        self._earlier[unit] = Unit(stamp=UNFINISHED, files=sorted({*known.files, *files}))
        self._save(self._earlier | self._units)
        for name, content in files.items():
            self._write(name, content)
        self._units[unit] = Unit(stamp=stamp, files=sorted(files))

    def finish(self) -> int:
        """Removes files of no current part, and updates the manifest. Returns the number of files."""
        current, earlier = _names(self._units.values()), _names(self._earlier.values())
        for name in earlier - current:
            self._remove(name)
        self._save(self._units)
        return len(current)

    def _read(self) -> dict[str, Unit]:
        try:
            if not self._path.exists() or not any(self._path.iterdir()):
                return {}
            content = (self._path / MANIFEST).read_bytes()
            self._check_format(content)
            units = Manifest.model_validate_json(content).units
        except (FileNotFoundError, ValueError, RecursionError):
            raise CannotWrite(
                f"{self._path} is not empty and has no {MANIFEST} of KVScope. Choose another folder."
            ) from None
        except OSError as error:
            raise CannotWrite(f"{self._path} cannot be read: {error.strerror}.") from None
        for name in _names(units.values()):
            self._at(name)
        return units

    def _check_format(self, content: bytes) -> None:
        """Raises CannotWrite for a manifest of another format, whose content this version cannot know."""
        manifest = json.loads(content)
        stated = manifest.get("format") if isinstance(manifest, dict) else None
        if isinstance(stated, int) and stated != FORMAT:
            raise CannotWrite(
                f"{self._path} is a site of format {stated}; this KVScope writes format {FORMAT}. Use the version of "
                "KVScope that wrote the site, or choose another folder. Nothing was changed."
            )

    def _at(self, name: str) -> Path:
        """Returns the path of a file of the site. Raises CannotWrite for a name outside the folder: a manifest or a
        link by somebody else must not decide what is overwritten or removed.
        """
        parts, inside = PurePosixPath(name), False
        with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: links that lead to each other
            place = self._path.resolve() / parts
            inside = bool(parts.parts) and place.resolve() == place
        if not inside or ".." in parts.parts or parts.is_absolute():
            raise CannotWrite(
                f"{self._path / MANIFEST} names {name!r}, or a build would write it, and that is outside the folder or "
                "a link. Remove the link, or choose another folder."
            )
        return self._path / parts

    def _save(self, units: Mapping[str, Unit]) -> None:
        content = Manifest(format=FORMAT, units=dict(units)).model_dump()
        self._write(MANIFEST, json.dumps(content, indent=1, sort_keys=True).encode())

    def _write(self, name: str, content: bytes) -> None:
        path, part = self._at(name), self._at(PART)
        try:
            if path.is_file() and path.read_bytes() == content:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(content)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            raise CannotWrite(f"{path} cannot be written: {error.strerror}.") from None

    def _remove(self, name: str) -> None:
        path = self._at(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise CannotWrite(f"{path} cannot be removed: {error.strerror}.") from None
        with suppress(OSError):  # the folder still has files
            while (path := path.parent) != self._path:
                path.rmdir()


def _names(units: Iterable[Unit]) -> set[str]:
    return {name for unit in units for name in unit.files}
