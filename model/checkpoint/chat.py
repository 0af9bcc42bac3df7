"""Chat templates: the Jinja text a model ships to lay out a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kvscope.model.api import Refused

_PROBE = ({"role": "user", "content": "Hello"},)


class ChatTemplate:
    """A template from a checkpoint, a stranger's code: it runs sandboxed, in the setting `transformers` gives it.

    One that cannot even lay out a single question is as if there were none, and says why when it is asked for.
    """

    def __init__(self, source: str | None, special_names: dict[str, Any]):
        """`special_names`: bos_token, eos_token …, which templates use by these names."""
        self._source, self._names = source, special_names
        self._missing = "This model has no chat template, so it takes a plain prompt only."
        self.exists = False
        if source is None:
            return
        try:
            self.render(_PROBE)
        except Refused as refused:
            self._missing = f"{refused.message} The model takes a plain prompt only."
        else:
            self.exists = True

    def render(self, messages: Sequence[dict[str, str]]) -> str:
        """The conversation, up to where the assistant's answer begins. Raises Refused("chat")."""
        if self._source is None or (not self.exists and messages is not _PROBE):
            raise Refused("chat", self._missing)
        try:
            template = _environment().from_string(self._source)
            given = {"messages": list(messages), "tools": None, "documents": None, "add_generation_prompt": True}
            return template.render(**self._names, **given)
        except jinja2.TemplateSyntaxError as error:
            raise Refused("chat", f"The model's chat template cannot be read: {error.message}.") from None
        except Exception as error:
            # A template can raise anything Python can; it is the checkpoint's fault, not the program's.
            raise Refused("chat", f"The model's chat template failed: {error}.") from None


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
    environment.globals["strftime_now"] = lambda layout: datetime.now().strftime(layout)
    return environment


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    # Jinja's own filter escapes HTML, which a prompt must not have.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)
