"""The command line: serve the page, capture a run without a browser, say what can be loaded."""

from __future__ import annotations

import re
from ipaddress import ip_network
from pathlib import Path

import click

from kvscope.app.settings import (
    DEFAULT_HUNG_AFTER_S,
    DEFAULT_KEEP_RUNS_DAYS,
    DEFAULT_SERVICE,
    DEFAULT_VIEWERS,
    DEFAULT_VIEWERS_PER_ADDRESS,
    MAX_KEEP_RUNS_DAYS,
    Settings,
    default_data_dir,
)

MODELS = """\
SmolLM2-135M-Instruct   the default: fetched once, then kept for use without a network
PATH.gguf               a GGUF file
FOLDER                  a Hugging Face folder: config.json, tokenizer.json, *.safetensors
org/name                the same, from the Hugging Face hub

Architectures: Llama (SmolLM2 too), Mistral, Qwen2, Qwen3, GPT-2."""


TOKEN = re.compile(r"[A-Za-z0-9._~-]{8,200}")
"""What an address can have after its #."""


class WrongUse(click.ClickException):
    """Something the user can put right: one line, exit code 2."""

    exit_code = 2


def _frame_ancestors(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"[^\s;,]+( [^\s;,]+)*", value, re.ASCII):
        raise click.BadParameter("sources of a Content-Security-Policy, a space between them.")
    return value


