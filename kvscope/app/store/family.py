"""Reads the family of a run: the runs that branches and studies connect. Three queries, for any number of runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kvscope.app.store.run_tables import frames_table, links_table, runs_table, steps_of, steps_table
from kvscope.model.log import frames as codec


@dataclass(frozen=True, slots=True)
class Member:
    """One run: the data of its `open` and `close` frames, None while it is open, and its number of complete steps.

    `token` is the first token of a branch, {id, text, …} as in its log; None for other runs.
    """

    run: str
    opening: dict[str, Any]
    closing: dict[str, Any] | None
    steps: int
    token: dict[str, Any] | None


def members(
    connection: sa.Connection, run: str, public: Collection[str] = (), known: Collection[str] = ()
) -> list[Member]:
    """Returns the family of a stored run: first the run from which the others came, then the others, oldest first.

    `public`, `known`: as in RunLog.family.
    """
    runs = [run, *known]
    origins = _origins(connection, runs, public)
    ancestors = [_ancestors(origins, each) for each in runs]
    root = ancestors[0][-1]
    first = links_table.c.origin == root
    if root in public:
        first = links_table.c.run.in_([line[-2] for line in ancestors if line[-1] == root and len(line) > 1])
    rows = connection.execute(_from(root, first)).all()
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


def _origins(connection: sa.Connection, runs: Collection[str], public: Collection[str]) -> dict[str, str]:
    """Returns the origin of each of these runs, and of those origins, up to a public or a deleted run."""
    linked = sa.select(links_table.c.run, links_table.c.origin)
    linked = linked.join(runs_table, runs_table.c.run == links_table.c.origin)
    above = linked.where(links_table.c.run.in_(runs)).cte(recursive=True)
    above = above.union(linked.join(above, links_table.c.run == above.c.origin).where(above.c.origin.not_in(public)))
    return {row.run: row.origin for row in connection.execute(sa.select(above.c.run, above.c.origin))}


def _ancestors(origins: dict[str, str], run: str) -> list[str]:
    """Returns the run, its origin, the origin of that, and so on."""
    line = [run]
    while (origin := origins.get(line[-1])) is not None and origin not in line:
        line.append(origin)
    return line


def _from(root: str, first: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Returns a query for the root, links that match `first`, and the runs that came from these, with their frames."""
    known = sa.select(links_table.c.run)
    below = known.where(first).cte(recursive=True)
    below = below.union(known.join(below, links_table.c.origin == below.c.run))
    opening, last = frames_table.alias(), frames_table.alias()
    run = runs_table.c.run
    return (
        sa.select(
            run, opening.c.payload.label("opening"), last.c.payload.label("closing"), steps_of(run).label("steps")
        )
        .join(opening, sa.and_(opening.c.run == run, opening.c.seq == 0))
        .join(last, sa.and_(last.c.run == run, last.c.seq == runs_table.c.last_seq, runs_table.c.closed), isouter=True)
        .join(links_table, links_table.c.run == run, isouter=True)
        .where(sa.or_(run == root, run.in_(sa.select(below.c.run))))
        .order_by(run != root, links_table.c.number)
    )


def _tokens(connection: sa.Connection, openings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Returns the first token of each branch, from the step at its parent's position."""
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
