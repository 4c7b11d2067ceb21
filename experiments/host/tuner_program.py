"""Compiles the tuner's BPF program before the runs, and describes it to each of them."""

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
    """kind: the kind asked for, None for what can be used. program: the compiled one; lack: the reason for none."""

    kind: str | None = None
    program: str | None = None
    lack: str | None = None

    @property
    def must_be_bpf(self) -> bool:
        """True if only the program in the kernel will do."""
        return self.kind == TunerKind.BPF


NO_TUNER = TunerOrder()
"""Nothing asked for and nothing prepared."""


def lack_of_compiler() -> str | None:
    """The reason why the kernel's program cannot be compiled on this machine; None if it can."""
    try:
        compiler.compiled(cache_folder())
    except CannotTune as error:
        return str(error)
    return None


def lack_on_host() -> str | None:
    """The reason why this machine's kernel does not take the program from this user; None if it does."""
    try:
        with Loaded(compiler.compiled(cache_folder())):
            return None
    except CannotTune as error:
        return str(error)


def prepare(scenarios: Iterable[Scenario], kind: TunerKind | None) -> TunerOrder:
    """Compiles the kernel's program, if a scenario may want it and it is missing. Raises Unavailable."""
    if kind is TunerKind.USERLAND or all(scenario.lowat != LOWAT_AUTO for scenario in scenarios):
        return TunerOrder(kind=kind)
    try:
        return TunerOrder(kind=kind, program=str(compiler.compiled(cache_folder())))
    except CannotTune as error:
        if kind is TunerKind.BPF:
            remedy = ", or ".join(filter(None, (error.remedy, "use TUNER=userland")))
            raise Unavailable(f"TUNER={kind}", str(error), remedy) from error
        return TunerOrder(kind=kind, lack=f"{error} ({error.remedy})" if error.remedy else str(error))
