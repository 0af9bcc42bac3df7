"""Build a tokenizer of `tokenizers` for SentencePiece's BPE (arXiv:1808.06226), as in Llama 2, Mistral and TinyLlama.

A SentencePiece model has pieces with scores, and no merges: the pair of neighbours whose joined piece has the highest
score is joined first. Text without a piece is encoded byte by byte.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers
from sentencepiece import SentencePieceProcessor
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

SPACE = "▁"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""Kinds of pieces, with the numbers of GGUF and SentencePiece."""
_PROBE = "ﬁ  x"
"""A ligature and two spaces, which a normalizer would change."""


class NotSupported(ValueError):
    """The pieces are not of a BPE with bytes. The message completes "<file> …"."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The contents of a SentencePiece model; a piece's index is its id. `prefix`: whether texts get a space first."""

    names: Sequence[str]
    scores: Sequence[float]
    kinds: Sequence[int]
    prefix: bool
    unknown: int = 0


def read_pieces(path: Path) -> Pieces:
    """Reads the pieces of a tokenizer.model. Raises NotSupported, OSError."""
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
        raise NotSupported("is of the unigram kind; SentencePiece's BPE can be read")  # a BPE's scores are ranks
    known = set(names)
    for number, name in enumerate(names):
        # The library does not mark user-defined pieces: they are the pieces that no two other pieces form.
        halves = ((name[:at], name[at:]) for at in range(1, len(name)))
        if kinds[number] == NORMAL and len(name) > 1 and not any({a, b} <= known for a, b in halves):
            kinds[number] = USER_DEFINED
    return Pieces(names, scores, kinds, spelled.startswith(SPACE), model.unk_id())


def tokenizer_of(
    pieces: Pieces, joined: Collection[int] = (NORMAL, USER_DEFINED, UNUSED)
) -> tuple[tokenizers.Tokenizer, dict[str, float]]:
    """Returns a tokenizer that splits texts as SentencePiece does, and matches control and user-defined pieces whole;
    and the scores of the pieces that neighbours may form, which are of the kinds `joined`. Raises NotSupported.
    """
    if BYTE not in pieces.kinds:
        raise NotSupported("has a SentencePiece vocabulary without bytes, which is not supported")
    vocab = {name: number for number, name in enumerate(pieces.names)}
    if len(vocab) != len(pieces.names):
        raise NotSupported("is corrupted: a piece of its vocabulary is there twice")
    # With `ignore_merges` a word that is a piece gets its id: `_Joining` splits into pieces, this looks up their ids.
    inner = tokenizers.Tokenizer(
        models.BPE(
            vocab=vocab, merges=[], unk_token=pieces.names[pieces.unknown], byte_fallback=True, ignore_merges=True
        )
    )
    spaces = normalizers.Replace(" ", SPACE)
    inner.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), spaces] if pieces.prefix else [spaces])
    scored = zip(pieces.names, pieces.scores, pieces.kinds, strict=True)
    scores = {name: score for name, score, kind in scored if kind in joined}
    inner.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(_Joining(scores))
    inner.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    for kinds, special in (((UNKNOWN, CONTROL), True), ((USER_DEFINED,), False)):
        names = (name for name, kind in zip(pieces.names, pieces.kinds, strict=True) if kind in kinds)
        inner.add_tokens([AddedToken(name, special=special, normalized=False) for name in names])
    return inner, scores


class _Joining:
    """Splits a text into pieces. It joins the neighbours whose piece has the highest score, the leftmost of equals.

    The list of merges in `tokenizers` cannot express "the leftmost of equals".
    """

    def __init__(self, scores: Mapping[str, float]):
        self._scores = scores

    def pre_tokenize(self, text: tokenizers.PreTokenizedString) -> None:
        text.split(lambda _, part: [part[start:end] for start, end in self.spans(str(part))])

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Returns the begin and the end of each piece."""
        ends = list(range(1, len(text) + 1))  # the end of the piece that begins there; 0 if none does
        before = list(range(-1, len(text) - 1))
        queue: list[tuple[float, int, int]] = []

        def consider(left: int) -> None:
            if left >= 0 and (right := ends[left]) < len(text):
                score = self._scores.get(text[left : ends[right]])
                if score is not None:
                    heapq.heappush(queue, (-score, left, ends[right]))

        for left in range(len(text)):
            consider(left)
        while queue:
            _, left, end = heapq.heappop(queue)
            right = ends[left]
            if not right or right >= len(text) or ends[right] != end:
                continue  # one of the two was joined to another piece meanwhile
            ends[left], ends[right] = end, 0
            if end < len(text):
                before[end] = left
            consider(before[left])
            consider(left)
        return [(start, end) for start, end in enumerate(ends) if end]


def put_around(inner: tokenizers.Tokenizer, first: str | None, last: str | None) -> None:
    """Lets each text begin and end with these special tokens."""
    firsts, lasts = ([token] if token is not None else [] for token in (first, last))
    ids = [(token, inner.token_to_id(token)) for token in dict.fromkeys((*firsts, *lasts))]
    inner.post_processor = processors.TemplateProcessing(
        single=[*firsts, "$A", *lasts], pair=[*firsts, "$A", *lasts, *firsts, "$B", *lasts], special_tokens=ids
    )
