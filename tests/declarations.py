"""Checks declarations of figures against the schema of Vega-Lite, which comes with Altair."""

import json

import altair as alt
from jsonschema import Draft7Validator

from analysis.figures.sheet import Declaration

SCHEMA_VERSION = alt.SCHEMA_VERSION
"""The version of Vega-Lite that the schema describes, such as v6.4.1."""

_SCHEMA = Draft7Validator(alt.load_schema())


def valid(declaration: Declaration | None) -> Declaration:
    """Return the declaration as read back from JSON. Raise ValidationError if it is not valid Vega-Lite."""
    assert declaration is not None
    document: Declaration = json.loads(json.dumps(declaration))
    _SCHEMA.validate(document)
    return document
