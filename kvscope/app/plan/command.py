"""`kvscope plan`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from kvscope.app.options import WrongUse
from kvscope.app.plan.scenario import SCENARIOS, Scenario
from kvscope.app.settings import Settings

OPEN_RUNS = Settings.__dataclass_fields__["max_open_runs"].default


def scenario_options(command: Callable[..., None]) -> Callable[..., None]:
    """An option for each member of a scenario."""
    for name, field in reversed(Scenario.model_fields.items()):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, name, metavar="N", type=int, help=field.description)(command)
    return command


@click.command()
@click.argument("names", metavar="[SCENARIO]...", nargs=-1)
@click.option("--wait", metavar="SECONDS", default=5.0, type=click.FloatRange(0.1, 3600), help="Wanted wait.")
@click.option(
    "--percent",
    metavar="N",
    default=95.0,
    type=click.FloatRange(1, 99.9),
    help="Percentage of runs that get their first token within that wait.",
)
@click.option("--engines", metavar="N", type=click.IntRange(1, 1024), help="Engines there are.  [default: find out]")
@click.option("--open-runs", metavar="N", default=OPEN_RUNS, type=click.IntRange(1, 1024), help="Runs per engine.")
@click.option(
    "--profile",
    "profile_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What a machine of yours takes, measured by `python -m tools.bench.capacity`.  [default: the one that ships]",
)
@click.option("--seed", metavar="N", default=1, type=click.IntRange(0, 2**31), help="Seed of the simulated people.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@scenario_options
def plan(
    names: tuple[str, ...],
    wait: float,
    percent: float,
    engines: int | None,
    open_runs: int,
    profile_file: Path | None,
    seed: int,
    as_json: bool,
    **changes: int | None,
) -> None:
    """Simulate a class, lecture, course or demo: how many engines, web processes and how much database it needs.

    SCENARIO is class (40 people), lecture (500), course (10,000) or demo (1,000,000 visits a day); all of them by
    default. The options below --json change its numbers; without a SCENARIO they change those of class.
    """
    from kvscope.app.plan.errors import CannotPlan
    from kvscope.app.plan.profile import SHIPPED, load
    from kvscope.app.plan.report import as_text, jsonable
    from kvscope.app.plan.scenario import changed
    from kvscope.app.plan.sizing import Goal, Planner

    changes_made = {name: value for name, value in changes.items() if value is not None}
    unknown = [name for name in names if name not in SCENARIOS]
    if unknown:
        raise WrongUse(f"{unknown[0]!r} is not a scenario; choose from {', '.join(SCENARIOS)}.")
    chosen = names or (("class",) if changes_made else tuple(SCENARIOS))
    try:
        profile = load(profile_file or SHIPPED)
        planners = [
            Planner(
                profile, changed(SCENARIOS[name][1], changes_made), Goal(wait, percent), seed, 2, open_runs, engines
            )
            for name in chosen
        ]
        titles = [f"{name}, changed" if changes_made else SCENARIOS[name][0] for name in chosen]
        plans = [planner.plan() for planner in planners]
    except CannotPlan as error:
        raise WrongUse(str(error)) from None
    click.echo(jsonable(titles, planners, plans) if as_json else as_text(titles, planners, plans))
