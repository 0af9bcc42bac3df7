"""The runs that branches and studies connect, each with what is told of it: three queries, however many there are."""

from __future__ import annotations

from collections.abc import Collection
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


def members(
    connection: sa.Connection, run: str, public: Collection[str] = (), known: Collection[str] = ()
) -> list[Member]:
    """The family of a stored run: first the one that comes from none of them, then the others, oldest first.

    `public`, `known`: as in RunLog.family.
    """
    asked = [run, *known]
    origins = _origins(connection, asked, public)
    lines = [_line(origins, each) for each in asked]
    root = lines[0][-1]
    first = links_table.c.origin == root
    if root in public:
        first = links_table.c.run.in_([line[-2] for line in lines if line[-1] == root and len(line) > 1])
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
    """Where each of these runs came from, and where that came from, up to a public one, as far as it is stored here."""
    linked = sa.select(links_table.c.run, links_table.c.origin)
    linked = linked.join(runs_table, runs_table.c.run == links_table.c.origin)
    above = linked.where(links_table.c.run.in_(runs)).cte(recursive=True)
    above = above.union(linked.join(above, links_table.c.run == above.c.origin).where(above.c.origin.not_in(public)))
    return {row.run: row.origin for row in connection.execute(sa.select(above.c.run, above.c.origin))}


def _line(origins: dict[str, str], run: str) -> list[str]:
    """The run, the one it came from, and so on."""
    line = [run]
    while (origin := origins.get(line[-1])) is not None and origin not in line:
        line.append(origin)
    return line


def _from(root: str, first: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """The root, the links that are `first` and all that came from those, with what their first and last frames are."""
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
