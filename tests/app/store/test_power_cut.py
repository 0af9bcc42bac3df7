"""What a power cut may cost: the last moments of runs, and nothing that was shared or deleted.

What of the files a cut leaves, only a cut can show. Tried here is what follows of it: whatever end of SQLite's log of
changes is missing or torn, the database opens and every log in it is whole up to some frame; and that what is to last
is committed with a sync.
"""

import random
import shutil
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kvscope.app.store.database import FILE
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.model.log.frames import header
from tests.support.stored import WORDS, log_of, run_of

FULL, NORMAL = 2, 1


def test_whatever_of_the_end_is_missing_logs_are_whole_up_to_some_frame(tmp_path: Path) -> None:
    live, chance = tmp_path / "live", random.Random(1)
    live.mkdir()
    frames, lengths = log_of("a", 20), set[int]()
    with RunLog(live) as log:
        with log.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        for frame in frames:
            log.append([frame])
        size = (live / f"{FILE}-wal").stat().st_size
        for number in range(40):
            cut = tmp_path / f"cut{number}"
            shutil.copytree(live, cut)
            with (cut / f"{FILE}-wal").open("r+b") as file:
                kept = chance.randrange(size + 1)
                file.truncate(kept)
                if number % 2:  # the last block that was on its way is something else
                    file.seek(max(0, kept - 512))
                    file.write(chance.randbytes(512))
            with RunLog(cut) as left:
                found = list(left.all_frames("a"))
                if found:  # closed by this start, like any log that a server left open
                    assert header(found.pop()).data["reason"] == "interrupted"
                assert found == [frame.payload for frame in frames[: len(found)]]
                lengths.add(len(found))
                with left.engine.connect() as connection:
                    assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
            shutil.rmtree(cut)
    assert len(lengths) > 5


def levels(log: RunLog) -> list[tuple[str, int]]:
    """From now on: each table that is written to, and how its transaction is synced."""
    seen = list[tuple[str, int]]()

    def note(connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        driver = connection.connection.driver_connection
        words = statement.replace('"', "").split()
        if words[0] in ("INSERT", "DELETE", "UPDATE"):
            seen.append((words[1 + (words[0] != "UPDATE")], driver.execute("PRAGMA synchronous").fetchone()[0]))

    sa.event.listen(log.engine, "before_cursor_execute", note)
    return seen


def test_what_is_shared_or_deleted_is_synced_and_a_runs_frames_are_not(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:
        store, seen = SessionStore(log), levels(log)
        log.append(run_of("a", 2))
        assert set(seen) == {("runs", NORMAL), ("frames", NORMAL), ("steps", NORMAL)}
        seen.clear()
        session, token = store.share("a", WORDS)
        store.withdraw(session, token)
        log.delete(["a"])
        assert {level for _, level in seen} == {FULL}
        seen.clear()
        log.append(run_of("b", 2))
        assert {level for _, level in seen} == {NORMAL}
