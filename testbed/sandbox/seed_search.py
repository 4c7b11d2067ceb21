"""Searches seeds for a run that fails. The failing run's faults are made simpler, and it is repeated in a new guest.

Rules:
1. Runs begin in the order of seeds. When one fails, no further one begins, and of those that fail the first counts. So
   the seed that is found does not depend on how many runs are carried out side by side.
2. Guests are kept from run to run. What is found fails in a new guest, too, as that of a command is.
3. What the lab or the machine lacks is no failure of a run: it ends the search. A run that has used up --wall-limit
   fails, but is neither made simpler nor repeated.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from priolab.common.errors import ScenarioError, StepFailed
from priolab.netem.parsers import whole
from priolab.testbed.option_values import SEED_WORD, value_of
from priolab.testbed.sandbox import knobs, session
from priolab.testbed.sandbox.faults import FAULTS, Fault, Faults, Schedule, schedule_of_faults
from priolab.testbed.sandbox.outcome import Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputFrame
from priolab.testbed.sandbox.packet_trace import PacketTrace
from priolab.testbed.sandbox.shrinking import shrunk
from priolab.testbed.sandbox.spec import SandboxSpec

_MOST_JOBS = 64
_NO_RUNS = (Ending.FAILED, Ending.NOT_STARTED, Ending.NOT_FOUND)


def check_seeds(where: str, seeds: Sequence[int]) -> None:
    """Checks seeds. where: what has them, for the error. Raises ScenarioError."""
    if not isinstance(seeds, Sequence):
        raise ScenarioError(where, f"{seeds}", "a sequence, such as range(1, 1001)")
    for seed in (min(seeds), max(seeds)) if seeds else ():
        value_of(where, f"{seed}", SEED_WORD)


def jobs_of(where: str, text: str) -> int:
    """Returns how many runs are carried out at once. Raises ScenarioError."""
    try:
        return whole(1, _MOST_JOBS)(text)
    except ValueError:
        raise ScenarioError(where, text, f"1 to {_MOST_JOBS}") from None


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A run to try: its seed, and the events that it has beside those of every run."""

    seed: int
    schedule: Schedule = ()


