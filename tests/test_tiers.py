"""The test command counts what happened: nothing that went wrong can look like a pass."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import __main__ as tiers
from tests.__main__ import Counts

REPORT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"/>
<testcase name="c"><failure/></testcase><testcase name="d"><error/></testcase>
<testcase name="e"><skipped/></testcase>
</testsuite></testsuites>"""


def ending(status: int, report: str = "") -> list[str]:
    """A command that writes `report` to the path given as its last argument and exits with `status`."""
    write = f"import pathlib, sys; pathlib.Path(sys.argv[1]).write_text({report!r}); " if report else "import sys; "
    return [sys.executable, "-c", f"{write}sys.exit({status})"]


def run(monkeypatch: pytest.MonkeyPatch, *commands: list[str]) -> Counts:
    monkeypatch.setitem(tiers.TIERS, "tried", ("", lambda report, extra: [[*c, str(report)] for c in commands]))
    return tiers.run_tier("tried", [], keep=True).counts


def test_a_report_is_counted_case_by_case(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert tiers.read_report(report) == Counts(failed=2, passed=2, skipped=1)


def test_a_check_without_a_report_passes_or_fails_by_its_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, ending(0), ending(1)) == Counts(failed=1, passed=1)


def test_a_failed_test_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, ending(1, REPORT)) == Counts(failed=2, passed=2, skipped=1)


def test_a_crash_after_passing_tests_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, ending(3, "<testsuite><testcase/></testsuite>")) == Counts(failed=1, passed=1)


def test_a_tier_without_a_test_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, ending(0, "<testsuite/>")) == Counts(failed=1)


def test_the_command_fails_and_says_so_in_its_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(tiers.TIERS, "good", ("", lambda report, extra: [ending(0)]))
    monkeypatch.setitem(tiers.TIERS, "bad", ("", lambda report, extra: [ending(1)]))
    assert tiers.main(["good"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("==== 1 passed in ")
    assert tiers.main(["bad", "good"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("==== 1 failed, 1 passed in ")


def test_an_unknown_tier_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tiers.main(["fats"])
    assert "no tier 'fats': choose from browser" in capsys.readouterr().err


def test_a_tier_looks_where_its_mark_is_given() -> None:
    assert tiers.files_with("durability") == ["tests/app/test_durability.py"]
    assert {"tests/model/test_reference.py", "tests/app/test_real_model.py"} <= set(tiers.files_with("real"))
