"""SentencePiece's BPE (arXiv:1808.06226), which Llama 2, Mistral and TinyLlama use, as a tokenizer of `tokenizers`.

A SentencePiece model has pieces with scores, and no merges: of all pairs of neighbours the one is joined whose piece
has the highest score. `tokenizers` wants the pairs in that order. What no piece spells is written byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers
from sentencepiece import SentencePieceProcessor
from tokenizers import AddedToken, decoders, models, normalizers, processors

SPACE = "▁"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""Kinds of pieces, as GGUF and SentencePiece number them."""
_PROBE = "ﬁ  x"
"""A ligature and two spaces, of which a normalizer would make something else."""


class NotSupported(ValueError):
    """The pieces are not those of a BPE with bytes. The message completes "<file> …"."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a SentencePiece model consists of; the place of a piece is its id. `prefix`: a space is put before texts."""

    names: Sequence[str]
    scores: Sequence[float]
    kinds: Sequence[int]
    prefix: bool
    unknown: int = 0


def read_pieces(path: Path) -> Pieces:
    """The pieces of a tokenizer.model. Raises NotSupported, OSError."""
    model = SentencePieceProcessor()
    try:
        model.LoadFromSerializedProto(path.read_bytes())
    except RuntimeError:
        raise NotSupported("is not a SentencePiece model") from None
    ids = range(model.GetPieceSize())
    spelled = model.Normalize(_PROBE).replace(" ", SPACE)
    if spelled.removeprefix(SPACE) != _PROBE.replace(" ", SPACE):
        raise NotSupported(
            f"changes texts before it cuts them ({_PROBE!r} becomes {spelled!r}), which is not supported"
        )
    tests = ((model.IsUnknown, UNKNOWN), (model.IsControl, CONTROL), (model.IsUnused, UNUSED), (model.IsByte, BYTE))
    kinds = [next((kind for is_kind, kind in tests if is_kind(each)), NORMAL) for each in ids]
    names, scores = [model.IdToPiece(each) for each in ids], [model.GetScore(each) for each in ids]
    if any(kind == NORMAL and score != int(score) for score, kind in zip(scores, kinds, strict=True)):
        raise NotSupported("is of the unigram kind; SentencePiece's BPE can be read")  # whose scores are ranks
    known = set(names)
    for number, name in enumerate(names):
        # The library does not tell which pieces users defined: those that no two others make.
        halves = ((name[:at], name[at:]) for at in range(1, len(name)))
        if kinds[number] == NORMAL and len(name) > 1 and not any({a, b} <= known for a, b in halves):
            kinds[number] = USER_DEFINED
    return Pieces(names, scores, kinds, spelled.startswith(SPACE), model.unk_id())


def tokenizer_of(pieces: Pieces) -> tokenizers.Tokenizer:
    """Cuts texts as SentencePiece does; control pieces and user-defined ones are found as they are written.

    Raises NotSupported.
    """
    if BYTE not in pieces.kinds:
        raise NotSupported("has a SentencePiece vocabulary without bytes, which is not supported")
    vocab = {name: number for number, name in enumerate(pieces.names)}
    if len(vocab) != len(pieces.names):
        raise NotSupported("is corrupted: a piece of its vocabulary is there twice")
    inner = tokenizers.Tokenizer(
        models.BPE(
            vocab=vocab,
            merges=_merges(pieces, vocab),
            unk_token=pieces.names[pieces.unknown],
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    spaces = normalizers.Replace(" ", SPACE)
    inner.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), spaces] if pieces.prefix else [spaces])
    inner.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    for kinds, special in (((UNKNOWN, CONTROL), True), ((USER_DEFINED,), False)):
        names = (name for name, kind in zip(pieces.names, pieces.kinds, strict=True) if kind in kinds)
        inner.add_tokens([AddedToken(name, special=special, normalized=False) for name in names])
    return inner


def put_first(inner: tokenizers.Tokenizer, token: str, last: str | None = None) -> None:
    """Begin each text with the special token, and end it with `last`."""
    ends = [last] if last is not None else []
    ids = [(name, inner.token_to_id(name)) for name in (token, *ends)]
    inner.post_processor = processors.TemplateProcessing(
        single=[token, "$A", *ends], pair=[token, "$A", "$B", *ends], special_tokens=ids
    )


def _merges(pieces: Pieces, vocab: dict[str, int]) -> list[tuple[str, str]]:
    """Every way to put a piece together from two, the highest score first; of one piece, in the order of the halves."""
    found = []
    for name, score, kind in zip(pieces.names, pieces.scores, pieces.kinds, strict=True):
        if kind == NORMAL:
            halves = ((name[:at], name[at:]) for at in range(1, len(name)))
            found += [(-score, vocab[a], vocab[b], a, b) for a, b in halves if a in vocab and b in vocab]
    return [(a, b) for *_, a, b in sorted(found)]
