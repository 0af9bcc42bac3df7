"""The lines that computed a step of a run, with the shapes of this very step: its last pass is computed again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from kvscope.model.engine.engine import Engine
from kvscope.model.engine.sampling import choose
from kvscope.model.settings import Sampling
from kvscope.model.source.listing import FILES, named_of
from kvscope.model.source.names import Statement
from kvscope.model.source.record import Facts, Lines

AROUND = ("embedded", "final")
"""Hook points outside the blocks."""


@dataclass(frozen=True, slots=True)
class StepLines:
    """`lines`: by file below `model/` and by line, the tensors of that line in the order of evaluation.

    `ran`: the lines that ran, by file. `rows`: of the pass, the last of `passes`.
    """

    lines: dict[str, dict[int, tuple[Facts, ...]]]
    ran: dict[str, list[int]]
    rows: int
    passes: int

    def as_json(self) -> dict[str, Any]:
        lines = {
            f"model/{path}": {str(line): [asdict(each) for each in facts] for line, facts in sorted(found.items())}
            for path, found in self.lines.items()
        }
        ran = {f"model/{path}": found for path, found in self.ran.items()}
        return {"lines": lines, "ran": ran, "rows": self.rows, "passes": self.passes}


def step_lines(engine: Engine, ids: list[int], first: int, layer: int, sampling: Sampling) -> StepLines:
    """Of a step whose new rows are `first`… of `ids`, at one layer, and of the choice after it.

    Where the step took several passes, of the last one. The lines run as they stand, also where native code computes
    such a pass otherwise. Raises CacheFull.
    """
    chunk = engine.scheduler.prefill_chunk
    passes = -(-(len(ids) - first) // chunk)
    first += (passes - 1) * chunk
    recorded = Lines(layer)
    seen, last = _pass(engine, ids, first, recorded)
    with torch.inference_mode():
        logits = engine.transformer.lm_head(last)[0]
    with recorded.recording():
        choose(logits, sampling, torch.Generator().manual_seed(sampling.seed))
    return _step_lines(recorded, seen, len(ids) - first, passes)


def pass_lines(engine: Engine, ids: list[int], first: int, layer: int) -> StepLines:
    """Of one pass over rows `first`… of `ids`, at one layer, without a choice. Raises CacheFull."""
    recorded = Lines(layer)
    seen, _ = _pass(engine, ids, first, recorded)
    return _step_lines(recorded, seen, len(ids) - first, 1)


def _pass(engine: Engine, ids: list[int], first: int, recorded: Lines) -> tuple[dict[str, Facts], Tensor]:
    """What passes the hook points, by name relative to the layer, and the last row after the final norm, [1, D]."""
    layer = recorded.layer
    seen: dict[str, Facts] = {}
    last: list[Tensor] = []

    def observer(name: str) -> Any:
        def note(value: Tensor) -> None:
            point = name.removeprefix(f"blocks.{layer}.")
            seen[point] = Facts.of_tensor(point, value, hook=True)
            if point == "final":
                last.append(value[-1:].clone())

        return note

    names = [name for name in engine.runner.points if name in AROUND or name.startswith(f"blocks.{layer}.")]
    with recorded.recording(), engine.replay(ids, first, {name: observer(name) for name in names}, alike=True):
        pass
    return seen, last[0]


def _step_lines(recorded: Lines, seen: dict[str, Facts], rows: int, passes: int) -> StepLines:
    lines = {path: _merged(path, recorded, seen) for path in FILES}
    ran = {path: sorted(recorded.ran[path]) for path in FILES}
    return StepLines(lines, ran, rows, passes)


def _merged(path: str, recorded: Lines, seen: dict[str, Facts]) -> dict[int, tuple[Facts, ...]]:
    """On each line that ran, what passed its hook points, then what it assigned."""
    found = {}
    for function in named_of(path).functions:
        for statement in function.statements if recorded.once(function) else ():
            if not recorded.ran[path].intersection(range(statement.first, statement.last + 1)):
                continue
            facts = _hooked(statement, seen) + recorded.assigned[path].get(statement.first, ())
            if facts:
                found[statement.first] = facts
    return found


def _hooked(statement: Statement, seen: dict[str, Facts]) -> tuple[Facts, ...]:
    return tuple(seen[name] for name in statement.hooks if name in seen)
