"""The facts of a recorded run."""

import pytest

from kvscope.app.learn.facts import Facts, facts_of
from kvscope.app.learn.report import worked_out
from tests.support.lessons import animal


@pytest.fixture
def facts() -> Facts:
    return facts_of(animal(), worked_out)
