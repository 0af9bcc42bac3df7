"""Profiles: what ships can be read, between measured points lies what is on the line, and damage is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvscope.app.plan.errors import CannotPlan
from kvscope.app.plan.profile import SHIPPED, load
from tests.support.planned import profile


def test_the_profile_that_ships_can_be_read_and_names_no_machine() -> None:
    shipped = load()
    assert shipped.model == "SmolLM2-135M-Instruct"
    assert "cores" in shipped.machine
    assert "/" not in shipped.machine


def test_between_measured_points_is_what_lies_on_the_line() -> None:
    made = profile(step=[{"runs": 1, "ms": 10.0}, {"runs": 4, "ms": 16.0}, {"runs": 8, "ms": 32.0}])
    assert [made.step_s(runs) for runs in (0, 1, 2, 4, 6, 10)] == pytest.approx([0, 0.010, 0.012, 0.016, 0.024, 0.040])
    assert made.pass_s == pytest.approx(0.008)


DAMAGE = [
    (b"", "It is not valid JSON"),
    (b"[1]", "It must be a JSON object"),
    (b"\xff", "not UTF-8"),
    ({"call_ms": -1}, "call_ms is -1; it must be a number above 0, at most 600,000"),
    ({"call_ms": "fast"}, "call_ms is"),
    ({"web": None}, "web is missing"),
    ({"speed": 3}, "The field 'speed' is unknown"),
    ({"format": "capacity 9"}, "it must be one of"),
    ({"step": [{"runs": 2, "ms": 1.0}, {"runs": 1, "ms": 2.0}]}, "runs must ascend"),
    ({"step": [{"runs": 0, "ms": 1.0}, {"runs": 1, "ms": 2.0}]}, "step[0].runs is 0; it must be from 1 to 1,024"),
    ({"step": []}, "step"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGE)
def test_a_damaged_profile_is_refused_in_one_line_that_names_what_is_wrong(
    tmp_path: Path, damage: bytes | dict[str, object], says: str
) -> None:
    file = tmp_path / "p.json"
    good = json.loads(SHIPPED.read_text("utf-8"))
    file.write_bytes(damage if isinstance(damage, bytes) else json.dumps(good | damage).encode())
    with pytest.raises(CannotPlan) as refused:
        load(file)
    assert says in str(refused.value)
    assert str(refused.value).startswith(f"{file} ")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotPlan, match="gone cannot be read: No such file"):
        load(tmp_path / "gone")
