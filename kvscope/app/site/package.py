"""`kvscope site --scorm FILE.zip`: lessons as a package that a learning system imports (docs/scorm.md)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from flask import Flask

from kvscope.app.factory import Parts, build
from kvscope.app.http.languages import languages
from kvscope.app.http.shell import renderer
from kvscope.app.http.site import Site, file_of
from kvscope.app.page_table import links_below, pages
from kvscope.app.settings import Settings
from kvscope.app.site.assets import build_assets, version_of
from kvscope.app.site.build import INSTALL, REPORTED_EVERY, NoEngines, opening_of
from kvscope.app.site.folder import CannotWrite
from kvscope.app.site.manifest import MANIFEST, Page, Version, manifest
from kvscope.app.site.pages import File, SitePages
from kvscope.app.store.errors import Damaged
from kvscope.app.store.gallery import Recording, recordings_in
from kvscope.model.by_hand.examples import EXAMPLES
from kvscope.model.work_folder import whole_file

ADDRESSES = ("at", "shows", "address")
"""Members of a lesson that name what the picture shows."""
SESSION, BY_HAND, LEARN = "/s/", "/by-hand/", "/learn/"
"""Beginnings of paths."""
CONTENTS = ("learn.html", "index.html")
"""Names of the pages that list the lessons. If a lesson leads to the Stage, that is `index.html`."""
ENGLISH = "en"


@dataclass(frozen=True, slots=True)
class Package:
    """What to write. `lessons`: ids; none: all. `language`: of the pages, as `?lang=` names it."""

    version: Version
    lessons: Sequence[str] = ()
    language: str = ENGLISH


@dataclass(frozen=True, slots=True)
class Packaged:
    """What was written. `bytes`: of the package."""

    lessons: int
    files: int
    bytes: int


def build_package(settings: Settings, out: Path, package: Package, report: Callable[[str], None]) -> Packaged:
    """Writes the package. `report` receives lines about the progress. Raises CannotWrite, StoreError."""
    if package.language not in (known := [ENGLISH, *sorted(languages())]):
        raise CannotWrite(f"There are no pages in {package.language!r}. There are: {', '.join(known)}.")
    recordings = recordings_in(settings.recordings_dir)
    app = build(replace(settings, token=None, allowed_hosts=("localhost",)), engines_of=NoEngines, alone=False)
    parts: Parts = app.extensions["kvscope"]
    version = version_of(settings.recordings_dir, settings.more_lessons_dir)
    try:
        return _written(out, *_Lessons(app, package, version, recordings).files(report))
    except Damaged as error:
        raise CannotWrite(f"{error} Restore it from a backup, or name lessons that do not show it: --lesson.") from None
    finally:
        parts.runs.close()


def _written(out: Path, lessons: int, files: Mapping[str, bytes]) -> Packaged:
    """Writes the files as a ZIP archive that replaces `out`. Of the same files it is the same, byte for byte."""
    try:
        with whole_file(out) as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
            for name in sorted(files):
                entry = ZipInfo(name)  # dated 1980
                entry.compress_type = ZIP_DEFLATED
                archive.writestr(entry, files[name])
        return Packaged(lessons, len(files), out.stat().st_size)
    except OSError as error:
        raise CannotWrite(f"{out} cannot be written: {error.strerror}.") from None


class _Lessons:
    """The lessons of one package, and all that their pictures show."""

    def __init__(self, app: Flask, package: Package, version: str, recordings: Sequence[Recording]) -> None:
        assets, self._assets = build_assets()
        self._package = package
        self._pages = SitePages(app, Site("", "", "", version, assets, []), package.language)
        parts: Parts = app.extensions["kvscope"]
        self._saved = {session["id"] for session in parts.sessions.listed()}
        self._recorded = [recording.card.id for recording in recordings if recording.card]
        self._opening = opening_of(recordings)
        self._render = renderer("learn")

    def files(self, report: Callable[[str], None]) -> tuple[int, dict[str, bytes]]:
        """Returns the number of lessons, and all files by name. Raises CannotWrite, Damaged."""
        listed = self._pages.json("/api/lessons")["lessons"]
        chosen, entries, paths = self._chosen(listed), list[Page](), dict[str, None]()
        own: dict[str, bytes] = {}
        for each in chosen:
            lesson = self._pages.json(f"/api/lessons/{each['id']}")
            entry = Page(lesson["title"], f"lessons/{each['id']}.html")
            entries.append(entry)
            own[entry.file] = self._page(entry.file, each, lesson)
            paths |= dict.fromkeys(self._paths(lesson))
        paths |= dict.fromkeys(chain.from_iterable(map(self._beside, paths)))
        shared = dict(
            chain([self._pages.glossary(), self._pages.rendered(INSTALL)], self._pages.data("/api/index", "/api/code"))
        )
        for number, path in enumerate(paths, 1):
            shared |= self._shown(path)
            if number % REPORTED_EVERY == 0 or number == len(paths):
                report(f"{number} of {len(paths)} pages that the lessons show")
        shared |= {name: content for name, content in self._contents(entries) if name not in shared}
        shared |= self._absent(shared, [f"/learn/{each['id']}" for each in listed])
        shared |= self._used([*own.values(), *shared.values()])
        alone = len(chosen) == 1
        name, title = (chosen[0]["id"], entries[0].title) if alone else ("lessons", "KVScope")
        described = manifest(self._package.version, f"kvscope-{name}", title, entries, sorted(shared))
        return len(chosen), {MANIFEST: described, **own, **shared}

    def _chosen(self, listed: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Returns the lessons to write, in the order of the course. Raises CannotWrite for an unknown id."""
        known, asked = [lesson["id"] for lesson in listed], set(self._package.lessons)
        if unknown := asked.difference(known):
            raise CannotWrite(f"There is no lesson {min(unknown)!r}. There are: {', '.join(known)}.")
        return [lesson for lesson in listed if not asked or lesson["id"] in asked]

    def _page(self, file: str, listed: Mapping[str, Any], lesson: Mapping[str, Any]) -> bytes:
        """Returns the page of a lesson. It leads to no other lesson: the learning system does."""
        bootstrap = {
            "lessons": [listed],
            "lesson": _without_links(lesson),
            "framed": True,
            "scorm": self._package.version,
        }
        with self._pages.request(file):
            return self._render(bootstrap, title=f"{lesson['title']} · KVScope").encode()

    def _paths(self, lesson: Mapping[str, Any]) -> Iterator[str]:
        """Yields the paths of the pages that the pictures of a lesson show, and of the sessions that these name."""
        for address in _addresses(lesson):
            parts = urlsplit(address)
            if parts.path != "/":
                yield parts.path
            elif lesson["session"]:
                yield f"{SESSION}{lesson['session']}"
            yield from (f"{SESSION}{value}" for _, value in parse_qsl(parts.query) if value in self._saved)

    def _beside(self, path: str) -> Iterator[str]:
        """Yields the paths to which the page at a path leads inside its frame."""
        if path == "/memory":
            yield from ("/", "/learn/figures")
        elif path == "/compare":
            yield from (f"{SESSION}{session}" for session in self._recorded)
        elif path.startswith(BY_HAND):
            yield from (f"{BY_HAND}{example}" for example in EXAMPLES)
            yield f"{SESSION}{self._opening.session}"
        elif path.startswith(LEARN):
            yield from (link["address"] for link in links_below(LEARN))
            yield f"{SESSION}{self._opening.session}"

    def _shown(self, path: str) -> Iterator[File]:
        """Yields the page at a path, and what it requests."""
        opens = {"/": self._opening.session, "/serving": self._opening.workload}
        page = f"{SESSION}{opens[path]}" if path in opens else path
        yield self._pages.page(page, file_of(path))
        if page.startswith(SESSION):
            yield from self._pages.recorded(page.removeprefix(SESSION))
        elif path.startswith(BY_HAND):
            yield from self._pages.data(f"/api{path}")
        elif path.startswith(LEARN) and self._opening.run:
            yield from self._pages.run(self._opening.run)

    def _contents(self, entries: Sequence[Page]) -> Iterator[File]:
        """Yields the pages that list the lessons, for who unpacks the package."""
        return (self._pages.rendered("package.html", name, lessons=entries) for name in CONTENTS)

    def _absent(self, there: Container[str], lessons: Iterable[str]) -> Iterator[File]:
        """Yields a page that says so for each page of a site that the package does not have: links lead to some."""
        recorded = (f"{SESSION}{session}" for session in self._recorded)
        by_hand = (f"{BY_HAND}{example}" for example in EXAMPLES)
        for path in chain((page.address for page in pages()), by_hand, recorded, lessons):
            name = file_of(path)
            if name not in there:
                yield self._pages.rendered("absent.html", name)

    def _used(self, pages: Iterable[bytes]) -> Iterator[File]:
        """Yields the scripts and style sheets that the pages name."""
        text = b"".join(pages)
        return ((name, content) for name, content in self._assets.items() if name.encode() in text)


def _addresses(value: Any) -> Iterator[str]:
    """Yields every address in a lesson that the picture shows."""
    if isinstance(value, Mapping):
        yield from (value[name] for name in ADDRESSES if isinstance(value.get(name), str))
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _addresses(each)


def _without_links(value: Any) -> Any:
    """Returns a lesson whose links to other lessons are plain text."""
    if isinstance(value, Mapping):
        return {name: _without_links(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    return [
        each
        for node in value
        for each in (_without_links(node["children"]) if _is_link(node) else [_without_links(node)])
    ]


def _is_link(node: Any) -> bool:
    return isinstance(node, Mapping) and node.get("t") == "lesson"
