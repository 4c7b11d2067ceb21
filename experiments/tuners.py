"""What LOWAT=auto is done by: made ready on this machine before the runs, and told to each of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from experiments.errors import Unavailable
from experiments.guest.kernel import cache_folder
from experiments.scenario import LOWAT_AUTO, Scenario
from proxy.tuner import compiler
from proxy.tuner.tuner import CannotTune, Kind


@dataclass(frozen=True, kw_only=True)
class TunerOrder:
    """kind: what was asked for, None for what can be used. program: the compiled one; lack: why there is none."""

    kind: str | None = None
    program: str | None = None
    lack: str | None = None

    @property
    def must_be_bpf(self) -> bool:
        """Whether nothing else will do."""
        return self.kind == Kind.BPF


def prepare(scenarios: Iterable[Scenario], kind: Kind | None) -> TunerOrder:
    """Compile the kernel's program, if a scenario may want it and it is not there. Raises Unavailable."""
    if kind is Kind.USERLAND or all(scenario.lowat != LOWAT_AUTO for scenario in scenarios):
        return TunerOrder(kind=kind)
    try:
        return TunerOrder(kind=kind, program=str(compiler.compiled(cache_folder())))
    except CannotTune as error:
        if kind is Kind.BPF:
            raise Unavailable(f"TUNER={kind}", str(error), f"{compiler.REMEDY}, or use TUNER=userland") from error
        return TunerOrder(kind=kind, lack=f"{error} ({compiler.REMEDY})")