def _token(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(TOKEN, value):
        raise click.BadParameter("a token has 8 to 200 letters, digits, or characters of -._~ .")
    return value


def _networks(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            ip_network(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is no address and no network such as 10.0.0.0/8.") from None
    return values


@click.group(
    invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", default=5000, type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.")
@click.option("--model", metavar="MODEL", help="GGUF file, local folder or hub id.  [default: SmolLM2-135M-Instruct]")
@click.option("--device", default="auto", help="auto, cpu, cuda or cuda:N.")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of runs and sessions.  [default: the user's data folder]",
)
@click.option(
    "--keep-runs",
    "keep_runs_days",
    metavar="DAYS",
    default=DEFAULT_KEEP_RUNS_DAYS,
    type=click.IntRange(0, MAX_KEEP_RUNS_DAYS),
    help="Forget a run that is not shared after so many days; 0 keeps all.",
)
@click.option(
    "--frame-ancestors",
    default="*",
    callback=_frame_ancestors,
    metavar="SOURCES",
    help="Which sites may embed sessions, such as \"'self' https://course.example\"; * is all.",
)
@click.option(
    "--token",
    envvar="KVSCOPE_TOKEN",
    callback=_token,
    show_envvar=True,
    help="A word that is asked for before a run is started, steered, shared or imported; viewing stays open.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with that word, which others on the machine cannot see then.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A name by which the server is reached, beside localhost and any address; once per name.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    callback=_networks,
    metavar="ADDRESS",
    help="A reverse proxy, or a network of them, whose X-Forwarded-For, -Host and -Proto are believed; once per proxy.",
)
@click.option(
    "--max-viewers",
    metavar="N",
    default=DEFAULT_VIEWERS,
    type=click.IntRange(1),
    help="Live connections at a time; a page that shows a run has one.",
)
@click.option(
    "--max-viewers-per-address",
    metavar="N",
    default=DEFAULT_VIEWERS_PER_ADDRESS,
    type=click.IntRange(1),
    help="The same from one address: a class may be behind one.",
)
@click.option(
    "--hung-after",
    "hung_after_s",
    metavar="SECONDS",
    default=DEFAULT_HUNG_AFTER_S,
    type=click.IntRange(0),
    help="Start the engine again after so many seconds without a sign of life; 0 never.",
)
@click.option("--database", "database_url", envvar="DATABASE_URL", hidden=True)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
@click.option("--service", default=DEFAULT_SERVICE, hidden=True)
@click.pass_context
def main(
    context: click.Context, /, data: Path | None, token: str | None, token_file: Path | None, **options: object
) -> None:
    """Watch a transformer work: every layer, every head, every byte of KV cache.

    Without a command, serves the page. The first line printed is its URL. Runs and sessions are stored in the data
    folder, or in the PostgreSQL database that the environment names as DATABASE_URL.
    """
    if token_file is not None:
        token = token_file.read_text("utf-8").strip()
        if not re.fullmatch(TOKEN, token):
            raise WrongUse(f"{token_file} has no token: 8 to 200 letters, digits, or characters of -._~ .")
    settings = Settings(data_dir=data or default_data_dir(), token=token, **options)  # type: ignore[arg-type]  # click gives the right types
    context.obj = settings
    if context.invoked_subcommand is None:
        _serve(settings)


def _serve(settings: Settings) -> None:
    from kvscope.app.server import CannotServe, serve
    from kvscope.app.store.database import StoreError

    try:
        serve(settings)
    except (CannotServe, StoreError) as error:
        raise WrongUse(str(error)) from None


@main.command()
@click.argument("prompt")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
@click.option("--chat", is_flag=True, help="Wrap the prompt in the model's chat template.")
@click.option("--max-new-tokens", default=32, type=int)
@click.option("--strategy", default="greedy", type=click.Choice(["greedy", "sample"]))
@click.option("--temperature", default=1.0, type=float)
@click.option("--top-k", default=0, type=int, help="0 is off.")
@click.option("--top-p", default=1.0, type=float, help="1 is off.")
@click.option("--seed", default=0, type=int)
@click.option("--model", metavar="MODEL", help="As for serving.")
@click.option("--device", help="As for serving.")
@click.pass_obj
def run(settings: Settings, /, prompt: str, out: Path, model: str | None, device: str | None, **fields: object) -> None:
    """Run PROMPT once, without a server, and write all its frames to one safetensors file."""
    from kvscope.app.bodies import check
    from kvscope.app.engine.capture import capture
    from kvscope.app.http.requests import NewRun, new_id
    from kvscope.model.api import Refused

    try:
        request = check(NewRun, {"prompt": prompt, **fields}).of(new_id())
        capture(settings.service, model or settings.model, device or settings.device, request, out)
    except Refused as refused:
        raise WrongUse(str(refused)) from None
    except OSError as error:
        raise WrongUse(f"{out} cannot be written: {error.strerror}.") from None


@main.command()
def models() -> None:
    """Say what --model takes."""
    click.echo(MODELS)


@main.command()
@click.argument("name", metavar="ID")
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="FILE.html or FILE.safetensors."
)
@click.option(
    "--level",
    type=click.Choice(["attention", "qkv", "block"]),
    help="How much of a session's stored exact values a page has.  [default: all]",
)
@click.pass_obj
def export(settings: Settings, /, name: str, out: Path, level: str | None) -> None:
    """Write the saved session or the ended run ID to one file: a page that plays by itself, or its data."""
    from kvscope.app.store.database import StoreError
    from kvscope.app.travel.export import CannotExport, export

    try:
        size = export(settings.data_dir, settings.database_url, name, out, level)
    except (CannotExport, StoreError) as error:
        raise WrongUse(str(error)) from None
    click.echo(f"{out}: {size:,} bytes")


@main.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.pass_obj
def backup(settings: Settings, /, file: Path) -> None:
    """Write all runs and saved sessions to FILE, also while a server is at work."""
    from kvscope.app.store.backup import backup
    from kvscope.app.store.database import StoreError

    try:
        content = backup(settings.data_dir, settings.database_url, file)
    except StoreError as error:
        raise WrongUse(str(error)) from None
    click.echo(f"{file} has {content}.")


@main.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.pass_obj
def restore(settings: Settings, /, file: Path) -> None:
    """Fill an empty data folder or database with what `backup` wrote to FILE."""
    from kvscope.app.server import CannotServe, hold_folder
    from kvscope.app.store.backup import restore
    from kvscope.app.store.database import StoreError

    try:
        with hold_folder(settings.data_dir):
            content = restore(settings.data_dir, settings.database_url, file)
    except (CannotServe, StoreError) as error:
        raise WrongUse(str(error)) from None
    click.echo(f"There are {content} now.")
