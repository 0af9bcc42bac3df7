from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.kv_cache import KVCache, Sequence
from kvscope.model.transformer import Transformer
from tests.support.tiny import ARCHS, prompt, shared_model, whole_logits


class Feeder:
    """Feeds sequences through one pool, as many new ids of each as asked, all in one batch."""

    def __init__(self, model: Transformer, texts: list[list[int]], blocks: int = 40):
        self.model, self.texts = model, texts
        self.pool = KVCache(model.config, blocks)
        self.pool.pool.fill_(torch.nan)
        self.sequences = [Sequence() for _ in texts]

    def feed(self, counts: list[int]) -> dict[int, Tensor]:
        """Logits [V] of the last new row, by index of the text; texts with count 0 stay out."""
        entries, fed = [], [index for index, count in enumerate(counts) if count]
        for index in fed:
            sequence, first = self.sequences[index], self.sequences[index].length
            new = self.pool.extend(sequence, counts[index])
            ids = self.texts[index][first : sequence.length]
            entries.append(Entry(ids, first, new, self.pool.slots(sequence)))
        batch, order = make_batch(entries, self.model.config.window)
        logits = self.model(batch, self.pool)
        return {fed[place]: logits[row] for row, place in enumerate(order)}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("chunk", [1, 7, 16])
def test_prefill_in_chunks_and_decode_equal_whole_prefill(arch: str, chunk: int) -> None:
    model, ids = shared_model(arch), prompt(53)
    feeder, expected = Feeder(model, [ids]), whole_logits(model, ids)
    for first in range(0, len(ids), chunk):
        new = min(chunk, len(ids) - first)
        assert (feeder.feed([new])[0] - expected[first + new - 1]).abs().max() < 1e-4


@pytest.mark.parametrize("arch", ARCHS)
def test_a_ragged_batch_equals_each_sequence_alone(arch: str) -> None:
    """Unlike chunks, unlike lengths, sequences that come and go: groups, padding and masks of every kind."""
    model = shared_model(arch)
    texts = [prompt(length, seed) for seed, length in enumerate((60, 33, 17, 17, 1))]
    feeder = Feeder(model, texts)
    expected = [whole_logits(model, text) for text in texts]
    for counts in ([16, 0, 16, 1, 1], [7, 16, 1, 1, 0], [16, 16, 0, 15, 0], [1, 1, 0, 0, 0], [20, 0, 0, 0, 0]):
        for index, logits in feeder.feed(counts).items():
            row = feeder.sequences[index].length - 1
            assert (logits - expected[index][row]).abs().max() < 1e-4
    assert [sequence.length for sequence in feeder.sequences] == [60, 33, 17, 17, 1]


def test_one_sequences_nan_does_not_reach_another() -> None:
    """Neither through padding, nor through a block it gave back."""
    model, texts = shared_model(), [prompt(40, 1), prompt(3, 2)]
    feeder = Feeder(model, texts)
    feeder.feed([20, 2])
    feeder.pool.pool[:, :, :, feeder.pool.slots(feeder.sequences[0])] = torch.nan
    logits = feeder.feed([1, 1])
    assert logits[0].isnan().all()
    assert (logits[1] - whole_logits(model, texts[1])[-1]).abs().max() < 1e-4

    feeder.pool.release(feeder.sequences[0])
    feeder.texts[0] = prompt(5, 3)
    assert (feeder.feed([5, 0])[0] - whole_logits(model, feeder.texts[0])[-1]).abs().max() < 1e-4


def test_entries_stand_by_count_and_lengths_follow() -> None:
    pool, sequences = KVCache(shared_model().config, 10), [Sequence(), Sequence(), Sequence()]
    counts = (3, 1, 3)
    entries = []
    for sequence, count in zip(sequences, counts, strict=True):
        new = pool.extend(sequence, count)
        entries.append(Entry([7] * count, 0, new, pool.slots(sequence)))
    batch, order = make_batch(entries)
    assert order == [1, 0, 2]
    assert [group.lengths for group in batch.groups] == [(1,), (3, 3)]
    assert [(group.start, group.sequences, group.queries, group.keys) for group in batch.groups] == [
        (0, 1, 1, 1),
        (1, 2, 3, 3),
    ]
    assert batch.positions.tolist() == [0, 0, 1, 2, 0, 1, 2]
    assert batch.out_rows.tolist() == [0, 3, 6]
    assert batch.slots.tolist() == [16, 0, 1, 2, 32, 33, 34]