@dataclass(frozen=True, kw_only=True)
class TrialRun:
    """A trial that has been carried out. spec: what was carried out. trace: its packets; None without a capture."""

    trial: Trial
    spec: SandboxSpec
    outcome: Outcome
    frames: Sequence[OutputFrame]
    trace: PacketTrace | None = None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A run that fails, and fails again. drawn: the faults that its seed draws. left: those that it still has.

    further: how many runs were needed to make them simpler.
    """

    run: TrialRun
    drawn: Sequence[Fault] = ()
    left: Sequence[Fault] = ()
    further: int = 0


Judge = Callable[[TrialRun], Hashable | None]
"""Returns None for a run that does not fail, or else a value that is equal for runs that fail in the same way."""


@dataclass(kw_only=True)
class SeedSearch:
    """A search. request: that of each run, with the events of all. faults: those to draw; None for none. traced: True
    if the judge looks at packets. jobs: how many runs are carried out at once. tried: called with each seed that has
    been tried. simpler: called with the number of each further run.
    """

    request: session.RunRequest
    room: Path
    judge: Judge
    faults: Faults | None = None
    traced: bool = False
    jobs: int = 1
    tried: Callable[[int], None] = lambda _: None
    simpler: Callable[[int], None] = lambda _: None
    unrepeated: list[int] = field(default_factory=list)
    """The seeds of runs that failed in a kept guest and not in a new one."""

    _further: int = 0

    def find(self, seeds: Sequence[int]) -> Failure | None:
        """Returns the first seed's run that fails; None if none does. Raises LabError."""
        at = 0
        while at < len(seeds):
            found = self._first(self._drawn(seeds[at:]), tried=self.tried)
            if found is None:
                return None
            number, run, way = found
            if failure := self._repeated(run, way):
                return failure
            self.unrepeated.append(run.trial.seed)
            at += number + 1
        return None

    def _drawn(self, seeds: Iterable[int]) -> Iterator[Trial]:
        for seed in seeds:
            yield Trial(seed=seed, schedule=schedule_of_faults(self._faults(seed)))

    def _faults(self, seed: int) -> tuple[Fault, ...]:
        return self.faults.drawn(seed) if self.faults else ()

    def _repeated(self, run: TrialRun, way: Hashable) -> Failure | None:
        """Returns the run, with simpler faults if that fails in a new guest; None if it fails only in a kept one."""
        seed = run.trial.seed
        drawn = self._faults(seed)
        self._further = 0
        simplest = run
        if run.outcome.ending is Ending.WALL_LIMIT:  # which took long, and follows from the machine
            return Failure(run=run, drawn=drawn, left=drawn)

        def first_failing(candidates: Sequence[Sequence[Fault]]) -> int | None:
            nonlocal simplest
            trials = [Trial(seed=seed, schedule=schedule_of_faults(each)) for each in candidates]
            if (found := self._first(trials, way, tried=self._count)) is None:
                return None
            number, simplest, _ = found
            return number

        left = shrunk(drawn, self.faults.possible, first_failing) if self.faults else ()
        reached = simplest.trial.schedule[: self._happened(simplest)]
        for schedule, faults in ((reached, left), (simplest.trial.schedule, left), (run.trial.schedule, drawn)):
            trial = Trial(seed=seed, schedule=schedule)
            if found := self._first([trial], way, fresh=True, tried=self._count):
                return Failure(run=found[1], drawn=drawn, left=faults, further=self._further)
        return None

    def _happened(self, run: TrialRun) -> int:
        """Returns how many events of a trial had happened when its run ended."""
        ended_ns = run.outcome.duration_ns
        own, whole = self.request.spec.schedule, run.spec.schedule
        return sum(at_ns <= ended_ns for at_ns, _ in whole) - sum(at_ns <= ended_ns for at_ns, _ in own)

    def _count(self, _: int) -> None:
        self._further += 1
        self.simpler(self._further)

    def _spec(self, trial: Trial) -> SandboxSpec:
        spec = replace(self.request.spec, seed=trial.seed)
        if not trial.schedule:
            return spec
        own = ((f"{at_ns}ns", text) for at_ns, text in spec.schedule)
        return spec.scheduled((*own, *trial.schedule), knobs.of_way({}), FAULTS)

    def _first(
        self,
        trials: Iterable[Trial],
        way: Hashable | None = None,
        *,
        fresh: bool = False,
        tried: Callable[[int], None],
    ) -> tuple[int, TrialRun, Hashable] | None:
        """Returns the first trial that fails: its number, its run, and how it fails; None if none does.

        way: how it must fail; None for any. fresh: True to carry out each in a new guest.
        """
        failing: dict[int, tuple[TrialRun, Hashable]] = {}

        def orders() -> Iterator[session.Order]:
            for number, trial in enumerate(trials):
                if failing:
                    return
                traces: list[PacketTrace] = []
                spec = self._spec(trial)
                yield session.Order(
                    request=replace(
                        self.request, spec=spec, fresh=fresh, traced=traces.append if self.traced else None
                    ),
                    finished=partial(finished, number, trial, spec, traces),
                )

        def finished(
            number: int,
            trial: Trial,
            spec: SandboxSpec,
            traces: Sequence[PacketTrace],
            outcome: Outcome,
            frames: Sequence[OutputFrame],
        ) -> None:
            if outcome.ending in _NO_RUNS:
                raise StepFailed(f"seed {trial.seed}", outcome.reason or outcome.ending)
            trace = traces[0] if traces else None
            run = TrialRun(trial=trial, spec=spec, outcome=outcome, frames=frames, trace=trace)
            found = self.judge(run)
            if found is not None and way in (None, found):
                failing[number] = run, found
            tried(trial.seed)

        session.carry_out_all(orders(), session.GUEST, self.room, self.jobs)
        if not failing:
            return None
        number = min(failing)
        return (number, *failing[number])
