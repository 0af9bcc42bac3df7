"""`kvscope site DIR`: requests every page and answer of a site from the application, and writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from flask import Flask

from kvscope.app.engine.calls import EngineUnavailable
from kvscope.app.engine.pool import Pool
from kvscope.app.factory import Parts, build
from kvscope.app.http.site import Assets, Site, file_of
from kvscope.app.page_table import pages
from kvscope.app.settings import Settings
from kvscope.app.site.assets import HASH_CHARS, build_assets, version_of
from kvscope.app.site.engine import SiteEngine, site_engine
from kvscope.app.site.folder import CannotWrite, SiteFolder
from kvscope.app.site.pages import File, SitePages
from kvscope.app.store.errors import Damaged
from kvscope.app.store.gallery import Recording, recordings_in
from kvscope.model.by_hand.examples import EXAMPLES

ASSETS, PAGES, ENGINE = "assets", "pages", "engine"
"""Parts of the site besides its sessions."""
REMEDY = {
    False: "It is left out. Restore it from a backup, or delete it: kvscope sessions delete {session}",
    True: "Its earlier files stay. Restore it from a backup, or delete it: kvscope sessions delete {session}",
}
"""What to do about a damaged session; the key says whether the site has files of it."""
REPORTED_EVERY = 20
INSTALL = "install.html"


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a build. `damaged`: messages about sessions that were left out or left as they were."""

    sessions: int
    written: int
    files: int
    damaged: Sequence[str]


@dataclass(frozen=True, slots=True)
class Options:
    """What to write. `server`, `address`: as in Site. `sessions`: ids to write besides the recordings; none: all saved
    sessions. `engine`: whether visitors can run a model in their browsers; `model`: which, as `--model` names it.
    """

    server: str = ""
    address: str = ""
    sessions: Sequence[str] = ()
    engine: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """What the Stage and Serving open with: ids of recorded sessions, and of the first one's run in the log."""

    session: str | None
    workload: str | None
    run: str | None


class NoEngines(Pool):
    """Computes the worked examples, which need no model's weights, and nothing else. It is never started."""

    def call(self, method: str, *arguments: Any, **how: Any) -> Any:
        """Answers `by_hand`. Raises EngineUnavailable for any other method."""
        if method != "by_hand":
            raise EngineUnavailable("A static site has no model.")
        # Imported by its name, as the engine's service is: what serves pages knows no tensors.
        derivation = import_module("kvscope.model.by_hand.derivation")
        return derivation.derive(*arguments).as_json()


def build_site(settings: Settings, out: Path, options: Options, report: Callable[[str], None]) -> Built:
    """Writes the site. `report` receives lines about the progress. Raises CannotWrite, StoreError, and
    Refused("model") if the model of an engine is not available or cannot run in a browser.
    """
    folder = SiteFolder(out)
    engine = site_engine(options.model, report) if options.engine else None
    host = urlsplit(options.address).hostname or "localhost"
    app = build(replace(settings, token=None, allowed_hosts=(host,)), engines_of=NoEngines, alone=False)
    parts: Parts = app.extensions["kvscope"]
    version = version_of(settings.recordings_dir, settings.more_lessons_dir)
    try:
        opening = opening_of(recordings_in(settings.recordings_dir))
        return _Build(app, folder, options, version, engine).run(opening, report)
    finally:
        parts.runs.close()


