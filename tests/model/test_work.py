from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from model.kv_cache import KVCache, Sequence
from model.ragged import Entry, make_batch
from model.work import Work
from tests.model.tiny import ARCHS, prompt, random_weights, shared_model, tiny_config


def test_work_adds_up() -> None:
    assert Work(1, 2) + Work(30, 40) == Work(31, 42)
    assert Work() + Work(5, 6) == Work(5, 6)
