"""`kvscope site`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from kvscope.app.commands.options import WrongUse, check_address
from kvscope.app.settings import Settings
from kvscope.app.site.manifest import Version
from kvscope.model.api import Refused


@click.command()
@click.argument("out", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--session", "sessions", metavar="ID", multiple=True, help="Session to write; may be repeated.  [default: all]"
)
@click.option(
    "--server",
    default="",
    callback=check_address,
    metavar="URL",
    help="KVScope server on which visitors can run prompts.",
)
@click.option(
    "--address",
    default="",
    callback=check_address,
    metavar="URL",
    help="Where the site will be served. Link previews and oEmbed need it; the pages do not.",
)
@click.option("--engine", is_flag=True, help="Let visitors run a model in their browsers, without a server.")
@click.option("--model", metavar="MODEL", help="The model of --engine, as for `kvscope`.")
@click.option(
    "--scorm",
    metavar="FILE.zip",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write lessons as a SCORM package to this file instead of a site to DIR (docs/scorm.md).",
)
@click.option("--scorm-version", type=click.Choice(get_args(Version)), help="Of the package.  [default: 1.2]")
@click.option(
    "--lesson", "lessons", metavar="ID", multiple=True, help="Lesson of the package; may be repeated.  [default: all]"
)
@click.option("--language", metavar="TAG", help="Language of the package's pages.  [default: en]")
@click.pass_obj
def site(
    settings: Settings,
    /,
    out: Path | None,
    scorm: Path | None,
    scorm_version: Version | None,
    lessons: tuple[str, ...],
    language: str | None,
    **of_site: Any,
) -> None:
    """Writes saved sessions, the gallery, the lessons and the other pages to DIR as files for any web server; with
    --scorm, lessons as a package for a learning system.

    Later calls write only what has changed. A damaged session is left out, and the exit code is 1.
    """
    if (out is None) == (scorm is None):
        raise WrongUse("Name either a folder, DIR, or a package, --scorm FILE.zip.")
    if out is None and any(of_site.values()):
        raise WrongUse("A SCORM package takes only --lesson, --scorm-version and --language.")
    if scorm is None and (scorm_version or lessons or language):
        raise WrongUse("--lesson, --scorm-version and --language are for --scorm.")
    from kvscope.app.site.folder import CannotWrite
    from kvscope.app.store.errors import StoreError

    try:
        if out is not None:
            _write_site(settings, out, **of_site)
        elif scorm is not None:
            _write_package(settings, scorm, scorm_version or "1.2", lessons, language or "en")
    except (CannotWrite, StoreError, Refused) as error:
        raise WrongUse(str(error)) from None


def _write_site(
    settings: Settings, out: Path, sessions: Sequence[str], server: str, address: str, engine: bool, model: str | None
) -> None:
    if model and not engine:
        raise WrongUse("--model names the model of --engine: add --engine, or leave out --model.")
    from kvscope.app.site.build import Options, build_site

    built = build_site(settings, out, Options(server, address, sessions, engine, model or settings.model), _report)
    click.echo(f"{out}: {built.sessions} sessions, {built.written} of them written now; {built.files} files")
    for line in built.damaged:
        click.echo(line, err=True)
    if built.damaged:
        raise SystemExit(1)


def _write_package(settings: Settings, out: Path, version: Version, lessons: Sequence[str], language: str) -> None:
    from kvscope.app.site.package import Package, build_package

    written = build_package(settings, out, Package(version, lessons, language), _report)
    click.echo(f"{out}: SCORM {version}, {written.lessons} lessons; {written.files} files, {written.bytes:,} bytes")


def _report(line: str) -> None:
    click.echo(line, err=True)
