"""Compiles the tuner's BPF program before the runs."""

from collections.abc import Iterable
from dataclasses import dataclass

from experiments.errors import Unavailable
from experiments.host.cache import cache_folder
from experiments.scenario.scenario import LOWAT_AUTO, Scenario
from proxy.tuner import compiler
from proxy.tuner.libbpf import Loaded
from proxy.tuner.tuner import CannotTune, TunerKind


@dataclass(frozen=True, kw_only=True)
class TunerOrder:
    """The tuner to use in a run.

    kind: the kind of tuner that TUNER names; None for the first kind that can be used. program: the path of the
    compiled BPF program; None if the run has none. lack: the reason why the BPF program could not be compiled; None if
    it was compiled or is not needed.
    """

    kind: str | None = None
    program: str | None = None
    lack: str | None = None

    @property
    def must_be_bpf(self) -> bool:
        """True if TUNER=bpf, so no process beside the front may replace the BPF program."""
        return self.kind == TunerKind.BPF


NO_TUNER = TunerOrder()
"""The order of a run without a tuner."""


def lack_of_compiler() -> str | None:
    """Returns why the tuner's BPF program cannot be compiled on this machine; None if it can be compiled."""
    try:
        compiler.compiled(cache_folder())
    except CannotTune as error:
        return str(error)
    return None


def lack_on_host() -> str | None:
    """Returns why this user cannot load the tuner's BPF program into this machine's kernel; None if that works."""
    try:
        with Loaded(compiler.compiled(cache_folder())):
            return None
    except CannotTune as error:
        return str(error)


def prepare(scenarios: Iterable[Scenario], kind: TunerKind | None) -> TunerOrder:
    """Compiles the tuner's BPF program, if a scenario has LOWAT=auto and TUNER allows bpf. Raises Unavailable."""
    if kind is TunerKind.USERLAND or all(scenario.lowat != LOWAT_AUTO for scenario in scenarios):
        return TunerOrder(kind=kind)
    try:
        return TunerOrder(kind=kind, program=str(compiler.compiled(cache_folder())))
    except CannotTune as error:
        if kind is TunerKind.BPF:
            remedy = ", or ".join(filter(None, (error.remedy, "use TUNER=userland")))
            raise Unavailable(f"TUNER={kind}", str(error), remedy) from error
        return TunerOrder(kind=kind, lack=f"{error} ({error.remedy})" if error.remedy else str(error))
