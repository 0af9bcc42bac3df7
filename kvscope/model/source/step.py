"""Return the source lines that computed a step of a run, with the step's shapes. Its last pass is computed again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from kvscope.model.engine.distribution import Distribution
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
    """`lines`: by file in `model/` and by line, the tensors of that line in the order of evaluation.

    `ran`: the lines that ran, by file. `rows`: number of rows of the recorded pass, the last of `passes`.
    """

    lines: dict[str, dict[int, tuple[Facts, ...]]]
    ran: dict[str, list[int]]
    rows: int
    passes: int

    def as_json(self) -> dict[str, Any]:
        lines = {
            f"model/{path}": {str(line): [asdict(each) for each in facts] for line, facts in sorted(by_line.items())}
            for path, by_line in self.lines.items()
        }
        ran = {f"model/{path}": numbers for path, numbers in self.ran.items()}
        return {"lines": lines, "ran": ran, "rows": self.rows, "passes": self.passes}


def step_lines(engine: Engine, ids: list[int], first: int, layer: int, sampling: Sampling) -> StepLines:
    """Records a step whose new rows are `first`… of `ids`, at one layer, and the choice after it.

    Records the last pass if the step took several. The Python lines run even if native code normally computes such a
    pass. Raises CacheFull.
    """
    chunk = engine.scheduler.prefill_chunk
    passes = -(-(len(ids) - first) // chunk)
    first += (passes - 1) * chunk
    recorded = Lines(layer)
    facts, last = _pass(engine, ids, first, recorded)
    with torch.inference_mode():
        logits = engine.transformer.unembed(last)[0]
    with recorded.recording():
        choose(Distribution(logits), sampling, 0)
    return _step_lines(recorded, facts, len(ids) - first, passes)


def pass_lines(engine: Engine, ids: list[int], first: int, layer: int) -> StepLines:
    """Records one pass over rows `first`… of `ids`, at one layer, without a choice. Raises CacheFull."""
    recorded = Lines(layer)
    facts, _ = _pass(engine, ids, first, recorded)
    return _step_lines(recorded, facts, len(ids) - first, 1)


def _pass(engine: Engine, ids: list[int], first: int, recorded: Lines) -> tuple[dict[str, Facts], Tensor]:
    """Returns the hook points' tensors, by name relative to the layer, and the last row after the final norm [1, D]."""
    layer = recorded.layer
    facts: dict[str, Facts] = {}
    last: list[Tensor] = []

    def observer(name: str) -> Any:
        def note(value: Tensor) -> None:
            point = name.removeprefix(f"blocks.{layer}.")
            facts[point] = Facts.of_tensor(point, value, hook=True)
            if point == "final":
                last.append(value[-1:].clone())

        return note

    names = [name for name in engine.runner.points if name in AROUND or name.startswith(f"blocks.{layer}.")]
    with recorded.recording(), engine.replay(ids, first, {name: observer(name) for name in names}, alike=True):
        pass
    return facts, last[0]


def _step_lines(recorded: Lines, facts: dict[str, Facts], rows: int, passes: int) -> StepLines:
    lines = {path: _merged(path, recorded, facts) for path in FILES}
    ran = {path: sorted(recorded.ran[path]) for path in FILES}
    return StepLines(lines, ran, rows, passes)


def _merged(path: str, recorded: Lines, hooked: dict[str, Facts]) -> dict[int, tuple[Facts, ...]]:
    """Returns for each line that ran the tensors of its hook points, then those that it assigned."""
    lines = {}
    for function in named_of(path).functions:
        for statement in function.statements if recorded.once(function) else ():
            if not recorded.ran[path].intersection(range(statement.first, statement.last + 1)):
                continue
            facts = _hooked(statement, hooked) + recorded.assigned[path].get(statement.first, ())
            if facts:
                lines[statement.first] = facts
    return lines


def _hooked(statement: Statement, facts: dict[str, Facts]) -> tuple[Facts, ...]:
    return tuple(facts[name] for name in statement.hooks if name in facts)
