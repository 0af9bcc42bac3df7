"""The test command counts what happened: nothing that went wrong can look like a pass."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import __main__ as tiers
from tests.__main__ import Counts, Tier

REPORT = """<testsuites><testsuite>
<testcase name="a"/><testcase name="b"/>
<testcase name="c"><failure/></testcase><testcase name="d"><error/></testcase>
<testcase name="e"><skipped/></testcase>
</testsuite></testsuites>"""


def ending(status: int, report: str = "") -> list[str]:
    """A command that writes `report` to the path given as its last argument and exits with `status`."""
    write = f"import pathlib, sys; pathlib.Path(sys.argv[1]).write_text({report!r}); " if report else "import sys; "
    return [sys.executable, "-c", f"{write}sys.exit({status})"]


def of_commands(*commands: list[str]) -> Tier:
    return Tier("", lambda report, extra: [[*command, str(report)] for command in commands])


@pytest.fixture
def tier_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str], None]:
    """Adds a pytest tier, as the real ones are, of one file with this text."""

    def add(name: str, text: str) -> None:
        file = tmp_path / f"test_{name}.py"
        file.write_text(f"import pathlib, pytest\nRAN = pathlib.Path({str(tmp_path / name)!r})\n{text}")
        monkeypatch.setitem(tiers.TIERS, name, tiers.pytest_tier("", "not slow", at=lambda: [str(file)]))

    return add


def test_a_report_is_counted_case_by_case(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert tiers.read_report(report) == Counts(failed=2, passed=2, skipped=1)


ONE_PASSED = "<testsuite><testcase/></testsuite>"


@pytest.mark.parametrize(
    ("commands", "counts"),
    [
        pytest.param([ending(0), ending(1)], Counts(failed=1, passed=1), id="without a report, by exit status"),
        pytest.param([ending(1, REPORT)], Counts(failed=2, passed=2, skipped=1), id="a failed test counts once"),
        pytest.param([ending(3, ONE_PASSED)], Counts(failed=1, passed=1), id="a crash after passing tests"),
        pytest.param([ending(0, "<testsuite/>")], Counts(failed=1), id="no test at all"),
    ],
)
def test_what_went_wrong_is_counted(
    commands: list[list[str]], counts: Counts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(tiers.TIERS, "tried", of_commands(*commands))
    assert tiers.run_tier("tried", [], tmp_path, keep=True).counts == counts


def test_the_command_fails_and_says_so_in_its_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(tiers.TIERS, "good", of_commands(ending(0)))
    monkeypatch.setitem(tiers.TIERS, "bad", of_commands(ending(1)))
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


FAILS_FIRST = """
def fails_first(name):
    before = RAN.read_text().split() if RAN.exists() else []
    RAN.write_text(" ".join([*before, name]))
    assert name in before, f"{name} ran for the first time"
"""
ONE_FLAKY = f"""{FAILS_FIRST}
def test_passes(): pass
def test_flaky(): fails_first("flaky")
"""
ALWAYS = """
def test_always(): assert False, "in any case"
"""
FLAKY_SETUP = f"""{FAILS_FIRST}
@pytest.fixture
def prepared(): fails_first("prepared")
def test_prepared(prepared): pass
"""
FLAKY_TEARDOWN = f"""{FAILS_FIRST}
@pytest.fixture
def released():
    yield
    fails_first("released")
def test_released(released): pass
"""
FOUR_FLAKY = f"""{FAILS_FIRST}
@pytest.mark.parametrize("number", range(4))
def test_flaky(number): fails_first(f"flaky-{{number}}")
"""


@pytest.mark.parametrize(
    ("text", "status", "last", "named"),
    [
        pytest.param(ONE_FLAKY, 0, "1 flaky, 1 passed", ["test_flaky: AssertionError: flaky ran"], id="fails first"),
        pytest.param(ONE_FLAKY + ALWAYS, 1, "1 failed, 1 flaky, 1 passed", ["test_flaky: "], id="one fails always"),
        pytest.param(ALWAYS, 1, "1 failed", [], id="fails always"),
        pytest.param(FLAKY_SETUP, 0, "1 flaky", ["test_prepared: "], id="setup fails first"),
        pytest.param(FLAKY_TEARDOWN, 0, "1 flaky", ["test_released: "], id="teardown fails first"),
        pytest.param(FOUR_FLAKY, 1, "4 failed", [], id="too many for one tier"),
    ],
)
def test_what_fails_runs_once_more_alone(
    tier_of: Callable[[str, str], None],
    capsys: pytest.CaptureFixture[str],
    text: str,
    status: int,
    last: str,
    named: list[str],
) -> None:
    tier_of("tried", text)
    assert tiers.main(["tried"]) == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(f"==== {last}")
    flaky = [line for line in lines if "flaky: " in line]
    assert len(flaky) == len(named)
    assert all(any(name in line for line in flaky) for name in named)


def test_more_flaky_tests_than_allowed_fail_the_command(
    tier_of: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tiers, "FLAKY_AT_MOST", 1)
    tier_of("one", ONE_FLAKY)
    tier_of("other", ONE_FLAKY)
    assert tiers.main(["one", "other"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("==== 2 flaky, 2 passed")


def test_a_check_that_is_no_pytest_tier_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Path] = []

    def commands(report: Path, extra: list[str]) -> list[list[str]]:
        ran.append(report)
        return [ending(1)]

    monkeypatch.setitem(tiers.TIERS, "tried", Tier("", commands))
    assert tiers.main(["tried"]) == 1
    assert len(ran) == 1