class _Build:
    """One build of a site into a folder."""

    def __init__(
        self, app: Flask, folder: SiteFolder, options: Options, version: str, engine: SiteEngine | None
    ) -> None:
        parts: Parts = app.extensions["kvscope"]
        self._app, self._sessions, self._gallery, self._engine = app, parts.sessions, parts.gallery, engine
        self._folder, self._options, self._version = folder, options, version
        self._listed: list[dict[str, Any]] = []

    def run(self, opening: Opening, report: Callable[[str], None]) -> Built:
        """Writes what changed and removes what is no longer part of the site. Raises CannotWrite, StoreError."""
        shipped = [card.id for card in self._gallery.cards()]
        self._listed = self._chosen(shipped)
        ids = [*shipped, *(session["id"] for session in self._listed)]
        stamp = _stamp(self._version, self._options.server, self._options.address, self._worker)
        damaged, left_out, written = [], set[str](), 0
        for number, session in enumerate(ids, 1):
            unit = f"session {session}"
            if not self._folder.is_written(unit, stamp):
                try:
                    self._folder.write(unit, stamp, dict(self._files.session(session)))
                    written += 1
                except Damaged as error:
                    stays = self._folder.keep(unit)
                    damaged.append(f"{error} {REMEDY[stays].format(session=session)}")
                    if not stays:
                        left_out.add(session)
            if number % REPORTED_EVERY == 0 or number == len(ids):
                report(f"{number} of {len(ids)} sessions")
        self._listed = [session for session in self._listed if session["id"] not in left_out]
        shown = [session for session in ids if session not in left_out]
        stamp = _stamp(stamp, shown)
        if not self._folder.is_written(PAGES, stamp):
            self._folder.write(PAGES, stamp, dict(self._pages(opening, shown)))
        if not self._folder.is_written(ASSETS, self._version):
            self._folder.write(ASSETS, self._version, self._assets[1])
        if self._engine and not self._folder.is_written(ENGINE, self._engine.stamp):
            self._folder.write(ENGINE, self._engine.stamp, self._engine.files)
        return Built(len(shown), written, self._folder.finish(), damaged)

    def _chosen(self, shipped: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the saved sessions to write that are not recordings. Raises CannotWrite for an unknown id."""
        saved = [session for session in self._sessions.listed() if session["id"] not in shipped]
        names = set(self._options.sessions)
        if missing := names - {session["id"] for session in saved} - set(shipped):
            raise CannotWrite(f"There is no session {min(missing)!r}. `kvscope sessions list` lists all.")
        return [session for session in saved if not names or session["id"] in names]

    @property
    def _worker(self) -> str:
        return self._engine.worker if self._engine else ""

    @cached_property
    def _assets(self) -> tuple[Mapping[str, Assets], Mapping[str, bytes]]:
        return build_assets()

    @cached_property
    def _files(self) -> SitePages:
        address, server = self._options.address, self._options.server
        return SitePages(
            self._app, Site("", address, server, self._version, self._assets[0], self._listed, self._worker)
        )

    def _pages(self, opening: Opening, shown: Sequence[str]) -> Iterator[File]:
        """Yields the files of the other pages, and of the answers that they request."""
        files = self._files
        files.site = replace(files.site, sessions=self._listed)
        lessons = [lesson["id"] for lesson in files.json("/api/lessons")["lessons"]]
        first = opening.session if opening.session in shown else next(iter(shown), None)
        yield files.page(f"/s/{first}" if first else "/gallery", "index.html")
        workload = opening.workload if opening.workload in shown else None
        for under in ("", "/embed"):
            framed = f"/embed/{workload}" if under else f"/s/{workload}"
            yield files.page(framed if workload else f"{under}/serving", file_of(f"{under}/serving"))
        others = [page for page in pages() if not page.server and page.id not in ("stage", "serving", "by-hand")]
        alone = [page.address for page in others]
        both = ["/memory", *(f"/by-hand/{name}" for name in EXAMPLES), *(f"/learn/{name}" for name in lessons)]
        for path in dict.fromkeys([*alone, *both, *(f"/embed{name}" for name in both)]):
            yield files.page(path)
        yield files.rendered(INSTALL)
        answers = ["index", "code", "lessons", *(f"lessons/{name}" for name in lessons)]
        if self._engine:
            answers += [f"lessons/{name}/template" for name in lessons]
        yield from files.data(*(f"/api/{name}" for name in [*answers, *(f"by-hand/{name}" for name in EXAMPLES)]))
        yield files.glossary()
        if opening.run:
            yield from files.run(opening.run)


def opening_of(recorded: Sequence[Recording]) -> Opening:
    """Returns what the pages without a session open with."""
    starting = [recording for recording in recorded if recording.example and recording.card]
    run = next((recording for recording in starting if not recording.workload), None)
    workload = next((recording for recording in starting if recording.workload), None)
    return Opening(
        run.card.id if run and run.card else None,
        workload.card.id if workload and workload.card else None,
        run.example.id if run and run.example else None,
    )


def _stamp(*made_of: Any) -> str:
    return sha256(json.dumps(made_of).encode()).hexdigest()[:HASH_CHARS]
