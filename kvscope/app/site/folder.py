"""The folder of a static site: what is in it, by a manifest; files that are written whole, and only if they differ.

The manifest names a file before the file is written, so that the next build knows, and can remove, whatever a build
wrote that was killed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict

MANIFEST, PART = "kvscope-site.json", "kvscope-site.part"
"""`PART`: a file that is being written. All have this one name, so that a killed build leaves one at most."""
FORMAT = 1
UNFINISHED = ""
"""Stamp of a part of which any number of files are written."""


class CannotWrite(Exception):
    """The site cannot be written; the message is one readable sentence."""


class Unit(BaseModel):
    """A part of the site. `stamp`: tells whether to write its files again."""

    model_config = ConfigDict(frozen=True, strict=True)

    stamp: str
    files: list[str]


class Manifest(BaseModel):
    """What MANIFEST says."""

    model_config = ConfigDict(strict=True)

    about: str = "Static site of KVScope; `kvscope site` reads this file."
    format: int
    units: dict[str, Unit]


class SiteFolder:
    """The folder at `path`, with its manifest's units by name. Methods raise CannotWrite."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._earlier = self._read()
        self._units: dict[str, Unit] = {}
        self._remove(PART)
        self._save(self._earlier)  # before all else, so that a folder of a build that was cut short is known as a site

    def is_written(self, unit: str, stamp: str) -> bool:
        """Whether the part is there with this stamp; then it stays as it is."""
        known = self._earlier.get(unit)
        if known is None or known.stamp != stamp or not all(self._at(name).is_file() for name in known.files):
            return False
        self._units[unit] = known
        return True

    def keep(self, unit: str) -> bool:
        """Keep what there is of a part that cannot be written now; whether an earlier build wrote it to its end."""
        known = self._earlier.get(unit)
        if known is None or known.stamp == UNFINISHED:
            return False
        self._units[unit] = known
        return True

    def write(self, unit: str, stamp: str, files: Mapping[str, bytes]) -> None:
        """Write a part. Its files are in the manifest before they are in the folder."""
        known = self._earlier.get(unit, Unit(stamp=UNFINISHED, files=[]))
        self._earlier[unit] = Unit(stamp=UNFINISHED, files=sorted({*known.files, *files}))
        self._save(self._earlier | self._units)
        for name, content in files.items():
            self._write(name, content)
        self._units[unit] = Unit(stamp=stamp, files=sorted(files))

    def finish(self) -> int:
        """Remove what is of no part any more, and say so in the manifest; how many files there are."""
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
        """Raise CannotWrite for a manifest of another format, of which this version cannot know what is in it."""
        manifest = json.loads(content)
        stated = manifest.get("format") if isinstance(manifest, dict) else None
        if isinstance(stated, int) and stated != FORMAT:
            raise CannotWrite(
                f"{self._path} is a site of format {stated}; this KVScope writes format {FORMAT}. Use the version of "
                "KVScope that wrote the site, or choose another folder. Nothing was changed."
            )

    def _at(self, name: str) -> Path:
        """The place of a file of the site. Raises CannotWrite for a name that leads elsewhere: whoever has written the
        manifest, or put a link into the folder, must not decide what else is overwritten or removed.
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
        with suppress(OSError):  # the folder has other files
            while (path := path.parent) != self._path:
                path.rmdir()


def _names(units: Iterable[Unit]) -> set[str]:
    return {name for unit in units for name in unit.files}
