"""The command line: serve the pages, capture a run without a browser, list models."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn, get_args

import click

from kvscope.app.commands.lessons import lessons
from kvscope.app.commands.manage_engines import engines
from kvscope.app.commands.options import (
    TOKEN,
    Size,
    WrongUse,
    check_frame_ancestors,
    check_networks,
    check_origin,
    check_ray,
    check_resources,
    check_token,
    limit_options,
    model_options,
    size_of,
)
from kvscope.app.commands.site import site
from kvscope.app.commands.stored_commands import backup, export, restore, runs, sessions, stats
from kvscope.app.settings import (
    DATABASE_URL_FORM,
    DEFAULT_ENGINE_CPUS,
    DEFAULT_HUNG_AFTER_S,
    DEFAULT_KEEP_RUNS_DAYS,
    DEFAULT_MAX_DISK_BYTES,
    DEFAULT_SERVICE,
    DEFAULT_VIEWERS,
    DEFAULT_VIEWERS_PER_ADDRESS,
    MAX_ENGINES,
    MAX_KEEP_RUNS_DAYS,
    BrowserEngine,
    Settings,
    default_data_dir,
)
from kvscope.app.text_files import NotUtf8, text_of
from kvscope.model.api import Refused, WeightDtype
from kvscope.model.packaged import PACKAGED, TERMS, accept, check_terms

MODELS = """\
SmolLM2-135M-Instruct   the default: downloaded once; later starts need no network
gemma-3-270m            Gemma 3 270M, not tuned for chat: 238 MB, downloaded once; under the Gemma Terms of Use
tiny-random-experts     8 experts in each MLP; small, with random weights: its text means nothing
PATH.gguf               a GGUF file
FOLDER                  a Hugging Face folder: config.json, tokenizer.json, *.safetensors
org/name                the same, from the Hugging Face hub

