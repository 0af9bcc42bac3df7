"""Rows of queued runs: in order, without those that were begun."""

import pytest

from kvscope.app.store.queued import QueuedRun, QueuedRuns
from kvscope.app.store.runs import RunLog
from tests.support.stored import run_of


def queued(run: str) -> QueuedRun:
    return QueuedRun(run, "start", "{}", "a client", "192.0.2.1", "a hash", study=False)


@pytest.fixture
def rows(log: RunLog) -> QueuedRuns:
    rows = QueuedRuns(log)
    for run in ("c", "a", "b"):
        rows.add(queued(run))
    return rows


def test_rows_are_left_in_the_order_in_which_they_came(rows: QueuedRuns) -> None:
    rows.remove("a")
    assert rows.left() == [queued("c"), queued("b")]


def test_a_run_that_has_a_log_is_queued_no_longer(rows: QueuedRuns, log: RunLog) -> None:
    """The process that began it ended before it removed the row."""
    log.append(run_of("a", 2))
    assert rows.left() == [queued("c"), queued("b")]
    log.delete(["a"])
    assert rows.left() == [queued("c"), queued("b")]
