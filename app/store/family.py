"""The runs that branches and studies connect, each with what is told of it: three queries, however many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kvscope.app.store.run_tables import frames_table, links_table, runs_table, steps_of, steps_table
from kvscope.model.log import frames as codec


@dataclass(frozen=True, slots=True)
class Member:
    """One run: the data of its `open` and `close` frames, None while it is open, and how many complete steps it has.

    `token` is what a branch was given where it began, {id, text, …} as its own log has it; None for other runs.
    """

    run: str
    opening: dict[str, Any]
    closing: dict[str, Any] | None
    steps: int
    token: dict[str, Any] | None


def members(connection: sa.Connection, run: str) -> list[Member]:
    """The family of a stored run: first the one that comes from none of them, then the others, oldest first."""
    rows = connection.execute(_from(_root(connection, run))).all()
    openings = {row.run: codec.header(row.opening).data for row in rows}
    tokens = _tokens(connection, openings)
    return [
        Member(
            row.run,
            openings[row.run],
            codec.header(row.closing).data if row.closing is not None else None,
            row.steps,
            tokens.get(row.run),
        )
        for row in rows
    ]


def _root(connection: sa.Connection, run: str) -> str:
    """The first ancestor of `run` that is stored here, `run` where it has none."""
    known = sa.select(links_table.c.run, links_table.c.origin)
    known = known.join(runs_table, runs_table.c.run == links_table.c.origin)
    above = known.where(links_table.c.run == run).cte(recursive=True)
    above = above.union(known.join(above, links_table.c.run == above.c.origin))
    origins = {row.run: row.origin for row in connection.execute(sa.select(above))}
    while run in origins:  # each is left once, so that runs that name each other end no search
        run = origins.pop(run)
    return run


def _from(root: str) -> sa.Select[Any]:
    """The root and all that came from it, with what their first and last frames are."""
    known = sa.select(links_table.c.run)
    below = known.where(links_table.c.origin == root).cte(recursive=True)
    below = below.union(known.join(below, links_table.c.origin == below.c.run))
    first, last = frames_table.alias(), frames_table.alias()
    run = runs_table.c.run
    return (
        sa.select(run, first.c.payload.label("opening"), last.c.payload.label("closing"), steps_of(run).label("steps"))
        .join(first, sa.and_(first.c.run == run, first.c.seq == 0))
        .join(last, sa.and_(last.c.run == run, last.c.seq == runs_table.c.last_seq, runs_table.c.closed), isouter=True)
        .join(links_table, links_table.c.run == run, isouter=True)
        .where(sa.or_(run == root, run.in_(sa.select(below.c.run))))
        .order_by(run != root, links_table.c.number)
    )


def _tokens(connection: sa.Connection, openings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each branch the token that it was given, of the step in whose place it begins."""
    steps = [
        (run, opening["parent"]["position"] - len(opening["tokens"]))
        for run, opening in openings.items()
        if opening.get("parent")
    ]
    if not steps:
        return {}
    query = sa.select(frames_table.c.run, frames_table.c.payload).join(
        steps_table, sa.and_(steps_table.c.run == frames_table.c.run, steps_table.c.seq == frames_table.c.seq)
    )
    rows = connection.execute(query.where(sa.tuple_(steps_table.c.run, steps_table.c.step).in_(steps)))
    return {row.run: codec.header(row.payload).data["token"] for row in rows}
