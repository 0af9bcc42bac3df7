"""What the options of the command line take."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from kvscope.app.cli import main
from kvscope.app.options import Size


@pytest.mark.parametrize(("said", "size"), [("0", 0), ("500MB", 500_000_000), ("1.5 gb", 1_500_000_000), ("7", 7)])
def test_a_size_is_read_as_it_is_said(said: str, size: int) -> None:
    assert Size().convert(said, None, None) == size


def test_a_size_that_is_none_is_refused() -> None:
    for said in ("-1", "10GiB", "lots"):
        assert "such as 500MB or 10GB" in CliRunner().invoke(main, ["--max-disk", said]).output
