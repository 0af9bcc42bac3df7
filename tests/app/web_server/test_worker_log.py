"""The log says what happened, and does not guess."""

import logging

import pytest
from gunicorn import arbiter
from gunicorn.config import Config

from kvscope.app.web_server.worker_log import GUESS, WorkerLog


def test_a_killed_process_is_not_blamed_on_memory(caplog: pytest.LogCaptureFixture) -> None:
    log = WorkerLog(Config())
    log.error_log.propagate = True
    with caplog.at_level(logging.ERROR, "gunicorn.error"):
        log.error(f"Worker (pid:%s) was sent %s!{GUESS}", 7, "SIGKILL")
    assert caplog.messages == ["Worker (pid:7) was sent SIGKILL!"]


def test_the_guess_is_the_one_that_the_library_makes() -> None:
    with open(arbiter.__file__, encoding="utf-8") as source:
        assert GUESS in source.read()
