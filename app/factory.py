"""Puts the web process together."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from flask import Flask

from app import (
    compression,
    frame_compression,
    http_files,
    http_gallery,
    http_oembed,
    http_openapi,
    http_pages,
    http_runs,
    http_sessions,
    http_studies,
    problems,
    recordings,
    security,
)
from app.engine_link import EngineLink
from app.expiry import Expiry
from app.live import Live
from app.paths import static_dir, templates_dir
from app.run_log import RunLog
from app.run_request import MAX_BODY_BYTES
from app.sessions import SessionStore
from app.settings import Settings
from app.value_maker import ValueMaker


@dataclass(frozen=True, slots=True)
class Parts:
    """What an application is made of."""

    runs: RunLog
    sessions: SessionStore
    engine: EngineLink
    live: Live
    gallery: recordings.Gallery
    expiry: Expiry

    def start(self) -> None:
        """Start the engine process, save what the gallery shows, and forget runs that are due."""
        self.engine.start()
        self.gallery.start()
        self.expiry.start()

    def close(self) -> None:
        """End the engine, then give the log back. Runs that are open close as interrupted."""
        self.expiry.close()
        self.engine.close()
        self.gallery.close()
        self.live.close()
        self.runs.close()


def build(settings: Settings) -> Flask:
    """The application, its parts in `extensions["kvscope"]`, the engine not started. Raises database.StoreError."""
    runs = RunLog(settings.data_dir, settings.database_url)
    sessions = SessionStore(runs)
    engine = EngineLink(runs, settings, report)
    maker = ValueMaker(runs, engine, settings.data_dir, settings.max_value_bytes)
    live = Live(runs, settings.max_viewers)
    recorded = recordings.found(settings.recordings_dir)
    examples = recordings.load(recorded, runs)
    gallery = recordings.Gallery(recorded, sessions)
    expiry = Expiry(runs, sessions, [example.id for example in examples], live.watched, settings.keep_runs_days, report)
    app = Flask("app", static_folder=str(static_dir()), static_url_path="/static", template_folder=str(templates_dir()))
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.extensions["kvscope"] = Parts(runs, sessions, engine, live, gallery, expiry)
    problems.init_app(app)
    security.init_app(app, settings.frame_ancestors)
    compression.init_app(app)
    live.init_app(app)
    frame_compression.init_app(app)
    app.register_blueprint(http_runs.blueprint(runs, engine))
    app.register_blueprint(http_studies.blueprint(runs, engine))
    app.register_blueprint(http_sessions.blueprint(runs, sessions, engine, maker))
    app.register_blueprint(http_openapi.blueprint())
    app.register_blueprint(http_files.blueprint(sessions, engine, settings.data_dir))
    app.register_blueprint(http_oembed.blueprint(sessions))
    app.register_blueprint(http_pages.blueprint(runs, sessions, engine, live, examples))
    app.register_blueprint(http_gallery.blueprint(gallery))
    return app


def report(message: str) -> None:
    """One line for the operator."""
    print(f"kvscope: {message}", file=sys.stderr, flush=True)
