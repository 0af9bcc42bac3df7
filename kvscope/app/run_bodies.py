"""Models of the JSON bodies that start runs. The command line and `kvscope.run` check their settings by them too.

This module imports no web library.
"""

from __future__ import annotations

import secrets
from typing import Annotated

from pydantic import Field

from kvscope.app.bodies import Body
from kvscope.model.api import RunRequest
from kvscope.model.settings import MAX_CHANGES, MAX_POSITIONS, Change, Encodable, PromptText, Sampling

ID_CHARS = 32
PLAIN_RUN = RunRequest("", "")
"""Has the defaults."""


class Prompt(Body):
    prompt: PromptText
    chat: bool = Field(PLAIN_RUN.chat, description="wrap the prompt in the model's chat template")


MODEL = "the name of one of the models of this server (`/api/models`)"


class NewRun(Prompt, Sampling):
    """A run to start."""

    max_new_tokens: int = Field(PLAIN_RUN.max_new_tokens, ge=1, le=MAX_POSITIONS)
    reuse: bool = Field(
        PLAIN_RUN.reuse,
        description="read the beginning of the prompt from the cache if a run of the same client left it there, and "
        "compute only the rest; the `open` frame has the number of tokens read. X-KVScope-Client identifies a client; "
        "a request without it shares no cache",
    )
    model: Annotated[str, Encodable] | None = Field(
        None, description=f"{MODEL}; null is the first. A model that is not loaded is, and meanwhile the answer is 503"
    )

    def of(self, run: str, owner: str) -> RunRequest:
        """Returns the request for the model side, under the id `run`."""
        sampling = Sampling(**{name: getattr(self, name) for name in Sampling.model_fields})
        return RunRequest(
            run, self.prompt, self.chat, self.max_new_tokens, sampling, self.reuse, owner, self.model or ""
        )


class ChangeRun(Body):
    """A run to repeat with changes to what the model computes."""

    changes: list[Change] = Field(min_length=1, max_length=MAX_CHANGES)


def new_id() -> str:
    """Returns a new id of a run. It cannot be guessed: whoever knows it may watch and control the run."""
    return secrets.token_hex(ID_CHARS // 2)
