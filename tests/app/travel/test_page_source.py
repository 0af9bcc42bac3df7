"""The page's modules as a file of one page contains them."""

from __future__ import annotations

import json

from kvscope.app.paths import STATIC
from kvscope.app.travel.page_source import modules, name_of


def test_tables_become_scripts_which_modules_import_as_such() -> None:
    sources = modules(STATIC, "main.js")
    name = name_of("embed/page-parts.json")
    table = sources[name].removeprefix("export default ")
    assert json.loads(table) == json.loads((STATIC / "embed" / "page-parts.json").read_text("utf-8"))
    assert f'from "{name}";' in sources[name_of("stage/state/focus.js")]
