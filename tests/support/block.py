"""The zoom into one layer: its values, as the page writes them into a table."""

import re

from playwright.sync_api import expect

from tests.support.stage import Stage


def wait_for_values(stage: Stage) -> None:
    """Until the exact values are there: the changes' lengths are only known from them."""
    expect(stage.region("Inspector").get_by_text("Attention changes the row by")).to_be_visible()


def rows_of(stage: Stage, tensor: str) -> list[list[str]]:
    """What the table of values says of a tensor, row by row."""
    inspector = stage.region("Inspector")
    if not inspector.get_by_label("values of").is_visible():
        inspector.get_by_text("The numbers as a table").click()
    inspector.get_by_label("values of").select_option(tensor)
    table = inspector.get_by_role("table", name=re.compile(f"^{re.escape(tensor)} of layer"))
    expect(table).to_be_visible()
    return table.evaluate(
        "table => [...table.rows].slice(1).map((row) => [...row.cells].filter((cell) => cell.localName === 'td')"
        ".map((cell) => cell.innerText))"
    )
