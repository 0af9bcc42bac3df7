"""The states of a run, and the one table of how a run goes from state to state.

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

A run ends in FAILED, LEFT or ENDED. `end` leads to ENDED from RUNNING, PAUSED, STOPPING, EVICTED and REQUEUED. The run
scheduler is the only one that applies the table (`RunScheduler._apply`). A trigger that the table does not list for a
state changes nothing: it reports something that happened before the run came into that state.
"""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """What a run is doing. A name ends with the part of the server that has the run."""

    QUEUED = auto()
    """It has no log yet, and waits for a place."""
    STARTING = auto()
    """It has a place, and an engine opens its log."""
    RUNNING = auto()
    """An engine computes it."""
    PAUSED = auto()
    """An engine has it and does not compute it."""
    STOPPING = auto()
    """The engine was told to stop it; its place is free, its log not closed yet. Only a study."""
    EVICTED = auto()
    """No engine has it. Its log is open, so it can resume."""
    REQUEUED = auto()
    """It was evicted, and waits for a place to resume."""
    READMITTING = auto()
    """It has a place again, and an engine computes it up to where it was."""
    ENDED = auto()
    """Its log is closed."""
    FAILED = auto()
    """It could not start, and has no log."""
    LEFT = auto()
    """It was removed from the queue."""


class Trigger(Enum):
    """What happens to a run."""

    PLACE = auto()
    """The scheduler gives it a place."""
    OPEN = auto()
    """An engine has it, and its log is open."""
    NO_ROOM = auto()
    """The engines or the disk have no room for it until another run ends."""
    FAIL = auto()
    """It cannot start or be readmitted."""
    PAUSE = auto()
    """The engine reports that it is paused."""
    RESUME = auto()
    """The engine reports that it runs."""
    STOP = auto()
    """The engine was told to stop it, because another run needs its place."""
    EVICT = auto()
    """The engine has dropped it."""
    QUEUE = auto()
    """A visitor wants it to resume."""
    LEAVE = auto()
    """Nobody waits for it any more."""
    END = auto()
    """Its log was closed."""


class Action(Enum):
    """What the scheduler does as a run goes from one state to the next."""

    NOTHING = auto()
    TAKE_PLACE = auto()
    """Remember since when it has a place."""
    RELEASE = auto()
    """Give back the bytes that were reserved for its log."""
    RELEASE_REST = auto()
    """Remember how many of those bytes it has not used, give them back, and let other runs try again."""
    JOIN_QUEUE = auto()
    """Put it behind the runs that are queued."""
    FORGET_ROW = auto()
    """Delete the row that would queue it again in the next process."""
    FAIL = auto()
    """As RELEASE and FORGET_ROW, and keep why it failed for whoever requests its status."""
    LET_OTHERS_TRY = auto()
    """Let runs that had no room try again."""
    FINISH = auto()
    """As RELEASE and LET_OTHERS_TRY, and charge its requester for the bytes of its log."""


S, T, A = State, Trigger, Action
TRANSITIONS: dict[tuple[State, Trigger], tuple[State, Action]] = {
    (S.QUEUED, T.PLACE): (S.STARTING, A.TAKE_PLACE),
    (S.QUEUED, T.LEAVE): (S.LEFT, A.FORGET_ROW),
    (S.STARTING, T.OPEN): (S.RUNNING, A.FORGET_ROW),
    (S.STARTING, T.NO_ROOM): (S.QUEUED, A.RELEASE),
    (S.STARTING, T.FAIL): (S.FAILED, A.FAIL),
    (S.RUNNING, T.PAUSE): (S.PAUSED, A.NOTHING),
    (S.RUNNING, T.END): (S.ENDED, A.FINISH),
    (S.PAUSED, T.PAUSE): (S.PAUSED, A.NOTHING),  # paused anew: it was stepped, or could not be evicted
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
"""State and trigger → next state and what the scheduler does. STARTING and READMITTING have no END: a run whose log is
closed meanwhile ends after OPEN."""

FIRST = State.QUEUED
TERMINAL = frozenset({State.ENDED, State.FAILED, State.LEFT})
IN_QUEUE = frozenset({State.QUEUED, State.REQUEUED})
BEGINNING = frozenset({State.STARTING, State.READMITTING})
"""The run is no longer queued, and cannot be read or controlled yet."""
PLACED = BEGINNING | {State.RUNNING, State.PAUSED}
"""The run has one of the places."""
