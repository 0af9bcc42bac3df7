"""`python -m tools.families`: copies the table of model families into the page's folder.

The page imports the table as a module, so it must be in `static/`; the model reads no files of the page.
"""

from __future__ import annotations

import shutil
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "kvscope"
TABLE = PACKAGE / "model" / "families.json"
COPY = PACKAGE / "static" / "shared" / "sizes" / "families.json"

if __name__ == "__main__":
    shutil.copyfile(TABLE, COPY)
