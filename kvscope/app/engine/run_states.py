"""The states of a run, and the table of its transitions.

    QUEUED ────place────▶ STARTING ───open───▶ RUNNING ◀───────────┐
      │ ▲                  │   │               │     ▲             │
      │ └─────no room──────┘  fail          pause   resume         │
    leave                      ▼               ▼     │             │
      ▼                      FAILED          PAUSED ─┘─stop▶ STOPPING
     LEFT                                      │                   │
                                             evict               open
                                               ▼                   │
              ┌────────leave, fail────────▶ EVICTED                │
              │                                │ queue             │
              │                                ▼                   │
              ├─────────────────────────── REQUEUED                │
              │                              │   ▲                 │
              │                            place no room           │
              │                              ▼   │                 │
              └─────────────────────────── READMITTING ────────────┘

A run ends in FAILED, LEFT or ENDED. `end` leads to ENDED from RUNNING, PAUSED, STOPPING, EVICTED and REQUEUED. Only
`RunScheduler._apply` applies the table. A trigger that the table does not list for a state changes nothing: it reports
something that happened before the run entered that state.
"""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """The state of a run."""

    QUEUED = auto()
    """The run has no log yet, and waits for a place."""
    STARTING = auto()
    """The run has a place, and an engine opens its log."""
    RUNNING = auto()
    """An engine computes the run."""
    PAUSED = auto()
    """An engine has the run and does not compute it."""
    STOPPING = auto()
    """The engine was asked to stop the run, a study; its place is free, its log not closed yet."""
    EVICTED = auto()
    """No engine has the run. Its log is open, so it can resume."""
    REQUEUED = auto()
    """The run was evicted, and waits for a place to resume."""
    READMITTING = auto()
    """The run has a place again, and an engine computes its earlier tokens again."""
    ENDED = auto()
    """The log of the run is closed."""
    FAILED = auto()
    """The run could not start, and has no log."""
    LEFT = auto()
    """The run was removed from the queue."""


class Trigger(Enum):
    """What happens to a run."""

    PLACE = auto()
    """The scheduler gives the run a place."""
    OPEN = auto()
    """An engine has the run, and its log is open."""
    NO_ROOM = auto()
    """The engines or the disk have no room for the run until another run ends."""
    FAIL = auto()
    """The run cannot start or be readmitted."""
    PAUSE = auto()
    """The engine reports that the run is paused."""
    RESUME = auto()
    """The engine reports that it computes the run."""
    STOP = auto()
    """The engine was asked to stop the run, because another run needs its place."""
    EVICT = auto()
    """The engine has dropped the run."""
    QUEUE = auto()
    """A visitor wants the run to resume."""
    LEAVE = auto()
    """Nobody waits for the run any more."""
    END = auto()
    """The log of the run was closed."""


class Action(Enum):
    """What the scheduler does in a transition."""

    NOTHING = auto()
    TAKE_PLACE = auto()
    """Remember when the run got its place."""
    RELEASE = auto()
    """Release the bytes that were reserved for the run's log."""
    RELEASE_REST = auto()
    """Remember how many of those bytes the run has not used, release them, and let other runs try again."""
    JOIN_QUEUE = auto()
    """Put the run at the end of the queue."""
    FORGET_ROW = auto()
    """Delete the row that would queue the run again in the next process."""
    FAIL = auto()
    """As RELEASE and FORGET_ROW, and store the error for status requests."""
    LET_OTHERS_TRY = auto()
    """Let runs that had no room try again."""
    FINISH = auto()
    """As RELEASE and LET_OTHERS_TRY, and charge the requester for the bytes of the log."""


S, T, A = State, Trigger, Action
TRANSITIONS: dict[tuple[State, Trigger], tuple[State, Action]] = {
    (S.QUEUED, T.PLACE): (S.STARTING, A.TAKE_PLACE),
    (S.QUEUED, T.LEAVE): (S.LEFT, A.FORGET_ROW),
    (S.STARTING, T.OPEN): (S.RUNNING, A.FORGET_ROW),
    (S.STARTING, T.NO_ROOM): (S.QUEUED, A.RELEASE),
    (S.STARTING, T.FAIL): (S.FAILED, A.FAIL),
    (S.RUNNING, T.PAUSE): (S.PAUSED, A.NOTHING),
    (S.RUNNING, T.END): (S.ENDED, A.FINISH),
    (S.PAUSED, T.PAUSE): (S.PAUSED, A.NOTHING),  # paused again after a step, or a failed eviction
    (S.PAUSED, T.RESUME): (S.RUNNING, A.NOTHING),
    (S.PAUSED, T.EVICT): (S.EVICTED, A.RELEASE_REST),
    (S.PAUSED, T.STOP): (S.STOPPING, A.LET_OTHERS_TRY),
    (S.PAUSED, T.END): (S.ENDED, A.FINISH),
    (S.STOPPING, T.END): (S.ENDED, A.FINISH),
    (S.EVICTED, T.QUEUE): (S.REQUEUED, A.JOIN_QUEUE),
    (S.EVICTED, T.END): (S.ENDED, A.FINISH),
    (S.REQUEUED, T.PLACE): (S.READMITTING, A.TAKE_PLACE),
    (S.REQUEUED, T.LEAVE): (S.EVICTED, A.NOTHING),
    (S.REQUEUED, T.END): (S.ENDED, A.FINISH),
    (S.READMITTING, T.OPEN): (S.RUNNING, A.NOTHING),
    (S.READMITTING, T.NO_ROOM): (S.REQUEUED, A.RELEASE),
    (S.READMITTING, T.FAIL): (S.EVICTED, A.RELEASE),
}
"""State and trigger → next state and action. STARTING and READMITTING have no END: if the log is closed meanwhile, the
run ends after OPEN."""

FIRST = State.QUEUED
TERMINAL = frozenset({State.ENDED, State.FAILED, State.LEFT})
IN_QUEUE = frozenset({State.QUEUED, State.REQUEUED})
BEGINNING = frozenset({State.STARTING, State.READMITTING})
"""The run has left the queue, and cannot be read or controlled yet."""
PLACED = BEGINNING | {State.RUNNING, State.PAUSED}
"""The run has a place."""
