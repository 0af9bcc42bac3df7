"""What is measured beside a run: a first visit with Chromium, and storing in PostgreSQL."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import psutil
import sqlalchemy as sa
from playwright.sync_api import sync_playwright

from kvscope.app.engine.storing import PART_BYTES
from kvscope.app.store.runs import RunLog
from kvscope.model.log.frames import relabel
from tests.support.postgres import made_database, started_cluster
from tools.bench.capacity.served import Served
from tools.bench.serving_page import launched

VISITS, RUNS, IDLE_MS = 3, 30, 4000


def page(served: Served) -> dict[str, float]:
    """Processor time of the web process and bytes of answers, for a visit with an empty cache."""
    sizes: list[int] = []

    with sync_playwright() as playwright, closing(launched(playwright)) as chromium:
        before = served.web_s()
        for _ in range(VISITS):
            context = chromium.new_context(extra_http_headers={"X-Forwarded-For": "203.0.113.9"})
            tab = context.new_page()
            tab.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
            tab.goto(served.url)
            tab.wait_for_timeout(IDLE_MS)
            context.close()
        spent = served.web_s() - before
    return {"page_ms": 1000 * spent / VISITS, "page_bytes": sum(sizes) / VISITS}


def database(log: Sequence[bytes]) -> dict[str, float]:
    """What PostgreSQL grows by and writes for each byte of such a log, and its processor time for a MB."""
    with started_cluster() as cluster, made_database(cluster.url) as url, tempfile.TemporaryDirectory() as folder:
        runs = RunLog(Path(folder), url)
        with closing(runs):
            before = _sizes(runs.engine)
            size, began_s = 0, _backends_s(runs.engine)
            for number in range(RUNS):
                some, held = [], 0
                for seq, payload in enumerate(log):
                    some.append(relabel(payload, f"run-{number:012}", seq))
                    held += len(payload)
                    if held > PART_BYTES or some[-1].kind in ("step", "close"):
                        runs.append(some)
                        size, held, some = size + held, 0, []
            took_s = _backends_s(runs.engine) - began_s
            grown, wal = (after - at for after, at in zip(_sizes(runs.engine), before, strict=True))
    return {"stored": grown / size, "wal": wal / size, "mb_ms": 1e9 * took_s / size}


def _sizes(engine: sa.Engine) -> tuple[int, int]:
    """Bytes of the database, and of all that was ever written to its log."""
    with engine.connect() as connection:
        connection.commit()
        size = connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one()
        wal = connection.execute(sa.text("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")).scalar_one()
    return int(size), int(wal)


def _backends_s(engine: sa.Engine) -> float:
    """Processor time that the processes of the database's sessions have taken."""
    with engine.connect() as connection:
        pids = connection.execute(sa.text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()"))
        times = [psutil.Process(pid).cpu_times() for pid in pids.scalars()]
    return float(sum(each.user + each.system for each in times))
