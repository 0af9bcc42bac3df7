"""Builds the Flask application and the other parts of the web process."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from flask import Flask

from kvscope.app.engine.pool import Pool
from kvscope.app.engine.questions import Questions
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.engine.values import ValueMaker
from kvscope.app.http import (
    access,
    browser_engine,
    by_hand,
    code,
    compare,
    compression,
    engines,
    files,
    forwarding,
    hosts,
    index,
    languages,
    learn_reference,
    lessons,
    memory,
    models,
    oembed,
    openapi,
    pages,
    problems,
    room_page,
    root,
    security,
    serving,
    state,
    studies,
    vocabulary,
    workloads,
)
from kvscope.app.http import gallery as gallery_page
from kvscope.app.http import rooms as room_routes
from kvscope.app.http import runs as run_routes
from kvscope.app.http import sessions as session_routes
from kvscope.app.http.limits import Limits, What
from kvscope.app.http.live import Live
from kvscope.app.http.produced import Produced
from kvscope.app.http.reads import Reads, Turns
from kvscope.app.http.requests import MAX_BODY_BYTES
from kvscope.app.http.visitors import Visitor
from kvscope.app.http.voters import Voters
from kvscope.app.learn.library import Library
from kvscope.app.paths import LESSONS, STATIC, TEMPLATES
from kvscope.app.settings import Settings
from kvscope.app.store import gallery as recordings
from kvscope.app.store.budget import Budget
from kvscope.app.store.clock import Clock
from kvscope.app.store.cluster.member import Member, new_name
from kvscope.app.store.database import WORKING
from kvscope.app.store.expiry import Expiry
from kvscope.app.store.queued import QueuedRuns
from kvscope.app.store.rooms import Rooms
from kvscope.app.store.rounds import Rounds
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore

if TYPE_CHECKING:
    from kvscope.app.store.postgresql import Hold

log = logging.getLogger(__name__)

MOST_PRODUCED_BYTES = 64 * 1024 * 1024
"""Memory for pictures and pages of sessions."""
OLD_ROOMS_S = 300.0
PRESENCE_S = 1.0
"""How often the database's file is checked."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an application."""

    runs: RunLog
    sessions: SessionStore
    engine: Pool
    scheduler: RunScheduler
    live: Live
    gallery: recordings.Gallery
    recorded: list[recordings.Recording]
    expiry: Expiry
    budget: Budget
    presence: Rounds
    """Reports when the database's file is lost, also if nobody uses it."""
    old_rooms: Rounds
    """Deletes the rooms whose time is over."""
    hold: Hold | None
    limits: Limits
    member: Member | None
    """None unless several web processes share the database."""

    def start(self) -> None:
        """Serves viewers, and leads: at once, or in a cluster when no other process leads."""
        self.presence.start()
        self.live.start()
        if self.hold is not None:
            self.hold.start()
        if self.member is None:
            self._lead()
        else:
            self.member.start(self._take_over)

    def _take_over(self) -> None:
        """Begins to lead in place of another process. Raises StoreError."""
        recordings.load(self.recorded, self.runs)
        self.scheduler.restore(lambda requester: partial(self.limits.charge, Visitor(*requester)))
        self._lead()

    def _lead(self) -> None:
        """Starts the engines, saves the sessions of the gallery, and deletes runs that are due."""
        self.engine.start()
        self.scheduler.open()
        self.gallery.start()
        self.expiry.start()
        self.old_rooms.start()
        self.budget.start()

    def close(self) -> None:
        """Ends the engines, then closes the log. Open runs close as interrupted."""
        if self.member is not None:
            self.member.retire()
        self.presence.close()
        if self.member is None or self.member.leads:
            self.old_rooms.close()
            self.expiry.close()
            self.budget.close()
            self.scheduler.close()
            self.engine.close()
            self.gallery.close()
        self.live.close()
        if self.hold is not None:
            self.hold.close()
        if self.member is not None:
            self.member.close()
        self.runs.close()


