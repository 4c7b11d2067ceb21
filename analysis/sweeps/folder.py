"""Reads a sweep's folder. The sweep need not be finished. Raises FolderError, which names the damaged file.

A run that is missing or not ok is no error. Such a run is listed (`Trouble`), and so is an ok run without goodput. So
evaluations can name the runs that do not count.

LOWAT is in bytes, `none` or `auto`. The sweep.json of an older sweep has LOWAT as the user wrote it, such as 16k. In
this case the bytes are read from one of the runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from priolab.analysis.records.runs import Run, load_run
from priolab.analysis.sweeps.measures import IN_NO_TIME, busy_ms
from priolab.common.formats.reading import FolderError, read_document
from priolab.common.formats.sweep import SWEEP_FORMAT, SweepArmRecord, SweepRecord

_LOWAT = "LOWAT"
_WORDS_OF_LOWAT = ("none", "auto")


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """A run that the evaluation leaves out. run: its name. status: failed, invalid, unsupported, or missing."""

    run: str
    status: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class SweepArm:
    """An arm of a sweep, with its runs.

    knobs: values as text; LOWAT is in bytes, `none` or `auto`, every other knob is as the user wrote it. twin_of: the
    arm that this arm repeats with other seeds. good: the runs that count. troubles: the runs that do not count.
    """

    name: str
    knobs: Mapping[str, str]
    twin_of: str | None
    good: tuple[Run, ...]
    troubles: tuple[Trouble, ...]

    @property
    def asked(self) -> int:
        """The number of repetitions that the arm should have."""
        return len(self.good) + len(self.troubles)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep: the path of its folder, the content of its sweep.json, and its arms."""

    path: Path
    record: SweepRecord
    arms: tuple[SweepArm, ...]

    @property
    def is_finished(self) -> bool:
        """True if the sweep is finished, so that no run will be added."""
        return (self.path / "experiment.json").exists()


def load_sweep(path: Path) -> Sweep:
    """Reads a sweep from its folder."""
    file = path / "sweep.json"
    record = read_document(file, SweepRecord, format_number=SWEEP_FORMAT)
    knobs = {arm.arm: arm.knobs for arm in record.arms}
    for arm in record.arms:
        if arm.twin_of is not None and knobs.get(arm.twin_of) != arm.knobs:
            raise FolderError(
                f"{file}: {arm.arm} is the twin of {arm.twin_of}, but the sweep has no arm {arm.twin_of} with the same "
                "knobs"
            )
    arms = [_arm(path, arm, record.repeat) for arm in record.arms]
    return Sweep(path=path, record=record, arms=_in_bytes(file, arms))


def _arm(path: Path, arm: SweepArmRecord, repeat: int) -> SweepArm:
    good: list[Run] = []
    troubles: list[Trouble] = []
    for number in range(1, repeat + 1):
        name = f"{arm.arm}.{number}"
        if not (path / name).is_dir():
            troubles.append(Trouble(run=name, status="missing", reason=_why_missing(path, name)))
            continue
        run = load_run(path / name)
        if run.arm != arm.arm:
            raise FolderError(f"{path / name / 'run.json'}: the run belongs to arm {run.arm}, not to {arm.arm}")
        if run.status != "ok":
            troubles.append(Trouble(run=name, status=run.status, reason=str(run.record.reason)))
        elif busy_ms(run) <= 0:
            troubles.append(Trouble(run=name, status="invalid", reason=IN_NO_TIME))
        else:
            good.append(run)
    return SweepArm(
        name=arm.arm,
        knobs=arm.knobs,
        twin_of=arm.twin_of,
        good=tuple(good),
        troubles=tuple(troubles),
    )


def _why_missing(path: Path, name: str) -> str:
    return "the run began, but did not end" if (path / f"{name}.partial").exists() else "the run has not begun"


def _in_bytes(file: Path, arms: Sequence[SweepArm]) -> tuple[SweepArm, ...]:
    """Returns the arms with LOWAT as a number of bytes, none or auto.

    Raises FolderError if a LOWAT is written in another way, such as 16k, and no ok run shows its number of bytes.
    """
    known = {arm.knobs.get(_LOWAT): str(arm.good[0].scenario.lowat) for arm in arms if arm.good}
    found = []
    for arm in arms:
        word = arm.knobs.get(_LOWAT, _WORDS_OF_LOWAT[0])
        if not word.isdecimal() and word not in _WORDS_OF_LOWAT:
            if word not in known:
                raise FolderError(f"{file}: LOWAT={word} is no number of bytes, and no ok run shows the number")
            arm = replace(arm, knobs={**arm.knobs, _LOWAT: known[word]})
        found.append(arm)
    return tuple(found)
