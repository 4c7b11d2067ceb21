"""LOWAT=auto for a front that is a process of this kernel: makes the front's cgroup, and runs the tuner on it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.formats.decisions import JOURNAL, writing
from priolab.common.tuning import NO_LIMIT, TunerKind
from priolab.experiments.hosts.experiment_hosts import FRONT_PORT, ActiveTuner
from priolab.experiments.scenario.scenario import Scenario
from priolab.proxy.tuner.in_kernel import InKernel, Rule
from priolab.proxy.tuner.libbpf import CannotTune
from priolab.testbed import cgroup

INSTEAD = "use FABRIC=virtual, or a fixed LOWAT"


class FrontTuner:
    """The tuner of one front, for which it makes a cgroup. group_name: the cgroup's name."""

    def __init__(self, kind: TunerKind, group_name: str) -> None:
        self._kind, self._group_name = kind, group_name
        self._group: Path | None = None

    @contextmanager
    def group(self) -> Iterator[Path]:
        """Yields the cgroup in which to start the front. Raises Unavailable."""
        with ExitStack() as stack:
            try:
                self._group = stack.enter_context(cgroup.own_group(self._group_name))
            except OSError as error:
                reason = f"the front gets no cgroup: {error.strerror}"
                raise Unavailable("LOWAT=auto", reason, f"run as root, {INSTEAD}") from error
            yield self._group

    def running(self, scenario: Scenario, folder: Path) -> AbstractContextManager[ActiveTuner]:
        """Runs the tuner, with its journal in the folder. Raises Unavailable."""
        assert self._group is not None, "the front has been started"
        return tuning(self._group, self._kind, scenario, folder)


@contextmanager
def tuning(
    group: Path, kind: TunerKind, scenario: Scenario, folder: Path, namespace: int | None = None
) -> Iterator[ActiveTuner]:
    """Runs the tuner on a cgroup, with its journal in the folder. Raises Unavailable.

    namespace: the cookie of the network namespace whose connections are tuned; None for all.
    """
    assert scenario.target_delay_ns is not None
    rule = Rule(
        target_us=scenario.target_delay_ns // 1000,
        port=FRONT_PORT,
        cautious=kind == TunerKind.CAUTIOUS_BPF,
        namespaces={} if namespace is None else {namespace: NO_LIMIT},
    )
    with ExitStack() as stack:
        note = stack.enter_context(writing(folder / JOURNAL))
        try:
            tuner = InKernel(group, rule, note)
        except CannotTune as error:
            raise Unavailable("LOWAT=auto", str(error), ", ".join(filter(None, (error.remedy, INSTEAD)))) from error

        def look(now_ns: int) -> int:
            try:
                return tuner.look(now_ns)
            except CannotTune as error:
                raise StepFailed("the tuner", str(error)) from error

        with tuner:
            yield ActiveTuner(kind=kind, look=look)
