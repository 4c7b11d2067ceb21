"""Errors for the person at the keyboard. Caught in the command line and the runner, nowhere else."""

from collections.abc import Sequence
from pathlib import Path

QUIETER = "use a quieter machine, or FABRIC=virtual"
"""The remedy for a run that its machine did not serve in time."""


class LabError(Exception):
    """Base of the family; the text is one clear line."""


class ScenarioError(LabError):
    """Bad input: the place, the given value, the allowed ones."""

    def __init__(self, where: str, given: str, allowed: str) -> None:
        super().__init__(f"{where}={given} is not allowed; allowed: {allowed}")


class UnknownKnob(ScenarioError):
    """A name that is no knob's: suggests near names, or lists all."""

    def __init__(self, name: str, near: Sequence[str], known: Sequence[str]) -> None:
        hint = f"did you mean {' or '.join(near)}?" if near else f"the knobs are {', '.join(known)}"
        LabError.__init__(self, f"{name} is not a knob; {hint}")


class GridError(ScenarioError):
    """A sweep's grid that is not allowed, or not without a further option; the text is complete."""

    def __init__(self, text: str) -> None:
        LabError.__init__(self, text)


class Unavailable(LabError):
    """Something cannot be used here: the reason and the remedy."""

    def __init__(self, what: str, reason: str, remedy: str) -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{what} cannot be used here: {reason}; {remedy}")


class StepFailed(LabError):
    """A step of a run went wrong: the step, the reason, and the log to read."""

    def __init__(self, step: str, reason: str, log: Path | None = None) -> None:
        self.step = step
        self.reason = reason
        self.log = log
        super().__init__(f"{step}: {reason}" + (f" (log: {log})" if log else ""))


class TimedOut(StepFailed):
    """A command took longer than it may; the text gives a remedy."""

    def __init__(self, step: str, command: str, limit_s: float, remedy: str) -> None:
        self.limit_s = limit_s
        super().__init__(step, f"{command} took more than {limit_s:g} s; {remedy}")


class InvalidRun(LabError):
    """A run that must not be believed: what was asked, what was observed instead, and the remedy, if any."""

    def __init__(self, check: str, asked: object, observed: object, remedy: str = "") -> None:
        super().__init__(f"{check}: asked for {asked}, observed {observed}" + (f"; {remedy}" if remedy else ""))
