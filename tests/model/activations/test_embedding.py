"""A token's row, its nearest by cosine over the whole vocabulary, and the plane through them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kvscope.model.activations.embedding import NEAREST, beside, neighbourhood, plane
from tests.support.tiny import ARCHS, random_weights, shared_model


@pytest.mark.parametrize("arch", ARCHS)
def test_the_row_is_the_checkpoints_and_the_nearest_are_those_of_all(arch: str) -> None:
    model = shared_model(arch)
    table = random_weights(model.config)["embed.weight"].double().numpy()
    found = neighbourhood(model.embed, len(table), 41)
    np.testing.assert_array_equal(np.float32(found.row), np.float32(table[41]))
    assert found.length == pytest.approx(np.linalg.norm(table[41]), rel=1e-6)
    cosines = table @ table[41] / np.linalg.norm(table, axis=1) / np.linalg.norm(table[41])
    expected = [other for other in np.argsort(-cosines) if other != 41][:NEAREST]
    assert [other for other, _ in found.nearest] == expected
    np.testing.assert_allclose([cosine for _, cosine in found.nearest], cosines[expected], atol=1e-6)


def test_the_plane_is_that_of_the_largest_eigenvalues_of_their_covariance() -> None:
    rows = torch.randn(13, 40, generator=torch.Generator().manual_seed(3))
    points, kept = plane(rows)
    centred = (rows.double() - rows.double().mean(dim=0)).numpy()
    values, vectors = np.linalg.eigh(centred.T @ centred)
    assert kept == pytest.approx(values[-2:].sum() / values.sum())
    along = centred @ vectors[:, [-1, -2]]
    np.testing.assert_allclose(np.abs(points), np.abs(along), atol=1e-9)
    furthest = np.abs(points).argmax(axis=0)
    assert (np.array(points)[furthest, [0, 1]] > 0).all()


def test_rows_beside_each_other_have_the_cosines_of_their_directions() -> None:
    rows = torch.tensor([[3.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    found = beside(rows)
    assert found.lengths == pytest.approx([3, 2**0.5, 0])
    assert found.cosines[0][:2] == pytest.approx([1, 0.5**0.5])
    assert [line[2] for line in found.cosines] == [None, None, None]
    assert (found.points, found.kept) == plane(rows)


def test_a_row_without_a_length_is_near_nothing_and_nothing_is_near_it() -> None:
    table = torch.tensor([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.1], [2.0, 0.1]])
    embed = torch.nn.Embedding.from_pretrained(table)
    assert neighbourhood(embed, 4, 0).nearest == []
    assert [other for other, _ in neighbourhood(embed, 4, 1).nearest][:1] == [3]
    assert all(np.isfinite(cosine) for _, cosine in neighbourhood(embed, 4, 1).nearest)
