"""Checks a workload and tokenizes its prompts before it is admitted."""

from __future__ import annotations

from kvscope.model.api import Refused
from kvscope.model.checkpoint import Tokenizer
from kvscope.model.checkpoint.chat import PLAIN_WORKS
from kvscope.model.config import ModelConfig
from kvscope.model.log import schema
from kvscope.model.serving.request import Tokenized
from kvscope.model.settings import MAX_CONVERSATION, MAX_JOIN_PROMPT, MAX_WORKLOAD_ROWS, Ask, Join, Message, Workload


def tokenized(workload: Workload, tokenizer: Tokenizer, most_positions: int, config: ModelConfig) -> list[Tokenized]:
    """Returns the requests with their prompts' ids. Raises Refused, which names the request or the round."""
    requests = [
        _tokenized(ask, f"requests[{number}]", workload.system, tokenizer, most_positions)
        for number, ask in enumerate(workload.requests)
    ]
    for number, settings in enumerate(workload.rounds):
        if settings.draft is not None and settings.draft.layers > config.layers:
            field = f"rounds[{number}].draft.layers"
            message = f"{field} is {settings.draft.layers}; the model has {config.layers}."
            raise Refused(field, message, limit=config.layers)
        if settings.prefix == "blocks" and config.window is not None:
            field = f"rounds[{number}].prefix"
            message = (
                f'{field} is "blocks"; layers of this model drop the rows before a window, so a block cannot be found '
                'again. Choose "tokens".'
            )
            raise Refused(field, message)
    for number, (ask, request) in enumerate(zip(workload.requests, requests, strict=True)):
        field = f"requests[{number}]"
        _refuse_too_long(request, field, most_positions)
        before = ask.retry_of
        if before is not None and not (before < number and workload.requests[before].is_cancelled):
            raise Refused(f"{field}.retry_of", f"{field}.retry_of must be an earlier request that is cancelled.")
    rows = len(workload.rounds) * sum(request.most_positions for request in requests)
    if rows > MAX_WORKLOAD_ROWS:
        message = (
            f"The requests may need {rows:,} rows in all rounds together; a workload has at most {MAX_WORKLOAD_ROWS:,}."
        )
        raise Refused("requests", message, limit=MAX_WORKLOAD_ROWS)
    return requests


def joining(
    join: Join, system: str, arrives_ms: int, tokenizer: Tokenizer, most_positions: int
) -> tuple[Ask, Tokenized]:
    """Returns the request that joins a running workload with that system prompt. Raises Refused."""
    ask = Ask(**join.model_dump(), arrives_ms=arrives_ms)
    request = _tokenized(ask, "", system, tokenizer, MAX_JOIN_PROMPT)
    _refuse_too_long(request, "prompt", most_positions)
    return ask, request


def _refuse_too_long(request: Tokenized, field: str, most_positions: int) -> None:
    if request.most_positions > most_positions:
        message = f"{field} may need {request.most_positions:,} positions; a run has at most {most_positions:,}."
        raise Refused(field, message, limit=most_positions)


def _tokenized(ask: Ask, request: str, system: str, tokenizer: Tokenizer, most: int) -> Tokenized:
    """`request`: its name in messages, "" if it is the only one; `most`: tokens of a prompt."""
    member = "prompt" if ask.messages is None else "messages"
    field = f"{request}.{member}".removeprefix(".")
    if ask.messages is not None:
        text = said = _conversation(ask.messages, field, tokenizer)
    else:
        said = ask.prompt or ""
        text = _laid_out(said, system, tokenizer) if tokenizer.has_chat else f"{system}\n\n{said}" if system else said
    ids = tokenizer.encode(text, special=tokenizer.has_chat, field=field)
    if not 0 < len(ids) <= most:
        message = f"{field} has {len(ids):,} tokens; it must have 1 to {most:,}."
        raise Refused(field, message, limit=most)
    limits = ask.max_new_tokens, ask.arrives_ms, ask.cancel_ms, ask.cancel_tokens, ask.retry_of
    return Tokenized(ids, *limits, said)


def _conversation(messages: list[Message], field: str, tokenizer: Tokenizer) -> str:
    """Returns the conversation in the model's chat template; without one, a single question as it stands. Raises
    Refused.
    """
    characters = sum(len(each.content) for each in messages)
    if characters > MAX_CONVERSATION:
        message = f"{field} has {characters:,} characters; the limit is {MAX_CONVERSATION:,}."
        raise Refused(field, message, limit=MAX_CONVERSATION)
    if not tokenizer.has_chat:
        if [each.role for each in messages] == ["user"]:
            return messages[0].content
        raise Refused(field, f"{field} is a conversation, and this model has no chat template. Send a prompt.")
    try:
        return tokenizer.chat([each.model_dump() for each in messages])
    except Refused as why:
        raise Refused(field, f"{field}: {why.message.removesuffix(PLAIN_WORKS)}") from None


def _laid_out(prompt: str, system: str, tokenizer: Tokenizer) -> str:
    """Returns the prompt in the model's chat template, after the system prompt. Raises Refused("chat")."""
    if system:
        try:
            return tokenizer.chat([{"role": "system", "content": system}, {"role": "user", "content": prompt}])
        except Refused:
            # Many templates have no system role; the ones of Gemma and Mistral put its text before the question.
            prompt = f"{system}\n\n{prompt}"
    return tokenizer.chat([{"role": "user", "content": prompt}])


def study_of(workload: Workload, requests: list[Tokenized]) -> schema.Serving:
    """Returns the `study` of the workload's first frame."""
    return schema.Serving(
        kind="serving",
        system=workload.system,
        requests=[served(ask, request) for ask, request in zip(workload.requests, requests, strict=True)],
        rounds=workload.rounds,
    )


def served(ask: Ask, request: Tokenized) -> schema.ServedRequest:
    """Returns a request in the form of the log."""
    asked = ask.model_dump() | {"prompt": request.text, "messages": ask.messages and len(ask.messages)}
    return schema.ServedRequest(**asked, tokens=len(request.ids))
