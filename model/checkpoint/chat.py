"""Chat templates: the Jinja text a model ships to lay out a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kvscope.model.api import Refused

_PROBE = ({"role": "user", "content": "Hello"},)
_LONGEST_REASON = 300


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
            return _environment().from_string(source).render(**self._names, **given)
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


def _environment() -> ImmutableSandboxedEnvironment:
    extensions = [loopcontrols, _Generation]
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    environment.filters["tojson"] = _to_json
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
