"""The documented matrix, docs/matrix.json, and which of its rows is about the server that this machine has."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from priolab.analysis.matrix.matrix import Front
from priolab.experiments.host.http2_library import http2_library
from priolab.experiments.host.programs import server_version
from priolab.proxy.server import server_of

DOCS = Path(__file__).resolve().parents[1] / "docs"


@cache
def documented() -> Mapping[str, Any]:
    """Returns the document."""
    document: Mapping[str, Any] = json.loads((DOCS / "matrix.json").read_text())
    return document


@cache
def row_like(name: str) -> str:
    """Returns the name of the row whose version, and then whose library, is that of the installed server.

    name: the server. If no version of it is like the installed one, returns the first.
    """
    server = server_of(name)
    here = Front(name=name, said=server_version(server) or "", built_with=http2_library(server))
    rows: Mapping[str, Any] = {key: row for key, row in documented()["servers"].items() if row["server"] == name}

    def likeness(key: str) -> tuple[bool, bool]:
        return rows[key]["version"] == here.version, rows[key]["built_with"] == here.built_with

    return max(rows, key=likeness)
