"""Validators of JSON documents.

The validators' packages take a second to import, so they are imported by the tests that validate, and not by every
worker that collects the tests.
"""

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tests import IRIS

if TYPE_CHECKING:
    from cyclonedx.validation.json import JsonStrictValidator
    from jsonschema import Draft202012Validator


def validator(schema: Mapping[str, Any]) -> "Draft202012Validator":
    """Return a validator for a JSON Schema of 2020-12."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema)


@cache
def bill_validator() -> "JsonStrictValidator":
    """Return a validator for bills of materials in CycloneDX 1.6, which checks all formats."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from jsonschema import Draft7Validator

    sys.modules.pop(IRIS)
    is_valid = import_module(IRIS).is_valid_syntax

    def is_iri_reference(value: object) -> bool:
        return not isinstance(value, str) or bool(is_valid("iri_reference", value))

    Draft7Validator.FORMAT_CHECKER.checks("iri-reference")(is_iri_reference)  # CycloneDX's validator uses this checker
    return JsonStrictValidator(SchemaVersion.V1_6)
