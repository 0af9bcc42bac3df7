"""Chat templates: the Jinja text of a checkpoint that formats a conversation as a prompt."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property, wraps
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kvscope.model.api import Refused

_PROBE = ({"role": "user", "content": "Hello"},)
_LONGEST_REASON = 300
_SECONDS = 0.5
"""Limit of processor time for one conversation; a usual template takes milliseconds."""
_LARGEST = 10_000_000
"""Limit of the characters or items in the result of one operation, and of the base of a power."""
_LARGEST_BITS = 4096
"""Limit of the bits of a product of integers."""
PLAIN_WORKS = " Without chat, a plain prompt works."
"""The end of each refusal."""
_WIDE = re.compile(r"\d{5}|\*")
"""A width in a format text that may be too large."""
_WIDENING = ("center", "indent", "batch", "slice", "round", "wordwrap", "tojson", "truncate")
"""Filters with a numeric argument that determines how much they write."""


class ChatTemplate:
    """A template from a checkpoint: untrusted code that runs in a sandbox, with the variables of `transformers`.

    A template that cannot format a single question counts as missing; `render` then says why. The template does not run
    before it is used, so no template can prevent a model from loading.
    """

    def __init__(self, source: object, special_names: dict[str, str]):
        """`source`: the text; or several by name, as a dict or as a list of {"name", "template"}; or None.

        `special_names`: bos_token, eos_token …, the names by which templates use these tokens.
        """
        self._source, self.special_names = source, special_names

    @cached_property
    def refusal(self) -> str | None:
        """Why the template cannot format a single question, in one sentence or two; None if it can."""
        try:
            self.render(_PROBE)
        except Refused as why:
            return why.message
        return None

    def source(self) -> str:
        """Returns the template for a conversation without tools. Raises Refused("chat")."""
        return _without_tools(self._source)

    def render(self, messages: Sequence[dict[str, str]]) -> str:
        """Formats the conversation up to the beginning of the assistant's answer. Raises Refused("chat")."""
        source = self.source()
        variables = {"messages": list(messages), "tools": None, "documents": None, "add_generation_prompt": True}
        try:
            text = _environment().template(source).render(**self.special_names, **variables)
            text.encode()
            return text
        except UnicodeEncodeError:
            raise _unavailable("The model's chat template writes half a character (a lone surrogate)") from None
        except jinja2.TemplateSyntaxError as error:
            raise _unavailable(f"The model's chat template cannot be read: {error.message}") from None
        except Exception as error:
            # A template can raise any exception. That is an error of the checkpoint, not of KVScope.
            raise _unavailable(f"The model's chat template failed: {error}") from None


def _without_tools(source: object) -> str:
    """Returns the template among those of a checkpoint. Raises Refused("chat")."""
    if isinstance(source, list):
        source = {each.get("name"): each.get("template") for each in source if isinstance(each, dict)}
    if isinstance(source, dict):
        if "default" not in source:
            names = ", ".join(sorted(map(repr, source))) or "none"
            raise _unavailable(f"The model names its chat templates ({names}), and none is named 'default'")
        source = source["default"]
    if source is None:
        raise _unavailable("This model has no chat template")
    if not isinstance(source, str):
        raise _unavailable(f"The model's chat template is not a text but of type {type(source).__name__}")
    return source


def _unavailable(why: str) -> Refused:
    return Refused("chat", f"{why[:_LONGEST_REASON].rstrip('. ')}.{PLAIN_WORKS}")


class _Generation(Extension):
    """Accepts `{% generation %}`, which marks the assistant's text for training. It does not change the text."""

    tags = {"generation"}  # noqa: RUF012 (Jinja declares it so)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class _Bounded(ImmutableSandboxedEnvironment):
    """A sandbox with limits: on the time of loops and calls, and on the sizes of values."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(self, **options: Any):
        super().__init__(**options)
        self._until = time.thread_time() + _SECONDS  # this clock stops while other threads compute

    def template(self, source: str) -> jinja2.Template:
        """Compiles the template with a check of the time in every iteration of every loop."""
        tree = self.parse(source)
        for loop in tree.find_all(nodes.For):
            check = nodes.Call(nodes.EnvironmentAttribute("in_time"), [], [], None, None, lineno=loop.lineno)
            if loop.test is None:
                loop.body.insert(0, nodes.ExprStmt(check, lineno=loop.lineno))
            else:
                loop.test = nodes.And(check, loop.test, lineno=loop.lineno)
        return jinja2.Template.from_code(self, self.compile(tree), self.make_globals(None))

    def in_time(self) -> bool:
        """Returns True. Raises TemplateRuntimeError if the time limit is exceeded."""
        if time.thread_time() > self._until:
            raise jinja2.TemplateRuntimeError(f"it takes longer than {_SECONDS:g} seconds, as if it ran forever")
        return True

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        __self.in_time()
        _check_widths(*args, *kwargs.values())
        method = getattr(__obj, "__wrapped__", __obj)  # the sandbox wraps the methods that format
        text = getattr(method, "__self__", None)
        if isinstance(text, str) and method.__name__ in ("format", "format_map"):
            _check_format(text)
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            _check_format(left)
        sizes = [len(each) if hasattr(each, "__len__") else None for each in (left, right)]
        much = False
        if operator == "**":
            much = abs(right) > 64 or abs(left) > _LARGEST
        elif operator == "*" and sizes != [None, None]:
            much = (left if sizes[0] is None else sizes[0]) * (right if sizes[1] is None else sizes[1]) > _LARGEST
        elif operator == "*" and isinstance(left, int) and isinstance(right, int):
            much = left.bit_length() + right.bit_length() > _LARGEST_BITS
        elif operator == "+" and None not in sizes:
            much = sum(size or 0 for size in sizes) > _LARGEST
        if much:
            raise jinja2.TemplateRuntimeError(f"it creates a value that is too large with {operator}")
        return super().call_binop(context, operator, left, right)


def _check_widths(*arguments: Any) -> None:
    """Raises TemplateRuntimeError for a number that is too large for a width, indent or count in a prompt."""
    if any(isinstance(each, int) and abs(each) > _LARGEST for each in arguments):
        raise jinja2.TemplateRuntimeError(f"it calls something with a number above {_LARGEST:,}")


def _check_format(text: str) -> None:
    """Raises TemplateRuntimeError for a format text with too large a width."""
    if _WIDE.search(text):
        raise jinja2.TemplateRuntimeError("it formats a value to a width of more than 9,999 characters")


def _bounded(name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a filter to check its widths. The library's attributes on the filter stay on the wrapper."""

    @wraps(apply)
    def bounded(*arguments: Any, **named: Any) -> Any:
        if name == "format":
            _check_format(next((str(each) for each in arguments if isinstance(each, str)), ""))
        else:
            _check_widths(*arguments, *named.values())
        return apply(*arguments, **named)

    return bounded


def _environment() -> _Bounded:
    environment = _Bounded(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation], optimized=False
    )
    environment.filters["tojson"] = _to_json
    for name in ("format", *_WIDENING):
        environment.filters[name] = _bounded(name, environment.filters[name])
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda format: datetime.now().strftime(format)
    return environment


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _to_json(
    x: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # Jinja's filter escapes HTML, which would change a prompt.
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
