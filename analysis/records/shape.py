"""What experiment.json and run.json must look like to be read: JSON Schemas of the keys that are relied on.

More keys may be there.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from analysis.records.rate import STEPS_PATTERN

_BOUNDS = {"minimum": -(2**63), "maximum": 2**63}
"""Nothing that is measured in nanoseconds, bytes or bit/s is beyond."""

_NUMBER = {"type": "number", **_BOUNDS}
_WHOLE = {"type": "integer", **_BOUNDS}
_TEXT = {"type": "string"}
_MAYBE_WHOLE = {"type": ["integer", "null"], **_BOUNDS}
_MAYBE_NUMBER = {"type": ["number", "null"], **_BOUNDS}
_MAYBE_TEXT = {"type": ["string", "null"]}


def _object(keys: Mapping[str, Any], optional: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    return {"type": "object", "required": list(keys), "properties": {**keys, **optional}}


_RESOURCE = _object(
    {
        "available_ms": _NUMBER,
        "headers_ms": _NUMBER,
        "first_byte_ms": _NUMBER,
        "last_byte_ms": _NUMBER,
        "size_bytes": _WHOLE,
        "important": {"type": "boolean"},
    },
    optional={f"gap_{which}_ms": _MAYBE_NUMBER for which in ("p50", "p99", "longest")},
)

_EDGES = _object({"headers_ms": _NUMBER, "first_byte_ms": _NUMBER, "last_byte_ms": _NUMBER})

_LOAD = _object(
    {
        "load": _WHOLE,
        "resources": {"type": "object", "additionalProperties": _RESOURCE, "minProperties": 2},
        "focal": _TEXT,
        "available_ms": _NUMBER,
        "first_byte_ms": _NUMBER,
        "important_last_byte_ms": _NUMBER,
        "others_first_byte_ms": _NUMBER,
        "others_last_byte_ms": _NUMBER,
        "other_bytes_before": _WHOLE,
        "other_bytes_during": _WHOLE,
    },
    optional={
        "script": _EDGES,
        "image": _EDGES,
        "image_bytes_before_script": _WHOLE,
        "image_bytes_during_script": _WHOLE,
    },
)

AUTO = "auto"
"""`lowat` where a tuner set it for each connection."""

PROBE = "probe"
"""`plan` where the client kept its window closed, to see what the front does."""

_CHUNK = _object({"at_ns": _WHOLE, "size_bytes": _WHOLE, "every_ns": _WHOLE, "count": _WHOLE})
_PAGE_RESOURCE = {
    **_object(
        {
            "name": _TEXT,
            "path": _TEXT,
            "content_type": _TEXT,
            "size_bytes": _WHOLE,
            "delay_ns": _WHOLE,
            "important": {"type": "boolean"},
            "urgency": _WHOLE,
            "incremental": {"type": "boolean"},
            "weight": _WHOLE,
            "depends_on": _MAYBE_TEXT,
            "after": _MAYBE_TEXT,
            "chunks": {"type": "array", "items": {**_CHUNK, "additionalProperties": False}},
        }
    ),
    "additionalProperties": False,
}

_SCENARIO = _object(
    {
        "server": _TEXT,
        "native": _TEXT,
        "lowat": {"anyOf": [_MAYBE_WHOLE, {"const": AUTO}]},
        "sndbuf_bytes": _MAYBE_WHOLE,
        "congestion_control": _TEXT,
        "gso_segments": _MAYBE_WHOLE,
        "priorities": _TEXT,
        "page": _TEXT,
        "resources": {"type": "array", "items": _PAGE_RESOURCE, "minItems": 2},
        "size_bytes": _MAYBE_WHOLE,
        "script_delay_ns": _MAYBE_WHOLE,
        "reloads": _WHOLE,
        "window_bytes": _WHOLE,
        "rate_bit_s": _MAYBE_WHOLE,
        "delay_ns": _WHOLE,
        "delay_up_ns": _WHOLE,
        "queue_packets": _WHOLE,
        "loss": _NUMBER,
        "jitter_ns": _WHOLE,
        "buffering": _TEXT,
        "client": {"enum": ["h2", "chromium"]},
        "plan": _TEXT,
        "first": _MAYBE_TEXT,
        "dialect": _TEXT,
        "record_bytes": _MAYBE_WHOLE,
        "shaper_at": _TEXT,
        "rate_steps": {"type": ["string", "null"], "pattern": STEPS_PATTERN},
    }
)

_STEP = _object({"at_ns": _WHOLE, "rate_bit_s": _MAYBE_WHOLE, "late_ns": _MAYBE_WHOLE, "reason": _MAYBE_TEXT})

_OBSERVED = _object(
    {
        "sndbuf_most_bytes": _MAYBE_WHOLE,
        "notsent_most_bytes": _MAYBE_WHOLE,
        "socket_lowat": {"type": "array", "items": _WHOLE},
        "clock_resolution_ns": _MAYBE_WHOLE,
        "rate_steps": {"type": "array", "items": _STEP},
        "shaper": _MAYBE_TEXT,
        "shaper_reason": _MAYBE_TEXT,
        "tuner": _MAYBE_TEXT,
        "tuner_reason": _MAYBE_TEXT,
    }
)

_ORACLE = _object({"first_byte_ms": _NUMBER, "inversion_ms": _NUMBER, "inversion_bytes": _NUMBER})
_PARTS = {"type": "object", "additionalProperties": _NUMBER}
_LEDGER = _object({"focal": _TEXT, "wait_ms": _NUMBER, "parts_ms": _PARTS, "largest": _TEXT, "explained": _NUMBER})
_PREDICTION = _object({"first_byte_ms": _MAYBE_NUMBER, "reason": _MAYBE_TEXT})
_PROBE = _object(
    {
        "steps": _WHOLE,
        "important": _TEXT,
        "important_share": _NUMBER,
        "served": {"type": "array", "minItems": 1, "items": {"type": "array", "prefixItems": [_TEXT, _WHOLE]}},
    }
)

_VERDICTS = ["kept", "inverted", "nothing-to-prioritize", "undecided"]


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [{"type": "null"}, dict(schema)]}


RUN: Mapping[str, Any] = {
    **_object(
        {
            "arm": _TEXT,
            "status": {"enum": ["ok", "failed", "invalid", "unsupported"]},
            "reason": _MAYBE_TEXT,
            "scenario": _SCENARIO,
            "observed": {"type": "object"},
            "verdict": {"enum": [*_VERDICTS, None]},
            "verdict_reason": _MAYBE_TEXT,
            "loads": {"type": "array", "items": _LOAD},
            "oracle": _or_null(_ORACLE),
            "prediction": _or_null(_PREDICTION),
            "probe": _or_null(_PROBE),
            "ledger": _or_null(_LEDGER),
            "ledger_reason": _MAYBE_TEXT,
            "wall_s": _NUMBER,
        },
        optional={"instruments": {"type": "object"}, "knobs": {"type": "object"}, "run": _TEXT},
    ),
    "if": {"properties": {"status": {"const": "ok"}}},
    "then": {
        "properties": {
            "observed": _OBSERVED,
            "loads": {"minItems": 1},
            "verdict": {"enum": _VERDICTS},
        }
    },
}
"""run.json; what a good run has observed and come to, only where its status is ok."""

EXPERIMENT: Mapping[str, Any] = _object(
    {"experiment": _TEXT, "fabric": _TEXT, "runs": {"type": "array", "items": _TEXT, "minItems": 1}}
)
"""experiment.json."""

_WORDS = {"type": "object", "additionalProperties": _TEXT}

ENVIRONMENT: Mapping[str, Any] = _object({"kernel": _TEXT, "versions": _WORDS})
"""env.json."""

SWEEP: Mapping[str, Any] = _object(
    {
        "sweep": _TEXT,
        "name": _TEXT,
        "started_at": _TEXT,
        "grid": {"type": "object", "additionalProperties": {"type": "array", "items": _TEXT, "minItems": 1}},
        "fixed": _WORDS,
        "repeat": {"type": "integer", "minimum": 1, "maximum": 1000},
        "seed": {"type": "integer", "minimum": 0, "maximum": 2**32},
        "fabric": _TEXT,
        "arms": {
            "type": "array",
            "minItems": 1,
            "items": _object({"arm": _TEXT, "levels": _WORDS, "knobs": _WORDS, "twin_of": _MAYBE_TEXT}),
        },
    }
)
"""sweep.json."""


def trouble(document: Any, schema: Mapping[str, Any]) -> str | None:
    """The fault of a document, and its place; None if there is none."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator()(dict(schema)).iter_errors(document))
    if error is None:
        return None
    where = "/".join(map(str, error.absolute_path))
    return f"{where}: {error.message}" if where else str(error.message)


@cache
def _validator() -> Any:
    """A validator to which 1.0 is no integer, as it is none to Python."""
    from jsonschema import Draft202012Validator  # a tenth of a second, and only folders are read with it
    from jsonschema.validators import extend

    whole = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return extend(Draft202012Validator, type_checker=whole)
