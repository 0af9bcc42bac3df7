"""Reads request bodies of the HTTP contract.

Everything a client can get wrong ends in a Problem that names the field and the limit.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection
from typing import Any

from kvscope.app.http.problems import Problem
from kvscope.model.api import (
    MAX_BEAM_LENGTH,
    MAX_BEAMS,
    MAX_CANDIDATE_CHARS,
    MAX_NEW_TOKENS,
    MAX_PROMPT_CHARS,
    Caching,
    RunRequest,
    Sampling,
)

MAX_BODY_BYTES = 128 * 1024
"""A prompt of the greatest length still fits when every character is written as two escapes of six bytes."""
STRATEGIES = ("greedy", "sample")
ACTIONS = ("pause", "resume", "step", "stop")
TWINS: tuple[Caching, ...] = ("none", "forgotten")
MAX_SEED = 2**31 - 1
MAX_TOP_K = 1000
MAX_TEMPERATURE = 5

QUERY_INTEGER = re.compile(r"-?[0-9]{1,30}")
"""No underscores, spaces or digits of other scripts, which `int` takes."""

RUN_FIELDS = ("prompt", "chat", "max_new_tokens", "strategy", "temperature", "top_k", "top_p", "seed", "model")


def new_id() -> str:
    """A run's id. Not to be guessed: whoever has it may watch and control the run."""
    return secrets.token_hex(16)


def read_object(body: bytes, known: Collection[str]) -> dict[str, Any]:
    """The JSON object in `body`, whose members must be among `known`.

    NaN and Infinity are read, for the field's own check.
    """
    try:
        parsed = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Problem(400, f"The body is not valid UTF-8 (byte {error.start}).", field="body") from None
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"The body is not valid JSON: {str(error) or 'nested too deeply'}.", field="body") from None
    if not isinstance(parsed, dict):
        raise Problem(400, "The body must be a JSON object.", field="body")
    _only(parsed, known)
    return parsed


def members(value: Any, known: Collection[str], name: str) -> dict[str, Any]:
    """The members of the object `value`, which must be among `known`, under their full names, such as `open.step`."""
    if not isinstance(value, dict):
        raise Problem(422, f"{name} must be an object.", field=name, limit=list(known))
    fields = {f"{name}.{member}": content for member, content in value.items()}
    _only(fields, [f"{name}.{member}" for member in known])
    return fields


def _only(fields: dict[str, Any], known: Collection[str]) -> None:
    unknown = sorted(set(fields) - set(known))
    if unknown:
        name = unknown[0].encode("utf-8", "replace").decode()[:80]
        raise Problem(400, f"There is no field {name!r}.", field=name, limit=list(known))


def read_run(body: bytes, run: str) -> tuple[RunRequest, str | None]:
    """The run that `body` asks for under the id `run`, and the model it names, if any."""
    fields = read_object(body, RUN_FIELDS)
    request = run_from(fields, run)
    model = fields.get("model")
    return request, None if model is None else valid_text(model, "model")


def run_from(fields: dict[str, Any], run: str) -> RunRequest:
    """The run that checked `fields` describe; absent ones take the defaults of model.api."""
    defaults, sampling = RunRequest(run, ""), Sampling()
    return RunRequest(
        run=run,
        prompt=_prompt(fields),
        chat=_boolean(fields, "chat", defaults.chat),
        max_new_tokens=integer(fields, "max_new_tokens", 1, MAX_NEW_TOKENS, defaults.max_new_tokens),
        sampling=Sampling(
            strategy=choice(fields, "strategy", STRATEGIES, sampling.strategy),
            temperature=_number(fields, "temperature", MAX_TEMPERATURE, sampling.temperature),
            top_k=integer(fields, "top_k", 0, MAX_TOP_K, sampling.top_k),
            top_p=_number(fields, "top_p", 1, sampling.top_p),
            seed=integer(fields, "seed", 0, MAX_SEED, sampling.seed),
        ),
    )


def read_action(body: bytes) -> str:
    """The action of a control request."""
    return choice(read_object(body, ("action",)), "action", ACTIONS, None)


