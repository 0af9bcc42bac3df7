"""The faults of `python -m tools.faults.seeded` can be inserted, and the tests that should catch them exist."""

from tests.page_tools import ROOT
from tools.faults.seeded.__main__ import read_lists


def test_each_fault_has_its_place_and_its_tests() -> None:
    faults = read_lists([])
    assert len({fault.name for fault in faults}) == len(faults)
    for fault in faults:
        assert (ROOT / fault.file).read_text("utf-8").count(fault.old) == 1, fault.name
        assert fault.tests, fault.name
        for test in fault.tests:
            assert (ROOT / test.partition("::")[0]).exists(), test
