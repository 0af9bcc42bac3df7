"""Chat templates: the Jinja text a model ships to lay out a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kvscope.model.api import Refused


class ChatTemplate:
    """A template from a checkpoint, a stranger's code: it runs sandboxed, in the setting `transformers` gives it."""

    def __init__(self, source: str | None, special_names: dict[str, str]):
        """`special_names`: bos_token, eos_token …, which templates use by these names."""
        self._source, self._names = source, special_names

    @property
    def exists(self) -> bool:
        return self._source is not None

    def render(self, messages: Sequence[dict[str, str]]) -> str:
        """The conversation, up to where the assistant's answer begins. Raises Refused("chat")."""
        if self._source is None:
            raise Refused("chat", "This model has no chat template, so it takes a plain prompt only.")
        try:
            template = _environment().from_string(self._source)
            return template.render(**self._names, messages=list(messages), add_generation_prompt=True)
        except jinja2.TemplateSyntaxError as error:
            raise Refused("chat", f"The model's chat template cannot be read: {error.message}.") from None
        except Exception as error:
            # A template can raise anything Python can; it is the checkpoint's fault, not the program's.
            raise Refused("chat", f"The model's chat template failed: {error}.") from None


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda layout: datetime.now().strftime(layout)
    return environment


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    # Jinja's own filter escapes HTML, which a prompt must not have.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)