def read_twin(body: bytes) -> Caching:
    """What becomes of the cache of the twin that is asked for."""
    asked = choice(read_object(body, ("cache",)), "cache", TWINS, None)
    return next(caching for caching in TWINS if caching == asked)


def read_beam(body: bytes) -> tuple[dict[str, Any], int, int]:
    """All fields of a beam search, with the number of beams and of tokens; `step` depends on the run."""
    fields = read_object(body, ("step", "beams", "length"))
    return fields, integer(fields, "beams", 1, MAX_BEAMS), integer(fields, "length", 1, MAX_BEAM_LENGTH)


def integer(fields: dict[str, Any], name: str, low: int, high: int, default: int | None = None) -> int:
    """An integer from `low` to `high`; `default` when the field is absent, None meaning that it is required."""
    value = _present(fields, name, default, [low, high])
    if isinstance(value, bool) or not isinstance(value, int):
        raise Problem(422, f"{name} must be an integer.", field=name, limit=[low, high])
    if not low <= value <= high:
        raise Problem(422, f"{name} must be from {low} to {high}.", field=name, limit=[low, high])
    return value


def read_candidate(text: str | None) -> str:
    """The word of a query for a candidate. Raises Problem."""
    limit = [1, MAX_CANDIDATE_CHARS]
    if text is None:
        raise Problem(422, "text is missing.", field="text", limit=limit)
    if not 1 <= len(text) <= MAX_CANDIDATE_CHARS:
        raise Problem(422, f"text must have 1 to {MAX_CANDIDATE_CHARS} characters.", field="text", limit=limit)
    return valid_text(text, "text")


def query_integer(text: str | None, name: str, low: int, high: int, default: int | None = None) -> int:
    """The same for a value of a query string."""
    if text is None:
        return integer({}, name, low, high, default)
    if not QUERY_INTEGER.fullmatch(text):
        raise Problem(422, f"{name} must be an integer.", field=name, limit=[low, high])
    return integer({name: int(text)}, name, low, high)


def _prompt(fields: dict[str, Any]) -> str:
    value = _present(fields, "prompt", None, [1, MAX_PROMPT_CHARS])
    if isinstance(value, str) and len(value) > MAX_PROMPT_CHARS:
        detail = f"The prompt has {len(value)} characters; at most {MAX_PROMPT_CHARS} are taken."
        raise Problem(413, detail, field="prompt", limit=MAX_PROMPT_CHARS)
    prompt = valid_text(value, "prompt")
    if not prompt:
        raise Problem(422, "The prompt is empty.", field="prompt", limit=[1, MAX_PROMPT_CHARS])
    return prompt


def valid_text(value: Any, name: str) -> str:
    """Text that can be encoded. Raises Problem."""
    if not isinstance(value, str):
        raise Problem(422, f"{name} must be text.", field=name)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        detail = f"{name} is not valid Unicode: half of a surrogate pair at character {error.start}."
        raise Problem(400, detail, field=name) from None
    return value


def _boolean(fields: dict[str, Any], name: str, default: bool) -> bool:
    value = _present(fields, name, default)
    if not isinstance(value, bool):
        raise Problem(422, f"{name} must be true or false.", field=name)
    return value


def choice(fields: dict[str, Any], name: str, choices: tuple[str, ...], default: str | None) -> str:
    """One of `choices`; `default` when the field is absent, None meaning that it is required."""
    value = _present(fields, name, default, list(choices))
    if value not in choices:
        raise Problem(422, f"{name} must be one of {', '.join(choices)}.", field=name, limit=list(choices))
    return str(value)


def _number(fields: dict[str, Any], name: str, high: int, default: float) -> float:
    """A number above 0, at most `high`."""
    value = _present(fields, name, default, [0, high])
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= high:  # NaN compares false
        raise Problem(422, f"{name} must be a number above 0, at most {high}.", field=name, limit=[0, high])
    return float(value)


def _present(fields: dict[str, Any], name: str, default: Any, limit: Any = None) -> Any:
    value = fields.get(name, default)
    if value is None:
        raise Problem(422, f"{name} is missing.", field=name, limit=limit)
    return value
