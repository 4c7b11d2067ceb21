"""The lab's errors. The text of each is one line for the user."""

from collections.abc import Sequence
from pathlib import Path

QUIETER = "use a machine that is less busy, or FABRIC=virtual"
"""The remedy for a run that a busy machine delayed too much."""

_MOST_SHOWN = 400
RAISE_LIMIT = "raise this limit of the shell"


class LabError(Exception):
    """Base class of the lab's errors."""


class ScenarioError(LabError):
    """A bad value of a knob, of an option or of a key in a file.

    where: the name of the knob or option, or the file and the key in it. given: the bad value. allowed: the allowed
    values, in words.
    """

    def __init__(self, where: str, given: str, allowed: str) -> None:
        shown = given if len(given) <= _MOST_SHOWN else f"{given[:_MOST_SHOWN]}... ({len(given)} characters)"
        super().__init__(f"{where}={shown} is not allowed; allowed: {allowed}")


class UnknownKnob(ScenarioError):
    """A name that is not a knob. near: similar names to suggest. known: all knobs, listed if `near` is empty."""

    def __init__(self, name: str, near: Sequence[str], known: Sequence[str]) -> None:
        hint = f"did you mean {' or '.join(near)}?" if near else f"the knobs are {', '.join(known)}"
        LabError.__init__(self, f"{name or 'an empty name'} is not a knob; {hint}")


class Unfit(ScenarioError):
    """Values that are allowed, but not together. text: the whole message."""

    def __init__(self, text: str) -> None:
        LabError.__init__(self, text)


class GridError(Unfit):
    """Knob values of a sweep that are not allowed, or allowed only with a further option. text: the whole message."""


class Unavailable(LabError):
    """Something cannot be used on this machine. what: its name. reason: why not. remedy: what the user can do."""

    def __init__(self, what: str, reason: str, remedy: str) -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{what} cannot be used here: {reason}; {remedy}")


class StepFailed(LabError):
    """A step of the lab's work failed. step: its name. reason: why it failed. log: the file with details, if any."""

    def __init__(self, step: str, reason: str, log: Path | None = None) -> None:
        self.step = step
        self.reason = reason
        self.log = log
        super().__init__(f"{step}: {reason}" + (f" (log: {log})" if log else ""))


class TimedOut(StepFailed):
    """A command took longer than limit_s seconds.

    step: the name of the step that needed the command. command: the command line. remedy: what the user can do.
    """

    def __init__(self, step: str, command: str, limit_s: float, remedy: str) -> None:
        self.limit_s = limit_s
        super().__init__(step, f"{command} took more than {limit_s:g} s; {remedy}")


class InvalidRun(LabError):
    """A run whose result must not be used, because an observed value differs from the requested one.

    check: what was checked. asked, observed: the two values. remedy: what the user can do, if anything.
    """

    def __init__(self, check: str, asked: object, observed: object, remedy: str = "") -> None:
        super().__init__(f"{check}: asked for {asked}, observed {observed}" + (f"; {remedy}" if remedy else ""))
