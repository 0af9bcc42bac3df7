"""Commands for stored runs and sessions: list, delete, write to files, back up and restore."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kvscope.app.commands.options import WrongUse, size_of
from kvscope.app.settings import Settings

if TYPE_CHECKING:
    from kvscope.app.store.inventory import Inventory


@contextmanager
def _inventory(settings: Settings) -> Iterator[Inventory]:
    from kvscope.app.store.errors import StoreError
    from kvscope.app.store.inventory import opened

    try:
        with opened(settings.data_dir, settings.database_url) as inventory:
            yield inventory
    except StoreError as error:
        raise WrongUse(str(error)) from None


def _line(words: str, most: int = 60) -> str:
    """Writes a stranger's text on one line of a terminal, without control characters."""
    shown = "".join(character if character.isprintable() else " " for character in words)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


@click.group()
def runs() -> None:
    """Lists or deletes runs, also while a server is at work."""


@runs.command("list")
@click.pass_obj
def list_runs(settings: Settings, /) -> None:
    """Lists all runs, oldest first: id, when it began, how it ended, steps, size, prompt."""
    with _inventory(settings) as inventory:
        for run in inventory.runs():
            state = f"{run['status']:11} {run['steps']:5,} steps {size_of(run['bytes']):>7}"
            click.echo(f"{run['id']}  {run['created'][:19]}  {state}  {_line(run['prompt'])}")


@runs.command("delete")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.pass_obj
def delete_runs(settings: Settings, /, names: tuple[str, ...]) -> None:
    """Deletes ended runs, each with its twins and beam searches. What was shared of them stays."""
    with _inventory(settings) as inventory:
        inventory.delete_runs(names)


@click.group()
def sessions() -> None:
    """Lists or deletes saved sessions, also while a server is at work."""


@sessions.command("list")
@click.pass_obj
def list_sessions(settings: Settings, /) -> None:
    """Lists all saved sessions, oldest first: id, when it was saved, steps, size, title or prompt."""
    with _inventory(settings) as inventory:
        for session in inventory.sessions():
            state = f"{session['steps']:5,} steps {size_of(session['bytes']):>7}"
            words = _line(session["title"] or session["prompt"])
            click.echo(f"{session['id']:14}  {session['created'][:19]:19}  {state}  {words}")


@sessions.command("delete")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.pass_obj
def delete_sessions(settings: Settings, /, names: tuple[str, ...]) -> None:
    """Deletes saved sessions, whoever has shared them: their links answer 410 from then on."""
    with _inventory(settings) as inventory:
        inventory.delete_sessions(names)


@click.command()
@click.pass_obj
def stats(settings: Settings, /) -> None:
    """Says how much is stored."""
    with _inventory(settings) as inventory:
        for name, value in inventory.stats().items():
            click.echo(f"{name:18} {value:>18,}")


@click.command()
@click.argument("name", metavar="ID")
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="FILE.html, .mjs or .safetensors."
)
@click.option(
    "--level",
    type=click.Choice(["attention", "qkv", "block"]),
    help="Which stored exact values the page contains.  [default: all]",
)
@click.pass_obj
def export(settings: Settings, /, name: str, out: Path, level: str | None) -> None:
    """Writes the saved session or the ended run ID to one file: a page that plays by itself, a script that shows it in
    MyST's {anywidget}, or its data.
    """
    from kvscope.app.store.errors import StoreError
    from kvscope.app.travel.export import CannotExport, export

    try:
        size = export(settings.data_dir, settings.database_url, name, out, level)
    except (CannotExport, StoreError) as error:
        raise WrongUse(str(error)) from None
    click.echo(f"{out}: {size:,} bytes")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.pass_obj
def backup(settings: Settings, /, file: Path) -> None:
    """Writes all runs and saved sessions to FILE, even while a server uses them."""
    from kvscope.app.store.backup import backup
    from kvscope.app.store.errors import StoreError

    try:
        content = backup(settings.data_dir, settings.database_url, file)
    except StoreError as error:
        raise WrongUse(str(error)) from None
    click.echo(f"{file} contains {content}.")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.pass_obj
def restore(settings: Settings, /, file: Path) -> None:
    """Restores a FILE written by `backup` into an empty data folder or database."""
    from kvscope.app.store.backup import restore
    from kvscope.app.store.errors import StoreError
    from kvscope.app.web_server.server import CannotServe, hold_folder

    try:
        with hold_folder(settings.data_dir):
            content = restore(settings.data_dir, settings.database_url, file)
    except (CannotServe, StoreError) as error:
        raise WrongUse(str(error)) from None
    click.echo(f"Restored {content}.")
