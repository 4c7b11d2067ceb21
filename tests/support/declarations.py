"""Checks declarations of figures against the schema of Vega-Lite, which comes with Altair.

Altair and jsonschema take half a second to import, so the schema is read without Altair, and only tests that check a
declaration import jsonschema (tests/support/schemas.py).
"""

import json
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

from priolab.analysis.figures.sheet import Declaration

if TYPE_CHECKING:
    from jsonschema import Draft7Validator


def schema_version() -> str:
    """Return the version of Vega-Lite that the schema describes, such as v6.4.1."""
    import altair as alt

    return alt.SCHEMA_VERSION


def is_valid(declaration: Declaration) -> bool:
    """Return True if the declaration is valid Vega-Lite."""
    return bool(_validator().is_valid(declaration))


def valid(declaration: Declaration | None) -> Declaration:
    """Return the declaration as read back from JSON. Raise ValidationError if it is not valid Vega-Lite."""
    assert declaration is not None
    document: Declaration = json.loads(json.dumps(declaration))
    _validator().validate(document)
    return document


@cache
def _validator() -> "Draft7Validator":
    from jsonschema import Draft7Validator

    altair = Path(str(distribution("altair").locate_file("altair")))
    (schema,) = altair.glob("vegalite/*/schema/vega-lite-schema.json")
    return Draft7Validator(json.loads(schema.read_text()))
