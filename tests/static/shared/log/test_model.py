"""The page and Python make the same of what logs say of their models, on old logs and new ones."""

from __future__ import annotations

from pathlib import Path

from kvscope.model.api import completed
from kvscope.model.log.frames import header, split
from kvscope.model.service.info import describe
from tests.support.described import SAID_LATER
from tests.support.node import answer_of
from tests.support.tiny import ARCHS, shared_model, tiny_checkpoint

ROOT = Path(__file__).resolve().parents[4]
SCRIPT = Path(__file__).parent / "model-answers.js"
FILES = sorted(
    [*(ROOT / "tests/fixtures/sessions").glob("*.safetensors"), *(ROOT / "kvscope" / "app/recordings").iterdir()]
)


def test_it_is_complete_and_the_same_on_both_sides() -> None:
    new = [describe(tiny_checkpoint(arch), shared_model(arch), "cpu") for arch in ARCHS]
    untied = [describe(tiny_checkpoint(arch, tied=False), shared_model(arch, tied=False), "cpu") for arch in ARCHS]
    old = [{name: model[name] for name in model if name not in SAID_LATER} for model in (*new, *untied)]
    old += [header(split(path.read_bytes())[0].payload).data["model"] for path in FILES]
    models = [*new, *untied, *old]
    made = answer_of(SCRIPT, models)
    assert made == [completed(model) for model in models]
    assert made[: len(new)] == new
    assert all(set(SAID_LATER) <= set(model) for model in made)
