"""Types and checks of command line options, and the options that set limits."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_network
from typing import Any, ClassVar
from urllib.parse import urlsplit

import click

from kvscope.app.settings import Settings

TOKEN = re.compile(r"[A-Za-z0-9._~-]{8,200}")
"""Characters that an address can have after its #."""


class WrongUse(click.ClickException):
    """A mistake of the user: one line, exit code 2."""

    exit_code = 2


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds `--model` and `--model-memory`."""
    command = click.option(
        "--model-memory",
        "model_memory_bytes",
        metavar="SIZE",
        default="0",
        type=Size(),
        help="Most memory for the engines of several models together, such as 2GB; the model that was used least "
        "recently is ended for another. 0 is half of the machine's memory.",
    )(command)
    return click.option(
        "--model",
        "models",
        metavar="MODEL",
        multiple=True,
        help="GGUF file, local folder or Hugging Face id; see `kvscope models`. May be repeated: visitors choose, the "
        "first is the default, and each other one is loaded when it is first used.  [default: SmolLM2-135M-Instruct]",
    )(command)


class Size(click.ParamType[int]):
    """A number of bytes, such as 500MB or 10GB; powers of 1000, as disks are sold."""

    name = "size"
    powers: ClassVar[dict[str, int]] = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}

    def convert(self, value: str | int, parameter: click.Parameter | None, context: click.Context | None) -> int:
        """Returns the number of bytes. Raises BadParameter."""
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)\s?([KMGT]?B)?", str(value).upper(), re.ASCII)
        if match is None:
            self.fail(f"{value!r} is not a size such as 500MB or 10GB, or 0.", parameter, context)
        return int(float(match[1]) * self.powers[match[2] or ""])


def size_of(size: int) -> str:
    """Writes a size as `--max-disk` accepts it."""
    power = next(power for power in reversed(Size.powers.values()) if size >= power or power == 1)
    unit = next(unit for unit, value in Size.powers.items() if value == power) or "bytes"
    return f"{size / power:.3g}{'' if unit != 'bytes' else ' '}{unit}"


def check_frame_ancestors(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Returns the value. Raises BadParameter for more than one directive."""
    if not re.fullmatch(r"[^\s;,]+( [^\s;,]+)*", value, re.ASCII):
        raise click.BadParameter(f"{value!r} is not a list of Content-Security-Policy sources, separated by spaces.")
    return value


def check_token(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Returns the value. Raises BadParameter for characters that an address cannot have."""
    if value is not None and not re.fullmatch(TOKEN, value):
        raise click.BadParameter("A token must have 8 to 200 letters, digits or characters of -._~")
    return value


def check_origin(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Returns the value. Raises BadParameter unless it is a server's address without a path."""
    if value is not None and not re.fullmatch(r"https?://[^\s/?#@]+/?", value, re.ASCII):
        raise click.BadParameter(f"{value!r} is not an address such as http://10.0.0.5:5000.")
    return value


def check_address(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Returns the address with a final slash; "" for none. Raises BadParameter."""
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        valid = parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.fragment
    except ValueError:
        valid = False
    if not valid:
        raise click.BadParameter(f"{value!r} is not an address such as https://example.org/kvscope/.")
    return f"{value.rstrip('/')}/"


def check_networks(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the values. Raises BadParameter for one that is neither an address nor a network."""
    for value in values:
        try:
            ip_network(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is neither an IP address nor a network such as 10.0.0.0/8.") from None
    return values


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds an option for each limit, with the default of its setting."""
    limits: dict[str, tuple[str, click.ParamType[Any], str]] = {
        "max_tokens": (
            "N",
            click.IntRange(0),
            "Most tokens of a run, prompt and answer together; 0 derives it from the model's context and the memory.",
        ),
        "max_open_runs": ("N", click.IntRange(1), "Most runs computed at once; further runs are queued."),
        "max_waiting": ("N", click.IntRange(0), "Most runs in the queue."),
        "max_waiting_by_client": ("N", click.IntRange(0), "Most queued runs of one client."),
        "runs_per_minute": ("N", click.IntRange(0), "Most runs that one client may start per minute; 0 is no limit."),
        "shares_per_minute": ("N", click.IntRange(0), "Most runs that one client may share per minute."),
        "imports_per_minute": ("N", click.IntRange(0), "Most files that one client may import per minute."),
        "reads_per_minute": (
            "N",
            click.IntRange(0),
            "Most answers, such as exact values, computed for one client per minute.",
        ),
        "bytes_per_minute": ("SIZE", Size(), "Most data stored for one client per minute."),
        "clients_per_address": ("N", click.IntRange(1), "An address may use the limits of this many clients."),
    }
    for name, (metavar, kind, words) in reversed(limits.items()):
        default = Settings.__dataclass_fields__[name].default
        stated = size_of(int(str(default))) if isinstance(kind, Size) else default
        command = click.option(
            f"--{name.replace('_', '-')}", name, metavar=metavar, default=stated, type=kind, help=words
        )(command)
    return command


RAY_ADDRESS = re.compile(r"auto|(?:\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):(?P<port>\d{1,5})", re.ASCII)


def check_ray(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Returns the value. Raises BadParameter unless it is the address of a cluster's head (not Ray's client or
    dashboard).
    """
    match = RAY_ADDRESS.fullmatch("auto" if value is None else value)
    if match is None or not 0 < int(match["port"] or 1) < 2**16:
        raise click.BadParameter(
            f"{value!r} is not the address of a Ray cluster's head: host:port, such as 10.0.0.7:6379, or auto. "
            "ray://… is for Ray's client, and http://… is Ray's dashboard."
        )
    return value


def check_resources(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[tuple[str, float], ...]:
    """Parses `name=amount,name=amount`. Raises click.BadParameter."""
    resources = re.findall(r"(?:^|,)\s*([A-Za-z_][\w.:-]*)=(\d+(?:\.\d+)?)\s*(?=,|$)", value)
    if len(resources) != value.count(",") + 1:
        raise click.BadParameter("it must be names with amounts, such as num_cpus=4,num_gpus=1")
    return tuple((name, float(amount)) for name, amount in resources)
