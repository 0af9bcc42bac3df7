"""Makes code as `kvscope.model.compiled.package` does, but in a hurry: tests wait for it, and nobody for tokens."""

from __future__ import annotations

import sys

from kvscope.model.compiled import package

if __name__ == "__main__":
    package.NICENESS = 0
    package.OPTIONS["cpp.vec_isa_ok"] = True  # what the processor has the compiler has, without a try of each
    sys.exit(package.main())
