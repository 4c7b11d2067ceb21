"""The record of a sweep: sweep.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

SWEEP_FORMAT = 1
MOST_SWEEP_BYTES = 2 * 2**30


@dataclass(frozen=True, kw_only=True)
class SweepArmRecord:
    """An arm of the sweep. levels: values of the knobs that vary. knobs: values of all knobs.

    twin_of: the name of the arm that a twin repeats with other seeds; None if the arm is no twin.
    """

    arm: str
    levels: Mapping[str, str]
    knobs: Mapping[str, str]
    twin_of: str | None


@dataclass(frozen=True, kw_only=True)
class SweepRecord:
    """The request for a sweep. sweep: the folder's name. order: names of all runs, in the order of execution.

    grid: knobs with several values. fixed: knobs with one value. repeat: runs per arm. order_seed: the seed from which
    `order` was made. started_at: date and time. fingerprint: everything that decides the results. usual_buffering: by
    server, the level of BUFFERING with which it is installed; None if it is neither.
    """

    format: int = SWEEP_FORMAT
    sweep: str
    name: str
    title: str
    started_at: str
    grid: Mapping[str, Annotated[tuple[str, ...], Meta(min_length=1)]]
    fixed: Mapping[str, str]
    repeat: Annotated[int, Meta(ge=1, le=1000)]
    seed: Annotated[int, Meta(ge=0, le=2**32)]
    order_seed: int
    fabric: str
    fingerprint: Mapping[str, Any]
    arms: Annotated[tuple[SweepArmRecord, ...], Meta(min_length=1)]
    order: tuple[str, ...]
    usual_buffering: Mapping[str, str | None] = field(default_factory=dict)

    def as_document(self) -> dict[str, Any]:
        """Returns the content of sweep.json. Does not copy the values, as there may be a million arms."""
        return {**vars(self), "arms": list(map(vars, self.arms))}
