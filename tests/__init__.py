"""The tests of all folders, and what they share.

jsonschema imports the package IRIS, if it is installed, to check the format of IRIs. This takes 1.2 s of processor
time, so processes of the tests import jsonschema without it; only bills of materials have IRIs (schemas.py).

All tests of a process stay in its memory. With Python's own thresholds a tenth of the process's time would go into
searches for garbage, so they are made more seldom.
"""

import gc
import sys

IRIS = "rfc3987_syntax"

sys.modules.setdefault(IRIS, None)  # type: ignore[arg-type]  # a name without a module cannot be imported
gc.set_threshold(20_000, 20, 20)
