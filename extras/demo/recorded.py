"""The arms that were recorded before, and are in the tree: those of the story, and those of the LOWAT slider.

They are in docs/explore.html. The live page shows those of the story's step about LOWAT, with which it begins, until
this machine has run them. `make recorded` records all anew; it is needed when the documents for the page have other
fields (arm_view.py).
"""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from priolab.experiments.scenario.knobs import with_defaults
from priolab.extras.demo.story import StoryStep, steps

FILE = Path(__file__).with_name("recorded.json.gz")


@dataclass(frozen=True, kw_only=True)
class Recordings:
    """Recorded arms. arms: the documents of arm_view.py. about: where they came from, as terms and texts.

    packed: arms and about as JSON, compressed by gzip.
    """

    arms: Sequence[Mapping[str, Any]]
    about: Mapping[str, str]
    packed: bytes

    @classmethod
    def of(cls, arms: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> Self:
        """Packs recordings."""
        text = json.dumps({"about": about, "arms": arms}, separators=(",", ":"))
        return cls(arms=arms, about=about, packed=gzip.compress(text.encode(), mtime=0))


@cache
def in_tree() -> Recordings:
    """Returns all recordings of the tree."""
    packed = FILE.read_bytes()
    content = json.loads(gzip.decompress(packed))
    return Recordings(arms=content["arms"], about=content["about"], packed=packed)


def recorded_step() -> StoryStep:
    """Returns the step whose arms are shipped: no limit, and the default limit, on the default link."""
    return next(step for step in steps() if step.compare == "LOWAT" and not step.knobs)


def recorded_before(knobs: Mapping[str, str]) -> dict[str, Any] | None:
    """Returns the document of the recorded arm with these knobs, for a machine that cannot run it; None if none has."""
    wanted = with_defaults(knobs)
    found = (arm for arm in in_tree().arms if with_defaults(arm["knobs"]) == wanted)
    return next(({**arm, "knobs": wanted} for arm in found), None)


@cache
def recorded() -> list[dict[str, Any]]:
    """Returns the documents of the shipped arms, in the order of the step."""
    # Some knobs may have come since the recording.
    arms = [{**arm, "knobs": with_defaults(arm["knobs"])} for arm in in_tree().arms]
    return [arm for knobs in recorded_step().arms for arm in arms if arm["knobs"] == with_defaults(knobs)]
