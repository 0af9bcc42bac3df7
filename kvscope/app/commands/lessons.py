"""`kvscope lessons`."""

from __future__ import annotations

from pathlib import Path

import click

from kvscope.app.commands.options import WrongUse
from kvscope.app.settings import Settings


@click.group()
def lessons() -> None:
    """Checks lessons that you write (docs/lessons.md)."""


@lessons.command("check")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--print", "print_them", is_flag=True, help="Print each step with its numbers, and every answer.")
@click.pass_obj
def check_lessons(settings: Settings, /, folder: Path, print_them: bool) -> None:
    """Computes every claim of the lessons in DIR, checks every address, name and task, and counts words.

    Lessons of your own come after those that ship: they may use their terms and need them.
    """
    from kvscope.app.learn.report import lines, report_of
    from kvscope.app.learn.written_out import lines_of

    try:
        report = report_of(folder, settings.recordings_dir)
    except OSError as error:
        raise WrongUse(f"{error.filename} cannot be read: {error.strerror}.") from None
    for lesson in report.shown if print_them else ():
        for line in lines_of(lesson):
            click.echo(line)
        click.echo()
    for line in lines(report):
        click.echo(line)
    if report.faults:
        count = len(report.faults)
        raise WrongUse(f"{count} mistake{'' if count == 1 else 's'}")
