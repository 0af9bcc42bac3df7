"""Commands that list and delete what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kvscope.app.options import WrongUse, size_of
from kvscope.app.settings import Settings

if TYPE_CHECKING:
    from kvscope.app.store.inventory import Inventory


@contextmanager
def _inventory(settings: Settings) -> Iterator[Inventory]:
    from kvscope.app.store.errors import StoreError
    from kvscope.app.store.inventory import opened

    try:
        with opened(settings.data_dir, settings.database_url) as found:
            yield found
    except StoreError as error:
        raise WrongUse(str(error)) from None


def _line(words: str, most: int = 60) -> str:
    """Text of a stranger's on one line of a terminal, without what could steer it."""
    shown = "".join(character if character.isprintable() else " " for character in words)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


@click.group()
def runs() -> None:
    """List or delete runs, also while a server is at work."""


@runs.command("list")
@click.pass_obj
def list_runs(settings: Settings, /) -> None:
    """List all runs, oldest first: id, when it began, how it ended, steps, size, prompt."""
    with _inventory(settings) as found:
        for run in found.runs():
            state = f"{run['status']:11} {run['steps']:5,} steps {size_of(run['bytes']):>7}"
            click.echo(f"{run['id']}  {run['created'][:19]}  {state}  {_line(run['prompt'])}")


@runs.command("delete")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.pass_obj
def delete_runs(settings: Settings, /, names: tuple[str, ...]) -> None:
    """Delete ended runs, each with its twins and beam searches. What was shared of them stays."""
    with _inventory(settings) as found:
        found.delete_runs(names)


@click.group()
def sessions() -> None:
    """List or delete saved sessions, also while a server is at work."""


@sessions.command("list")
@click.pass_obj
def list_sessions(settings: Settings, /) -> None:
    """List all saved sessions, oldest first: id, when it was saved, steps, size, title or prompt."""
    with _inventory(settings) as found:
        for session in found.sessions():
            state = f"{session['steps']:5,} steps {size_of(session['bytes']):>7}"
            words = _line(session["title"] or session["prompt"])
            click.echo(f"{session['id']:14}  {session['created'][:19]:19}  {state}  {words}")


@sessions.command("delete")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.pass_obj
def delete_sessions(settings: Settings, /, names: tuple[str, ...]) -> None:
    """Delete saved sessions, whoever has shared them: their links answer 410 from then on."""
    with _inventory(settings) as found:
        found.delete_sessions(names)


@click.command()
@click.pass_obj
def stats(settings: Settings, /) -> None:
    """Say how much is stored."""
    with _inventory(settings) as found:
        for name, value in found.stats().items():
            click.echo(f"{name:18} {value:>18,}")