def build(settings: Settings, *, engines_of: Callable[..., Pool] = Pool, alone: bool = True) -> Flask:
    """Returns the application with its parts in `extensions["kvscope"]`, engines not started. Raises StoreError.

    `engines_of`: creates the engines, as Pool does; `alone`: as in RunLog, if there is no cluster.
    """
    name = new_name() if settings.cluster else None
    runs = RunLog(settings.data_dir, settings.database_url, alone=alone and not settings.cluster, process=name)
    sessions = SessionStore(runs)
    engine = engines_of(runs, settings, report)
    maker = ValueMaker(runs, sessions, engine, settings.data_dir, settings.max_value_bytes)
    rooms = Rooms(runs)
    limits = _limits(settings)
    live = Live(runs, rooms, limits, settings.max_viewers, settings.max_viewers_per_address)
    member = _member(runs, name, live, settings) if name is not None else None
    watched = live.watched if member is None else lambda: live.watched() | member.following().watched
    recorded = recordings.recordings_in(settings.recordings_dir)
    examples = recordings.load(recorded, runs, store=member is None)
    gallery = recordings.Gallery(recorded, sessions)
    shipped = examples.ids
    library = Library(LESSONS / "en", recorded, settings.more_lessons_dir)
    clock = Clock(settings.data_dir)
    expiry = Expiry(runs, sessions, shipped, watched, settings.keep_runs_days, report, clock)
    budget = Budget(runs, sessions, shipped, watched, settings.max_disk_bytes, report)
    scheduler = RunScheduler(runs, engine, budget, settings, None if member is None else QueuedRuns(runs))
    presence = Rounds("presence", runs.check, PRESENCE_S, report)
    turns = Turns()
    reads = Reads(Questions(engine, engine.info_of, settings.data_dir / "answers"), limits, turns)
    produced = Produced(MOST_PRODUCED_BYTES)
    app = Flask("app", static_folder=str(STATIC), static_url_path="/static", template_folder=str(TEMPLATES))
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.extensions["kvscope"] = Parts(
        *(runs, sessions, engine, scheduler, live, gallery, recorded, expiry, budget, presence),
        Rounds("old rooms", rooms.end_old, OLD_ROOMS_S, report),
        None if settings.cluster else _hold(runs),
        limits,
        member,
    )
    turns.init_app(app)
    problems.init_app(app)
    root.init_app(app)
    languages.init_app(app)
    security.init_app(app, settings.frame_ancestors)
    access.init_app(app, settings.token)
    compression.init_app(app)
    live.init_app(app)
    if member is not None:
        forwarding.init_app(app, member)
    is_peer = None if member is None else partial(forwarding.is_leads_secret, member)
    hosts.init_app(app, (settings.host, *settings.allowed_hosts), settings.proxies, is_peer)
    security.everywhere(app)
    app.register_blueprint(run_routes.blueprint(runs, engine, reads, scheduler, limits))
    app.register_blueprint(studies.blueprint(runs, engine, scheduler, limits, shipped))
    app.register_blueprint(session_routes.blueprint(runs, sessions, budget, engine, reads, maker, limits, produced))
    app.register_blueprint(openapi.blueprint())
    app.register_blueprint(files.blueprint(sessions, budget, engine, settings.data_dir, limits, produced))
    app.register_blueprint(oembed.blueprint(sessions))
    app.register_blueprint(
        pages.blueprint(
            *(runs, sessions, budget, engine, scheduler, live, examples.runs, gallery.ids, settings.keep_runs_days),
            member,
        )
    )
    app.register_blueprint(models.blueprint(engine, limits))
    app.register_blueprint(engines.blueprint(engine, scheduler, settings.token is not None))
    app.register_blueprint(gallery_page.blueprint(gallery))
    app.register_blueprint(compare.blueprint(recorded, examples.ids))
    app.register_blueprint(by_hand.blueprint(reads, recorded))
    app.register_blueprint(index.blueprint(recorded, library))
    app.register_blueprint(code.blueprint())
    app.register_blueprint(memory.blueprint(engine, limits, recorded))
    app.register_blueprint(lessons.blueprint(library, runs, sessions, reads, limits))
    app.register_blueprint(serving.blueprint(next(iter(examples.workloads), None)))
    app.register_blueprint(room_routes.blueprint(rooms, limits, Voters(settings.max_viewers_per_address)))
    app.register_blueprint(room_page.blueprint())
    app.register_blueprint(workloads.blueprint(runs, engine, scheduler, limits))
    app.register_blueprint(learn_reference.blueprint(recorded, examples))
    app.register_blueprint(state.blueprint(runs, sessions, budget, engine, scheduler, live, reads))
    app.register_blueprint(vocabulary.blueprint(engine, reads))
    app.register_blueprint(browser_engine.blueprint(settings, engine, reads))
    access.declared(app.view_functions)  # undeclared views are not served
    return app


def _hold(runs: RunLog) -> Hold | None:
    """Returns the lock of a PostgreSQL; None for an SQLite file, which is locked with its folder."""
    if runs.engine.dialect.name != "postgresql":
        return None
    from kvscope.app.store.postgresql import Hold

    return Hold(runs.engine, WORKING, report)


def _member(runs: RunLog, name: str, live: Live, settings: Settings) -> Member:
    assert settings.advertise is not None
    return Member(runs, name, settings.advertise, live.watched, lambda: live.viewers, _end, report)


def _end(why: str) -> None:
    """Ends this process at once; its parent starts another. Data in its memory must not be stored or sent."""
    report(why)
    sys.stderr.flush()
    os._exit(0)


def _limits(settings: Settings) -> Limits:
    per_minute: dict[What, int] = {
        "runs": settings.runs_per_minute,
        "shares": settings.shares_per_minute,
        "imports": settings.imports_per_minute,
        "reads": settings.reads_per_minute,
        "bytes": settings.bytes_per_minute,
    }
    return Limits(per_minute, settings.clients_per_address)


def report(message: str) -> None:
    """Logs one line for the operator."""
    log.warning(message)
