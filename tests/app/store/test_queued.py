"""Rows of queued runs: in order, without those that were begun."""

from pathlib import Path

from kvscope.app.store.queued import QueuedRun, QueuedRuns
from kvscope.app.store.runs import RunLog
from tests.support.stored import run_of


def queued(run: str) -> QueuedRun:
    return QueuedRun(run, "start", "{}", "a client", "192.0.2.1", "a hash", study=False)


def test_rows_are_left_in_the_order_in_which_they_came(tmp_path: Path, database: str | None) -> None:
    with RunLog(tmp_path, database) as log:
        rows = QueuedRuns(log)
        for run in ("c", "a", "b"):
            rows.add(queued(run))
        rows.remove("a")
        assert rows.left() == [queued("c"), queued("b")]


def test_a_run_that_has_a_log_is_queued_no_longer(tmp_path: Path, database: str | None) -> None:
    """The process that began it ended before it removed the row."""
    with RunLog(tmp_path, database) as log:
        rows = QueuedRuns(log)
        for run in ("a", "b"):
            rows.add(queued(run))
        log.append(run_of("a", 2))
        assert rows.left() == [queued("b")]
        log.delete(["a"])
        assert rows.left() == [queued("b")]
