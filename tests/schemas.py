"""Validators of JSON documents.

The validators' packages take a second to import, so they are imported by the tests that validate, and not by every
worker that collects the tests.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclonedx.validation.json import JsonStrictValidator
    from jsonschema import Draft202012Validator


def validator(schema: Mapping[str, Any]) -> "Draft202012Validator":
    """Return a validator for a JSON Schema of 2020-12."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema)


@cache
def bill_validator() -> "JsonStrictValidator":
    """Return a validator for bills of materials in CycloneDX 1.6."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    return JsonStrictValidator(SchemaVersion.V1_6)
