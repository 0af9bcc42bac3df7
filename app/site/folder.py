"""The folder of a static site: what is in it, by a manifest; files that are written whole, and only if they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

MANIFEST = "kvscope-site.json"
FORMAT = 1


class CannotWrite(Exception):
    """The site cannot be written; the message is one readable sentence."""


class SiteFolder:
    """The folder at `path`. `units`: the files of each part of the site, with the stamp that tells whether to write
    them again. Methods raise CannotWrite.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._earlier = self._read()
        self._units: dict[str, dict[str, Any]] = {}
        self._save(self._earlier)  # before all else, so that a folder of a build that was cut short is known as a site

    def is_written(self, unit: str, stamp: str) -> bool:
        """Whether the part is there with this stamp; then it stays as it is."""
        known = self._earlier.get(unit)
        if (
            known is None
            or known["stamp"] != stamp
            or not all((self._path / name).is_file() for name in known["files"])
        ):
            return False
        self._units[unit] = known
        return True

    def keep(self, unit: str) -> bool:
        """Keep what there is of a part that cannot be written now; whether there is anything."""
        if unit in self._earlier:
            self._units[unit] = self._earlier[unit]
        return unit in self._units

    def write(self, unit: str, stamp: str, files: Mapping[str, bytes]) -> None:
        """Write a part."""
        for name, content in files.items():
            self._write(name, content)
        self._units[unit] = {"stamp": stamp, "files": sorted(files)}

    def give_up(self) -> None:
        """Note what was written, for the next build to go on from. Where that fails, the manifest stays as it was."""
        with suppress(CannotWrite):
            self._save(self._earlier | self._units)

    def finish(self) -> int:
        """Remove what is of no part any more, and say so in the manifest; how many files there are."""
        there, gone = _names(self._units.values()), _names(self._earlier.values())
        for name in gone - there:
            self._remove(name)
        self._save(self._units)
        return len(there)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            if not self._path.exists() or not any(self._path.iterdir()):
                return {}
            found = json.loads((self._path / MANIFEST).read_text("utf-8"))
            if found["format"] != FORMAT:
                raise ValueError("another version's")
            units: dict[str, dict[str, Any]] = found["units"]
            return units
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            raise CannotWrite(
                f"{self._path} is not empty and has no {MANIFEST} of KVScope. Choose another folder."
            ) from None
        except OSError as error:
            raise CannotWrite(f"{self._path} cannot be read: {error.strerror}.") from None

    def _save(self, units: Mapping[str, Any]) -> None:
        about = {"about": "Static site of KVScope; `kvscope site` reads this file.", "format": FORMAT, "units": units}
        self._write(MANIFEST, json.dumps(about, indent=1, sort_keys=True).encode())

    def _write(self, name: str, content: bytes) -> None:
        path = self._path / name
        part = path.with_name(f"{path.name}.part")
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
        path = self._path / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise CannotWrite(f"{path} cannot be removed: {error.strerror}.") from None
        with suppress(OSError):  # the folder has other files
            while (path := path.parent) != self._path:
                path.rmdir()


def _names(units: Iterable[Mapping[str, Any]]) -> set[str]:
    return {name for unit in units for name in unit["files"]}
