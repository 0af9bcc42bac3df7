"""Chat templates: the Jinja text a model ships to lay out a conversation."""

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
"""Of a processor, for one conversation; a template takes thousandths of one."""
_LARGEST = 10_000_000
"""Characters or items that one operation may make, and the largest base of a power."""
_LARGEST_BITS = 4096
"""Of a whole number."""
_WIDE = re.compile(r"\d{5}|\*")
"""In a text with places to fill: one that may be wider than its value."""
_WIDENING = ("center", "indent", "batch", "slice", "round", "wordwrap", "tojson", "truncate")
"""Filters that a number tells how much to write."""


class ChatTemplate:
    """A template from a checkpoint, a stranger's code: it runs sandboxed, in the setting `transformers` gives it.

    One that cannot even lay out a single question is as if there were none, and says why when it is asked for.
    Nothing of it runs before that, so no template can keep a model from loading.
    """

    def __init__(self, source: object, special_names: dict[str, str]):
        """`source`: the text, or several by name, as a dict or as a list of {"name", "template"}; None: there is none.

        `special_names`: bos_token, eos_token …, which templates use by these names.
        """
        self._source, self._names = source, special_names

    @cached_property
    def exists(self) -> bool:
        """Whether it lays out a single question."""
        try:
            self.render(_PROBE)
        except Refused:
            return False
        return True

    def render(self, messages: Sequence[dict[str, str]]) -> str:
        """The conversation, up to where the assistant's answer begins. Raises Refused("chat")."""
        source = _without_tools(self._source)
        given = {"messages": list(messages), "tools": None, "documents": None, "add_generation_prompt": True}
        try:
            text = _environment().template(source).render(**self._names, **given)
            text.encode()
            return text
        except UnicodeEncodeError:
            raise _unavailable("The model's chat template writes half a character (a lone surrogate)") from None
        except jinja2.TemplateSyntaxError as error:
            raise _unavailable(f"The model's chat template cannot be read: {error.message}") from None
        except Exception as error:
            # A template can raise anything Python can; it is the checkpoint's fault, not the program's.
            raise _unavailable(f"The model's chat template failed: {error}") from None


def _without_tools(source: object) -> str:
    """The template that is for a conversation without tools. Raises Refused("chat")."""
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
    return Refused("chat", f"{why[:_LONGEST_REASON].rstrip('. ')}. Without chat, a plain prompt works.")


class _Generation(Extension):
    """`{% generation %}`, with which a template marks what an assistant says, for training. It changes no text."""

    tags = {"generation"}  # noqa: RUF012 (Jinja declares it so)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class _Bounded(ImmutableSandboxedEnvironment):
    """A sandbox that ends, too: neither loops nor macros go on for long, and nothing is multiplied without bound."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(self, **options: Any):
        super().__init__(**options)
        self._until = time.thread_time() + _SECONDS  # which does not pass while others compute

    def template(self, source: str) -> jinja2.Template:
        """Compile, with a look at the clock in every round of every loop."""
        tree = self.parse(source)
        for loop in tree.find_all(nodes.For):
            look = nodes.Call(nodes.EnvironmentAttribute("in_time"), [], [], None, None, lineno=loop.lineno)
            if loop.test is None:
                loop.body.insert(0, nodes.ExprStmt(look, lineno=loop.lineno))
            else:
                loop.test = nodes.And(look, loop.test, lineno=loop.lineno)
        return jinja2.Template.from_code(self, self.compile(tree), self.make_globals(None))

    def in_time(self) -> bool:
        """Raises TemplateRuntimeError where the time is up."""
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


def _check_widths(*given: Any) -> None:
    """Raises TemplateRuntimeError for a number that no width, indent or count in a prompt is."""
    if any(isinstance(each, int) and abs(each) > _LARGEST for each in given):
        raise jinja2.TemplateRuntimeError(f"it calls something with a number above {_LARGEST:,}")


def _check_format(text: str) -> None:
    """Raises TemplateRuntimeError."""
    if _WIDE.search(text):
        raise jinja2.TemplateRuntimeError("it formats a value to a width of more than 9,999 characters")


def _bounded(name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, without widths that have no bound. What the library marks on a filter stays on it."""

    @wraps(apply)
    def bounded(*given: Any, **named: Any) -> Any:
        if name == "format":
            _check_format(next((str(each) for each in given if isinstance(each, str)), ""))
        else:
            _check_widths(*given, *named.values())
        return apply(*given, **named)

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
    # Jinja's own filter escapes HTML, which a prompt must not have.
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
