"""JSON Schema of the summary that summary.py makes of a sweep. Keys are added over time, never renamed or removed."""

from collections.abc import Mapping
from typing import Any

from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.promise import PROMISED

_NUMBER = {"type": "number"}
_WHOLE = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}
_YES_OR_NO = {"type": "boolean"}


def _object(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(keys), "properties": dict(keys)}


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [{"type": "null"}, dict(schema)]}


def _list(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(schema)}


_WORDS = {"type": "object", "additionalProperties": _TEXT}
_ESTIMATE = _object(
    {"median": _NUMBER, "low": _NUMBER, "high": _NUMBER, "repetitions": {"type": "integer", "minimum": 1}}
    | {"coverage": {"type": "number", "minimum": 0, "maximum": 1}}
)
_AGAINST = _object({"difference": _NUMBER, "measurable": _YES_OR_NO, "words": _TEXT})
_VALUE = _object(
    {
        "value": _TEXT,
        "lowat": _or_null(_WHOLE),
        "asked": _WHOLE,
        "ok": _WHOLE,
        "measured": _object(dict.fromkeys(Measure, _or_null(_ESTIMATE))),
        "against_unset": _object(dict.fromkeys(PROMISED, _or_null(_AGAINST))),
        "on_front": _YES_OR_NO,
    }
)
_RANGE = _object({"low": _NUMBER, "high": _NUMBER})
_KNEE = _object(
    {
        "recommended": _or_null(_TEXT),
        "reason": _TEXT,
        "best": _or_null(_TEXT),
        "front": _list(_TEXT),
        "left_out": _list(_TEXT),
        "left_out_words": _or_null(_TEXT),
        "goodput_held_against": _or_null(_TEXT),
        "goodput_falls_at": _or_null(_TEXT),
        "goodput_falls_words": _TEXT,
        "documentation": _TEXT,
        "put_back": _or_null(_list(_TEXT)),
        "promise": _or_null(_object(dict.fromkeys(PROMISED, _RANGE))),
    }
)
_JUDGEMENT = _object(
    {
        "value": _TEXT,
        "script_first_byte_ms": _or_null(_NUMBER),
        "best_fixed": _or_null(_TEXT),
        "best_fixed_ms": _or_null(_NUMBER),
        "left_out": _list(_TEXT),
        "ratio": _or_null(_NUMBER),
        "near": _or_null(_YES_OR_NO),
        "goodput_part": _or_null(_NUMBER),
        "keeps_goodput": _or_null(_YES_OR_NO),
        "words": _TEXT,
    }
)
_BAND = _object(
    {"pair": _or_null(_NUMBER), "pair_ratio": _or_null(_NUMBER), "pair_part": _or_null(_NUMBER), "grain": _NUMBER}
)
_MADE = _object(
    {"fabric": _TEXT, "repeat": {"type": "integer", "minimum": 1}, "first_seed": _WHOLE, "last_seed": _WHOLE}
)
NETWORK: Mapping[str, Any] = _object(
    {
        "network": _TEXT,
        "knobs": _WORDS,
        "made": _MADE,
        "pair": _or_null(_object({"value": _TEXT, "repetitions": _list(_WHOLE)})),
        "no_difference": _object(dict.fromkeys(Measure, _BAND)),
        "no_difference_words": _TEXT,
        "values": _list(_VALUE),
        "knee": _KNEE,
        "auto": _list(_JUDGEMENT),
    }
)
"""The schema of a network in the summary."""

SUMMARY: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        {
            "format": {"const": 1},
            "sweep": _TEXT,
            "name": _TEXT,
            "fabric": _TEXT,
            "finished": _YES_OR_NO,
            "repeat": {"type": "integer", "minimum": 1},
            "runs": _object(
                {
                    "asked": _WHOLE,
                    "ok": _WHOLE,
                    "troubles": _list(_object({"run": _TEXT, "status": _TEXT, "reason": _TEXT})),
                }
            ),
            "networks": _list(NETWORK),
            "auto": _or_null(
                _object(
                    {
                        "judged": _WHOLE,
                        "near": _WHOLE,
                        "keep_goodput": _WHOLE,
                        "unknown": _WHOLE,
                        "worst_ratio": _or_null(_NUMBER),
                    }
                )
            ),
        }
    ),
}
"""The schema of the whole summary."""
