"""Has decode steps made faster: compiled for a processor, recorded as graphs on a GPU."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kvscope.model.checkpoint.fetch import cache_folder
from kvscope.model.compiled.graph import GRAPHED, NOT_GRAPHED, GraphedSteps
from kvscope.model.compiled.job import COMPILED, NOT_COMPILED, CompileFailed, compiled_steps
from kvscope.model.engine.runner import Runner
from kvscope.model.grouped import Groups
from kvscope.model.linear import COMPUTED, name_of

log = logging.getLogger(__name__)


def compile_steps(runner: Runner, groups_of: Callable[[], dict[str, Groups]], say: Callable[[str, bool], None]) -> None:
    """Have the runner's decode steps made faster where that can be.

    `groups_of` reads the file's groups. `say` hears how it goes, and whether more is to come. Never raises: nobody
    waits for it.
    """
    if runner.device != "cpu":
        runner.compiled = GraphedSteps(
            runner.transformer, runner.cache, lambda why: say(f"{NOT_GRAPHED}: {why}", False)
        )
        say(GRAPHED, False)
        return
    try:
        if runner.transformer.weight_dtype != COMPUTED:
            raise CompileFailed(f"the weights are in {name_of(runner.transformer.weight_dtype)}")
        folder, groups = cache_folder() / "compiled", groups_of()
        runner.compiled = compiled_steps(runner.transformer, groups, folder, lambda line: say(line, True))
        if runner.transformer.config.tied and (table := groups.get("lm_head.weight")):
            runner.transformer.embed_from(table)
    except CompileFailed as failed:
        say(f"{NOT_COMPILED}: {failed}", False)
    except Exception as error:
        log.exception("compiling failed")
        say(f"{NOT_COMPILED}: {type(error).__name__}: {error}", False)
    else:
        say(COMPILED, False)
