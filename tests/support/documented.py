"""The documented matrix, docs/measured/matrix.json, and which of its rows is about the server that this machine has."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from priolab.common.home import ROOT
from priolab.experiments.setup.http2_library import http2_library
from priolab.experiments.setup.programs import server_version
from priolab.proxy.server import server_of

DOCS = ROOT / "docs/measured"


def page_of(extra: str, name: str) -> str:
    """Returns the text of an extra's page in docs/measured. Skips the test in a checkout without the extra."""
    if not (ROOT / "extras" / extra).exists():
        pytest.skip(f"the extra `{extra}` is not there")
    return (DOCS / name).read_text()


@cache
def documented() -> Mapping[str, Any]:
    """Returns the document. Skips the test in a checkout without the extra to which the document belongs."""
    document: Mapping[str, Any] = json.loads(page_of("matrix", "matrix.json"))
    return document


@cache
def row_like(name: str) -> str:
    """Returns the name of the row whose version, and then whose library, is that of the installed server.

    name: the server. If no version of it is like the installed one, returns the first.
    """
    server = server_of(name)
    said, built_with = server_version(server) or "", http2_library(server)
    rows: Mapping[str, Any] = {key: row for key, row in documented()["servers"].items() if row["server"] == name}

    def likeness(key: str) -> tuple[bool, bool]:
        return rows[key]["version"] in said, rows[key]["built_with"] == built_with

    return max(rows, key=likeness)