Architectures: Llama (SmolLM2 too), Mistral, Qwen2, Qwen3, Gemma 3, GPT-2;
Phi-3 and Qwen3 with experts from a folder."""

DTYPES = click.Choice(get_args(WeightDtype))


accept_terms = click.option(
    "--accept-terms",
    "terms",
    multiple=True,
    type=click.Choice(list(TERMS)),
    help="Accept the terms of a model, once; `kvscope models --terms MODEL` says which.",
)


@click.group(
    invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", default=5000, type=click.IntRange(0, 65535), help="Port to listen on; 0 selects a free port.")
@model_options
@accept_terms
@click.option("--device", default="auto", help="Where the model runs: auto, cpu, cuda or cuda:N.")
@click.option(
    "--dtype",
    type=DTYPES,
    default="float32",
    help="Format of the weights of linear layers and the embedding in memory; everything else is float32. "
    "With float32, --compile can keep those of a GGUF file quantized.",
)
@click.option(
    "--compile",
    type=click.Choice(["auto", "off"]),
    default="auto",
    help="On a CPU, keep quantized GGUF weights as they are, and multiply them with native code that a C compiler "
    "compiles once or the wheel has. On a GPU, record decode steps as CUDA graphs.",
)
@click.option(
    "--browser-engine",
    type=click.Choice(get_args(BrowserEngine)),
    default="offer",
    help="Whether visitors may download the default model and run it in their browsers: off; offer, if they choose to; "
    "default, unless they choose the server.",
)
@click.option(
    "--engines",
    metavar="N",
    default=1,
    type=click.IntRange(1, MAX_ENGINES),
    help="Number of engines of the default model, each with the whole of it. On one machine they share out its "
    "processors or GPUs. Each other model has one engine.",
)
@click.option(
    "--ray",
    metavar="ADDRESS",
    callback=check_ray,
    help="Run the engines in a Ray cluster: host:port of its head node, or auto; needs kvscope[cluster].",
)
@click.option(
    "--engine-resources",
    metavar="RESOURCES",
    default=f"num_cpus={DEFAULT_ENGINE_CPUS:g}",
    callback=check_resources,
    help="What each engine takes of a machine of the Ray cluster, such as num_cpus=4,num_gpus=1.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for runs and saved sessions.  [default: the user's data folder]",
)
@click.option(
    "--database",
    "database_url",
    metavar="URL",
    envvar="DATABASE_URL",
    show_envvar=True,
    help=f"PostgreSQL database to use instead of a file in the data folder: {DATABASE_URL_FORM}. "
    "Prefer the environment variable: other users of the machine can read a command line.",
)
@click.option(
    "--cluster",
    is_flag=True,
    help="Serve together with other web processes that use the same --database: one of them leads and has the model, "
    "the others serve viewers and take over when it ends.",
)
@click.option(
    "--advertise",
    metavar="URL",
    callback=check_origin,
    help="Address under which the other web processes of a --cluster reach this one.  [default: --host and --port]",
)
@click.option(
    "--keep-runs",
    "keep_runs_days",
    metavar="DAYS",
    default=DEFAULT_KEEP_RUNS_DAYS,
    type=click.IntRange(0, MAX_KEEP_RUNS_DAYS),
    help="Delete runs that are not shared after this many days; 0 never deletes them.",
)
@click.option(
    "--max-disk",
    "max_disk_bytes",
    metavar="SIZE",
    default=size_of(DEFAULT_MAX_DISK_BYTES),
    type=Size(),
    help="Most disk space for the database, such as 500MB or 10GB; the oldest unshared runs are deleted first. "
    "0 is no limit.",
)
@click.option(
    "--lessons",
    "more_lessons_dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of lessons of your own, shown after those that ship; see `kvscope lessons check`.",
)
@click.option(
    "--frame-ancestors",
    default="*",
    callback=check_frame_ancestors,
    metavar="SOURCES",
    help="Sites that may embed saved sessions, such as \"'self' https://course.example\"; * allows all.",
)
@click.option(
    "--token",
    envvar="KVSCOPE_TOKEN",
    callback=check_token,
    show_envvar=True,
    help="Secret that a visitor needs to start, control, share or import runs; viewing needs none.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File that contains the token, so that other users of the machine cannot read it from the command line.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Host name under which visitors reach the server, besides localhost and IP addresses; may be repeated.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    callback=check_networks,
    metavar="ADDRESS",
    help="Address or network of a reverse proxy whose X-Forwarded-For, -Host, -Proto and -Prefix headers are trusted; "
    "may be repeated.",
)
@click.option(
    "--max-viewers",
    metavar="N",
    default=DEFAULT_VIEWERS,
    type=click.IntRange(1),
    help="Most live connections at once; each open page that shows a run uses one.",
)
@click.option(
    "--max-viewers-per-address",
    metavar="N",
    default=DEFAULT_VIEWERS_PER_ADDRESS,
    type=click.IntRange(1),
    help="Most live connections at once from one address; a whole class may share one.",
)
@click.option(
    "--hung-after",
    "hung_after_s",
    metavar="SECONDS",
    default=DEFAULT_HUNG_AFTER_S,
    type=click.IntRange(0),
    help="Restart the engine after this many seconds without a response; 0 never restarts it.",
)
@limit_options
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@click.option("--service", default=DEFAULT_SERVICE, hidden=True)
@click.pass_context
def main(
    context: click.Context,
    /,
    data: Path | None,
    token: str | None,
    token_file: Path | None,
    terms: tuple[str, ...],
    models: tuple[str, ...],
    **options: object,
) -> None:
    """Shows a transformer at work: every layer, every head, every byte of KV cache.

    Without a command, serves the page; the first line printed is its URL. Write --data and
    --database before a command to choose the runs and sessions it uses.
    """
    if token_file is not None:
        token = _written_in(token_file)
        if not re.fullmatch(TOKEN, token):
            raise WrongUse(
                f"{token_file} contains no valid token: it must have 8 to 200 letters, digits or characters from -._~"
            )
    if options["cluster"] and not options["database_url"]:
        raise WrongUse("--cluster needs the PostgreSQL that the web processes share: --database.")
    options |= {"model": models[0] if models else None, "more_models": models[1:], "token": token}
    settings = Settings(data_dir=data or default_data_dir(), **options)  # type: ignore[arg-type]  # click gives the right types
    context.obj = settings
    _accept(terms)
    if context.invoked_subcommand is None:
        _serve(settings)
    else:
        context.call_on_close(_end_cleanly())


def _end_cleanly() -> Callable[[], None]:
    """Makes SIGTERM and SIGHUP end a command as Ctrl-C does, so that it removes half-written files. Returns a function
    that undoes this.

    A signal that the caller ignores (nohup) stays ignored.
    """

    def end(number: int, _frame: object) -> NoReturn:
        sys.exit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, end)

    def undo() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return undo


def _written_in(token_file: Path) -> str:
    try:
        return text_of(token_file.read_bytes()).strip()
    except NotUtf8 as error:
        raise WrongUse(f"{token_file} contains no valid token: {error}.") from None
    except OSError as error:
        raise WrongUse(f"{token_file} cannot be read: {error.strerror}.") from None


def _accept(terms: tuple[str, ...]) -> None:
    try:
        for name in terms:
            accept(TERMS[name])
    except OSError as error:
        raise WrongUse(f"That the terms are accepted cannot be stored: {error.strerror}.") from None


def _serve(settings: Settings) -> None:
    from kvscope.app.engine.models import Models
    from kvscope.app.store.errors import StoreError
    from kvscope.app.web_server.server import CannotServe, serve

    try:
        check_terms(settings.model)
        if settings.ray and settings.more_models:
            raise WrongUse("Engines in a Ray cluster have one model: name one --model, or leave out --ray.")
        Models(settings).check()
        serve(settings)
    except (CannotServe, StoreError, Refused) as error:
        raise WrongUse(str(error)) from None


@main.command()
@click.argument("prompt")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
@click.option(
    "--figures",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the figures attention.html, cache.html and time.html, which open without a network.",
)
@click.option(
    "--values",
    metavar="[LAYERS]",
    is_flag=False,
    flag_value="all",
    help="Also store exact values, of these layers and the last, such as 0,5-7; alone, of all layers.",
)
@click.option("--chat", is_flag=True, help="Wrap the prompt in the model's chat template.")
@click.option("--max-new-tokens", default=32, type=int)
@click.option("--strategy", default="greedy", type=click.Choice(["greedy", "sample"]))
@click.option("--temperature", default=1.0, type=float)
@click.option("--top-k", default=0, type=int, help="Sample from this many most likely tokens; 0 is off.")
@click.option(
    "--top-p",
    default=1.0,
    type=float,
    help="Sample from the most likely tokens with this total probability; 1 is off.",
)
@click.option("--seed", default=0, type=int)
@click.option("--model", metavar="MODEL", help="As for `kvscope`.")
@accept_terms
@click.option("--device", help="As for `kvscope`.")
@click.option("--dtype", type=DTYPES, help="As for `kvscope`.")
@click.pass_obj
def run(
    settings: Settings,
    /,
    prompt: str,
    out: Path,
    figures: Path | None,
    values: str | None,
    model: str | None,
    terms: tuple[str, ...],
    device: str | None,
    dtype: str | None,
    **fields: object,
) -> None:
    """Runs PROMPT once, without a server, and writes all its frames to one safetensors file."""
    from kvscope.app.bodies import check
    from kvscope.app.engine.capture import capture
    from kvscope.app.reader.errors import CannotRead
    from kvscope.app.reader.figure_files import CannotWrite, folder_for_figures, write_figures
    from kvscope.app.run_bodies import NewRun, new_id

    try:
        request = check(NewRun, {"prompt": prompt, **fields}).of(new_id(), owner="")
        chosen = model or settings.model, device or settings.device, dtype or settings.dtype
        _accept(terms)
        check_terms(chosen[0])
        with folder_for_figures(figures) if figures else nullcontext():
            capture(settings.service, *chosen, request, out, settings.max_tokens, values)
            if figures:
                click.echo(f"{figures}: {', '.join(write_figures(out, figures))}", err=True)
    except (Refused, CannotRead, CannotWrite) as refused:
        raise WrongUse(str(refused)) from None
    except OSError as error:
        raise WrongUse(f"{out} cannot be written: {error.strerror}.") from None


@main.command()
@click.option("--terms", "name", metavar="MODEL", help="Fetch the terms under which that model may be used.")
def models(name: str | None) -> None:
    """Lists what --model accepts."""
    if name is None:
        click.echo(MODELS)
        return
    from kvscope.model.checkpoint.fetch import fetch_terms

    packaged = PACKAGED.get(name)
    if packaged is None or packaged.terms is None:
        raise WrongUse(
            f"{name} is no model with terms; {', '.join(model for model in PACKAGED if PACKAGED[model].terms)} is"
        )
    terms = packaged.terms
    try:
        path = fetch_terms(terms)
    except Refused as refused:
        raise WrongUse(str(refused)) from None
    click.echo(f"{terms.title}: {terms.address}\nAs they came with the model: {path}")
    click.echo(f"Accept them with: kvscope --model {packaged.name} --accept-terms {terms.name}")


for command in (export, site, backup, restore, runs, sessions, stats, lessons, engines):
    main.add_command(command)
