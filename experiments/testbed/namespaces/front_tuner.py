"""LOWAT=auto for a front that is a process of this kernel: makes the front's cgroup, and runs the tuner.

The tuner is the BPF program in the kernel if this program is available. Otherwise the tuner samples the front's
sockets in this process, and the run records the reason.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from priolab.common.formats.decisions import JOURNAL, writing
from priolab.common.patience import BLAME_S
from priolab.common.tuning import TunerKind
from priolab.experiments.errors import StepFailed, Unavailable
from priolab.experiments.host.processes import Process
from priolab.experiments.host.tools import TunerOrder
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.testbed.namespaces.cgroup import own_group
from priolab.experiments.testbed.places import FRONT_PORT, ActiveTuner
from priolab.proxy.tuner.caution import Caution
from priolab.proxy.tuner.claim import claimed_cgroup, claimed_process
from priolab.proxy.tuner.in_kernel import InKernel
from priolab.proxy.tuner.law import Aim
from priolab.proxy.tuner.namespaces import Sysctls
from priolab.proxy.tuner.tuner import CannotTune, Note, Tuner
from priolab.proxy.tuner.userland import Userland

_INSTEAD = "use TUNER=userland"


class FrontTuner:
    """The tuner of one front. group_name: the name of the front's cgroup."""

    def __init__(self, order: TunerOrder, group_name: str) -> None:
        self._order = order
        self._group_name = group_name
        self._group: Path | None = None
        self._lack = "as asked" if order.must_be_userland else order.lack

    @contextmanager
    def group(self) -> Iterator[Path | None]:
        """Yields the cgroup in which to start the front; None if the tuner needs none. Raises Unavailable."""
        with ExitStack() as stack:
            if self._order.program:
                try:
                    self._group = stack.enter_context(own_group(self._group_name))
                except OSError as error:
                    self._do_without(error.strerror or str(error))
            yield self._group

    @contextmanager
    def running(self, front: Process, scenario: Scenario, folder: Path) -> Iterator[ActiveTuner]:
        """Runs the tuner, with its journal in the folder. Raises Unavailable."""
        aim = Aim(target_us=scenario.target_delay_ns // 1000)
        with writing(folder / JOURNAL) as note, self._tuner(front, aim, note) as tuner:

            def look(now_ns: int) -> int:
                try:
                    return tuner.look(now_ns)
                except CannotTune as error:
                    front.wait(BLAME_S)
                    front.check_alive()
                    raise StepFailed("the tuner", str(error)) from error

            kind = TunerKind(self._order.kind) if self._order.is_cautious and self._order.kind else tuner.kind
            yield ActiveTuner(kind=kind, reason=self._lack, look=look)

    def _tuner(self, front: Process, aim: Aim, note: Note) -> Tuner:
        within, beside = (
            Caution(claim=claim, sysctls=Sysctls()) if self._order.is_cautious else None
            for claim in (claimed_cgroup, claimed_process)
        )
        if self._group is not None and self._order.program:
            program = Path(self._order.program)
            try:
                return InKernel(program, self._group, aim, note, _fail, port=FRONT_PORT, caution=within)
            except CannotTune as error:
                self._do_without(str(error))
        try:
            return Userland(front.pid, aim, note, port=FRONT_PORT, caution=beside)
        except CannotTune as error:
            raise Unavailable("LOWAT=auto", str(error), "use a fixed LOWAT") from error

    def _do_without(self, reason: str) -> None:
        if self._order.must_be_bpf:
            raise Unavailable(f"TUNER={self._order.kind}", reason, _INSTEAD)
        self._lack = reason


def _fail(what: str) -> None:
    """Raises StepFailed, so that the run fails. Called if the front's cgroup is gone or tuner decisions are lost."""
    raise StepFailed("the tuner", what)
