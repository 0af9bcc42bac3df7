"""A plan as a table in the terminal, with what it assumes, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from kvscope.app.options import size_of
from kvscope.app.plan.profile import Profile
from kvscope.app.plan.scenario import SPREAD
from kvscope.app.plan.sizing import NETWORK_MBIT, STAY_MINUTES, WINDOW_S, Plan, Planner
from kvscope.app.settings import DEFAULT_VIEWERS

MEASURED, ASSUMED, CODE = "measured", "assumed", "from the code"


def as_text(titles: Sequence[str], planners: Sequence[Planner], plans: Sequence[Plan]) -> str:
    """A table with a column for each scenario, then the assumptions with their sources."""
    goal = planners[0].goal
    rows = [("", *titles)]
    columns = [dict(_rows(planner, plan)) for planner, plan in zip(planners, plans, strict=True)]
    rows += [(name, *(column[name] for column in columns)) for name in columns[0]]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [f"{goal.percent:g} % of runs are to get their first token within {goal.wait_s:g} s.", ""]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += ["", "Assumptions"]
    lines += [f"- {what} ({source})" for what, source in assumptions(planners[0].profile)]
    return "\n".join(lines)


def jsonable(titles: Sequence[str], planners: Sequence[Planner], plans: Sequence[Plan]) -> str:
    """The same as a JSON document."""
    first = planners[0]
    return json.dumps(
        {
            "goal": asdict(first.goal),
            "profile": {name: getattr(first.profile, name) for name in ("machine", "model", "date", "command")},
            "plans": [
                {"title": title, "scenario": planner.scenario.model_dump(), "limit": plan.limit, **asdict(plan)}
                for title, planner, plan in zip(titles, planners, plans, strict=True)
            ],
            "assumptions": [{"what": what, "source": source} for what, source in assumptions(first.profile)],
        },
        indent=2,
    )


def _rows(planner: Planner, plan: Plan) -> Iterator[tuple[str, str]]:
    scenario, goal = planner.scenario, planner.goal
    yield "in the busiest period", f"{scenario.present:,} people, {plan.runs:,} runs, {scenario.minutes} min"
    yield "runs", f"{scenario.prompt_tokens} + {scenario.tokens} tokens"
    yield "engines", f"{plan.engines:,}"
    yield "web processes", f"{plan.web_processes:,}"
    yield f"first token, {goal.percent:g} %; median", f"{plan.wait_s:.1f} s; {plan.median_s:.1f} s"
    yield "most runs queued", f"{plan.queued:,}"
    yield "PostgreSQL grows per day", size_of(round(plan.day_bytes))
    yield "its write-ahead log per day", size_of(round(plan.wal_bytes))
    yield "PostgreSQL when full", f"{size_of(round(plan.stored_bytes))} ({scenario.kept_days} days)"
    written = f"{size_of(round(plan.written_bytes_per_s))}/s"
    yield "writes, busiest seconds", f"{written}, {plan.transactions_per_s:.0f} transactions/s"
    yield "network, busiest seconds", f"{plan.sent_bits_per_s / 1e6:,.0f} Mbit/s"
    for name, use in plan.uses.items():
        yield f"use of {name}, mean; busiest", f"{use.mean:.0%}; {use.busiest:.0%}"
    yield "used most", plan.limit


def assumptions(profile: Profile) -> Iterator[tuple[str, str]]:
    """What the simulation takes for granted, each with its source."""
    measured = f"{MEASURED} {profile.date} by `{profile.command}`: {profile.model}, {profile.machine}"
    steps = ", ".join(f"{point.ms:.3g}" for point in profile.step)
    counts = ", ".join(str(point.runs) for point in profile.step)
    yield f"a decode step takes {steps} ms for {counts} runs together", measured
    prompts = ", ".join(str(point.tokens) for point in profile.prefill)
    prefill = ", ".join(f"{point.ms:.3g}" for point in profile.prefill)
    yield f"the prefill of {prompts} tokens takes {prefill} ms", measured
    web = profile.web
    yield (
        f"a decode step after 64 positions has {profile.pass_bytes(1, 64, chooses=True) / 1000:.1f} kB of frames; a "
        f"page that shows a run {web.page_bytes / 1e6:.2f} MB",
        measured,
    )
    yield (
        f"a web process takes {web.page_ms:.3g} ms for a first visit, {web.request_ms:.3g} ms to start a run, "
        f"{web.frame_ms:.2g} ms and {web.mb_ms:.2g} ms/MB to store a frame, {web.viewer_frame_ms:.2g} ms and "
        f"{web.viewer_mb_ms + web.deflate_mb_ms:.2g} ms/MB to send it compressed to one viewer",
        measured,
    )
    yield (
        f"PostgreSQL takes {profile.database.stored:.2f} bytes per byte of a log and writes {profile.database.wal:.2f} "
        f"to its write-ahead log; it takes {profile.database.mb_ms:.3g} ms of a processor per MB",
        measured,
    )
    yield "the queue's order, places of one client and address, and the batching of runs are those of the server", CODE
    yield f"a web process holds {DEFAULT_VIEWERS} live connections", CODE
    yield f"a page that shows a run stays open for {STAY_MINUTES} minutes, in a class or lecture all the time", ASSUMED
    yield "each engine and each web process has the processors it was measured with to itself", ASSUMED
    yield "a run goes to the engine with the fewest runs; one queued run per engine is started at a time", ASSUMED
    yield "a web process stores in PostgreSQL with as much processor time as it was measured with in SQLite", ASSUMED
    yield "viewers are spread evenly over web processes, which share PostgreSQL without slowing each other", ASSUMED
    yield f"the network carries {NETWORK_MBIT:,} Mbit/s", ASSUMED
    yield "who comes when, and what they do: each option of `kvscope plan --help` below --json", ASSUMED
    yield (
        f"prompt lengths are log-normal (spread {SPREAD:g}); a run generates all its tokens",
        ASSUMED,
    )
    yield "no prompt begins as an earlier one, and nobody pauses, shares or branches a run", ASSUMED
    yield f"busiest: the busiest {WINDOW_S} seconds", CODE
