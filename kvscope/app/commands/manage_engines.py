"""`kvscope engines`: list, add and drain the engines of a running server."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import click

ANSWER_S = 30.0
MAX_ANSWER_BYTES = 1024 * 1024


@click.group()
@click.option("--server", default="http://127.0.0.1:5000", metavar="URL", help="Address of the server.")
@click.option("--token", envvar="KVSCOPE_TOKEN", show_envvar=True, help="The server's token, if it has one.")
@click.pass_context
def engines(context: click.Context, server: str, token: str | None) -> None:
    """Lists, adds or drains the engines of a running server."""
    context.obj = lambda method, path="": _request(method, f"{server.rstrip('/')}/api/engines{path}", token)


@engines.command("list")
@click.pass_obj
def list_engines(ask: Any, /) -> None:
    """Lists the engines: name, state, open runs, free blocks of the KV cache, restarts, machine."""
    _print(ask("GET"))


@engines.command()
@click.pass_obj
def add(ask: Any, /) -> None:
    """Starts one more engine."""
    _print(ask("POST"))


@engines.command()
@click.argument("name")
@click.pass_obj
def drain(ask: Any, /, name: str) -> None:
    """Gives the engine NAME no further runs; it ends with its last one."""
    _print(ask("POST", f"/{name}/drain"))


def _print(answer: dict[str, Any]) -> None:
    for engine in answer["engines"]:
        state = "draining" if engine["draining"] else engine["state"]
        where = engine["machine"] or "this machine"
        counts = f"{engine['open_runs']:3} runs {engine['free_blocks']:6,} blocks free {engine['restarts']:3} restarts"
        click.echo(f"{engine['name']:12} {state:10} {counts}  {where}")
        if state == "failed":
            click.echo(f"{'':12} {engine['message']}")


def _request(method: str, address: str, token: str | None) -> dict[str, Any]:
    """Sends a request and returns the answer. Raises ClickException with the server's sentence."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urlopen(Request(address, method=method, headers=headers), timeout=ANSWER_S) as response:
            answer: dict[str, Any] = json.loads(response.read(MAX_ANSWER_BYTES))
            return answer
    except HTTPError as error:
        with error:
            try:
                detail = str(json.loads(error.read(MAX_ANSWER_BYTES))["detail"])
            except (ValueError, LookupError, TypeError):
                detail = f"The server answered {error.code} {error.reason}."
        raise click.ClickException(detail) from None
    except (URLError, OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise click.ClickException(f"{address} cannot be reached: {reason}.") from None
