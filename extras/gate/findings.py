"""The findings of a gate's checks, and which of the faults that they name are left out. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from priolab.extras.gate.checks import Check
from priolab.extras.gate.faults import Fault

_READ_IN = ("levels", "parameters", "updates", "used")
"""The checks whose faults are in how a server reads priorities."""

_EXPLAINED = {Fault.SKIPS_LEVEL: {Fault.STARVES}, Fault.FIRST_UNREAD: {Fault.MIXES_CONNECTIONS}}
"""By fault those that other checks would name because of it."""

_GENERAL = {Fault.MISREADS_UPDATES, Fault.MISREADS_PARAMETERS, Fault.MISREADS_RESPONSE}
"""The faults that say no more than where priorities are misread."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of a check.

    passed: True if the expectation holds; None if the check could not be made. reason: the observation, or why there is
    none. error: True if a trial had no result. faults: the faults that the check names. frames: the frames that prove
    it, or those until a trial failed. ledger: the ledger of a load, in words. folders: the run folders with all frames.
    follows: the name of the check from whose failure this one follows; None if it does not. took_s: how long the trials
    took.
    """

    check: Check
    passed: bool | None
    reason: str
    error: bool = False
    faults: tuple[Fault, ...] = ()
    frames: tuple[str, ...] = ()
    ledger: str | None = None
    folders: tuple[str, ...] = ()
    follows: str | None = None
    took_s: float = 0.0

    @property
    def text(self) -> str:
        """The faults with their meanings, and the observation."""
        return "; ".join([*(f"{fault}: {fault.meaning}" for fault in self.faults), self.reason])


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a gate. target: the server, as it was given. findings: in the order of the checks.

    ended_early: True if the gate ended before all checks were made.
    """

    target: str
    title: str
    findings: tuple[Finding, ...]
    took_s: float
    ended_early: bool = False

    @property
    def passed(self) -> bool:
        """True if every check that could be made passed, and at least one could be made."""
        made = [each.passed for each in self.findings if each.passed is not None]
        return bool(made) and all(made) and not self.ended_early

    @property
    def faults(self) -> list[Fault]:
        """The faults named, each once."""
        return list(dict.fromkeys(fault for each in self.findings for fault in each.faults))


def without_explained(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yields the findings, without the faults that a fault of another check explains."""
    for each in findings:
        cause = next((other for other in findings if each.faults and set(each.faults) <= _explained(other)), None)
        if cause is None:
            yield each
            continue
        reason = f"{each.reason}; this may follow from the fault of the check {cause.check.kind}"
        yield replace(each, reason=reason, faults=(), frames=(), follows=cause.check.name)


def _explained(finding: Finding) -> set[Fault]:
    """Returns the faults of other checks that a finding's faults explain."""
    for fault, explained in _EXPLAINED.items():
        if fault in finding.faults:
            return explained
    is_precise = bool(finding.faults) and not _GENERAL & set(finding.faults)
    return _GENERAL if is_precise and finding.check.kind in _READ_IN else set()
