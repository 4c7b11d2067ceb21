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
    """The tuner of one front."""

    def __init__(self, kind: TunerKind | None, group_name: str) -> None:
        """kind: the tuner that TUNER names; None for the first kind that can be used. group_name: of the cgroup."""
        self._kind = kind
        self._in_kernel = kind is None or kind.is_in_kernel
        self._group_name = group_name
        self._group: Path | None = None
        self._lack = None if self._in_kernel else "as asked"

    @contextmanager
    def group(self) -> Iterator[Path | None]:
        """Yields the cgroup in which to start the front; None if the tuner needs none. Raises Unavailable."""
        with ExitStack() as stack:
            if self._in_kernel:
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

            yield ActiveTuner(kind=self._kind or tuner.kind, reason=self._lack, look=look)

    def _tuner(self, front: Process, aim: Aim, note: Note) -> Tuner:
        within, beside = (
            Caution(claim=claim, sysctls=Sysctls()) if self._kind and self._kind.is_cautious else None
            for claim in (claimed_cgroup, claimed_process)
        )
        if self._group is not None:
            try:
                return InKernel(self._group, aim, note, _fail, port=FRONT_PORT, caution=within)
            except CannotTune as error:
                self._do_without(str(error))
        try:
            return Userland(front.pid, aim, note, port=FRONT_PORT, caution=beside)
        except CannotTune as error:
            raise Unavailable("LOWAT=auto", str(error), "use a fixed LOWAT") from error

    def _do_without(self, reason: str) -> None:
        if self._kind and self._in_kernel:
            raise Unavailable(f"TUNER={self._kind}", reason, _INSTEAD)
        self._lack = reason


def _fail(what: str) -> None:
    """Raises StepFailed, so that the run fails. Called if the front's cgroup is gone or tuner decisions are lost."""
    raise StepFailed("the tuner", what)
