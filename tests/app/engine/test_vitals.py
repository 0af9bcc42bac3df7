"""Which processes count as hung: those that were stopped, and none that works without a word."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kvscope.app.engine.vitals import Vitals, at_work, processor_time

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process is only heard, not looked at")

SILENCE_S = 1.5
WORKS = "print('up', flush=True)\nwhile True: pass"
WAITS = "import threading\nprint('up', flush=True)\nthreading.Event().wait()"
# One call that never gives Python's lock back: no other thread of the process could say anything.
HOLDS_THE_LOCK = "print('up', flush=True)\nsum(range(10**15))"


@contextmanager
def process(code: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "up\n"
        try:
            yield running
        finally:
            running.kill()


def is_hung(running: subprocess.Popen[str], seconds: float = 4 * SILENCE_S) -> bool:
    """Whether it is found to hang within that time."""
    found = threading.Event()
    with closing(Vitals(running.pid, SILENCE_S, found.set)) as vitals:
        vitals.start()
        return found.wait(seconds)


@pytest.mark.parametrize("code", [WORKS, HOLDS_THE_LOCK])
def test_one_that_works_without_a_word_lives_until_it_is_stopped(code: str) -> None:
    with process(code) as running:
        assert at_work(running.pid)
        assert not is_hung(running)
        running.send_signal(signal.SIGSTOP)
        assert is_hung(running, 60)


def test_one_that_waits_without_a_word_hangs() -> None:
    with process(WAITS) as running:
        assert is_hung(running, 60)


def test_while_nobody_listens_nobody_hangs() -> None:
    found = threading.Event()
    with process(WAITS) as running:
        vitals = Vitals(running.pid, SILENCE_S, found.set)
        with vitals.not_listening():
            vitals.start()
            assert not found.wait(4 * SILENCE_S)
        vitals.heard()
        assert found.wait(60)
        vitals.close()


def test_of_a_process_that_is_gone_nothing_is_told() -> None:
    with process(WAITS) as running:
        running.kill()
        running.wait()
        assert processor_time(running.pid) is None
        assert not at_work(running.pid)
