"""`priolab sandbox --seeds`: runs the same sandbox with one seed after the other, until a run fails."""

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial

from priolab.common.errors import ScenarioError
from priolab.common.exit_codes import ExitCode
from priolab.testbed.option_values import SEED_WORD, value_of
from priolab.testbed.process.command_process import keep_guests
from priolab.testbed.sandbox import knobs, session
from priolab.testbed.sandbox.expectations import EXPECT, NEVER, Expectation, Verdict
from priolab.testbed.sandbox.faults import FAULTS, Budget, Faults
from priolab.testbed.sandbox.outcome import Ending, exit_code_of
from priolab.testbed.sandbox.output_log import last_lines_of_all
from priolab.testbed.sandbox.repetition import Repetition
from priolab.testbed.sandbox.seed_search import Failure, SeedSearch, TrialRun, jobs_of
from priolab.testbed.sandbox.spec import SandboxSpec

SEEDS, JOBS = "--seeds", "--jobs"
_LINES = 5
_ASIDE_S = 60.0
_RANGE = re.compile(r"(\d+)(?:\.\.(\d+))?", re.ASCII)
_OF_ONE_RUN = ("server_output", "both", "report", "json", "capture", "timeline", "between", "samples")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a search to the parser of `priolab sandbox`."""
    parser.add_argument(
        SEEDS,
        metavar="FIRST..LAST",
        help="run with these seeds, one after the other, until a run fails: by the client's exit code, by"
        f" {EXPECT} or {NEVER}; print the seed, and a command that repeats the run",
    )
    parser.add_argument(JOBS, metavar="N", help="how many runs at once (default: as many as there are processors)")
    parser.add_argument(
        FAULTS,
        metavar="WORDS",
        help="draw events from the seed: 'partition, hold A B, crash server, stop, down, LOSS<=30%%, phone.DELAY<=2s,"
        f" RATE>=100kbit, faults<=4, length<=5s, within<=10s' (default: {Budget()}); what begins also ends",
    )


def seeds_of(text: str, where: str = SEEDS) -> range:
    """Returns the seeds of a text such as `1..1000` or `7`. Raises ScenarioError."""
    if match := _RANGE.fullmatch(text.strip()):
        first = value_of(where, match[1], SEED_WORD)
        last = value_of(where, match[2] or match[1], SEED_WORD)
        if first <= last:
            return range(first, last + 1)
    raise ScenarioError(where, text, f"FIRST..LAST, such as 1..1000, with seeds of {SEED_WORD.allowed}")


def with_faults(spec: SandboxSpec, words: str | None) -> SandboxSpec:
    """Returns the spec with the faults that its seed draws. Raises ScenarioError."""
    if words is None:
        return spec
    faults = Faults.parse(words, spec)
    return faults.scheduled(faults.drawn(spec.seed))


def check_options(options: argparse.Namespace) -> None:
    """Checks the options that go with a search, or without one alone. Raises ScenarioError."""
    if options.seeds is None:
        if options.jobs is not None:
            raise ScenarioError(JOBS, options.jobs, f"none without {SEEDS}")
        return
    for name in _OF_ONE_RUN:
        if given := getattr(options, name):
            option = f"--{name.replace('_', '-')}"
            text = "" if given is True else f"{given}"
            raise ScenarioError(option, text, f"none beside {SEEDS}; the command that it prints takes {option}")


def search(
    options: argparse.Namespace,
    request: session.RunRequest,
    expectations: Sequence[Expectation],
    complain: Callable[[str], None],
) -> ExitCode:
    """Carries out a search; returns the exit code. request: that of each run. Raises LabError."""
    seeds = seeds_of(options.seeds)
    given, links = knobs.parsed(options.words)
    if knobs.SEED in given:
        raise ScenarioError(knobs.SEED, given[knobs.SEED], f"none beside {SEEDS}, which gives each run its seed")
    if request.fabric == session.NAMESPACES:
        raise ScenarioError(knobs.FABRIC, request.fabric, f"{session.GUEST} with {SEEDS}: elsewhere no run repeats")
    faults = None if options.faults is None else Faults.parse(options.faults, request.spec)
    jobs = jobs_of(JOBS, options.jobs or f"{len(os.sched_getaffinity(0))}")
    request = replace(request, fabric=session.GUEST)
    session.usable(request)
    progress = _Progress(seeds)
    with session.room() as room, keep_guests(jobs):
        found = SeedSearch(
            request=request,
            room=room,
            judge=partial(_way_to_fail, expectations=expectations),
            faults=faults,
            jobs=min(jobs, len(seeds)),
            tried=progress.tried,
            simpler=progress.simpler,
        )
        try:
            failure = found.find(seeds)
        except BaseException as error:
            progress.end()
            if not isinstance(error, Exception):  # Ctrl-C and its kin
                progress.tell_rest()
            raise
    progress.end()
    for seed in found.unrepeated:
        complain(f"seed {seed} failed in a guest that had been used before, and not in a new one; it was passed over")
    if failure is None:
        _aside(f"no seed of {_shown(seeds)} fails: {progress.rate}")
        return ExitCode.OK
    repetition = Repetition(
        spec=failure.run.spec,
        given=given,
        links=links,
        memory=options.memory,
        stdin=request.stdin,
        wall_limit=options.wall_limit,
        expectations=tuple(
            (each, words) for each, of in ((EXPECT, options.expect), (NEVER, options.never)) for words in of
        ),
    )
    _tell(failure, expectations, complain, progress.rate)
    print(repetition.command, flush=True)
    return ExitCode.NOT_OK


def _way_to_fail(run: TrialRun, expectations: Sequence[Expectation]) -> Hashable | None:
    """Returns the exit code and the expectations that do not hold; None for a run that does not fail."""
    code = exit_code_of(run.outcome)
    if run.outcome.ending is not Ending.ENDED:
        return code
    verdict = Verdict(expectations)
    verdict.hear(run.frames)
    return (code, *(each for each, _ in verdict.failing(code))) if verdict.code(code) else None


def _tell(failure: Failure, expectations: Sequence[Expectation], complain: Callable[[str], None], rate: str) -> None:
    """Says which seed fails, and why."""
    run = failure.run
    reasons = [run.outcome.reason] if run.outcome.reason else []
    if run.outcome.ending is Ending.ENDED:
        verdict = Verdict(expectations)
        verdict.hear(run.frames)
        code = exit_code_of(run.outcome)
        reasons += [*verdict.lacks(code)] or [f"the client exits {code}"]
    complain(f"seed {run.trial.seed} fails: {'; '.join(reasons)}")
    _aside(f"{rate}")
    if failure.drawn:
        left = f"{len(failure.left)} {'is' if len(failure.left) == 1 else 'are'} left"
        _aside(f"faults: it draws {len(failure.drawn)}, of which {left} after {failure.further} further runs")
    for line in last_lines_of_all(run.frames, _LINES):
        _aside(line)
    _aside("to repeat it:")


def _shown(seeds: Sequence[int]) -> str:
    return f"{seeds[0]}..{seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"


class _Progress:
    """Shows on standard error how many seeds have been tried: on a terminal in one line, elsewhere once a minute."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self._seeds = seeds
        self._begun_s = self._told_s = time.monotonic()
        self._tried: set[int] = set()
        self._took_s = 0.0
        self._is_terminal = sys.stderr.isatty()
        self._is_open = False

    @property
    def rate(self) -> str:
        """The number of seeds tried, and the time it took."""
        took_s = self._took_s or 1e-9
        count = len(self._tried)
        return f"{count} of {len(self._seeds)} seeds tried in {took_s:.1f} s, {60 * count / took_s:.0f} a minute"

    def tried(self, seed: int) -> None:
        """Hears that a seed has been tried."""
        self._tried.add(seed)
        self._took_s = time.monotonic() - self._begun_s
        self._show(self.rate)

    def simpler(self, number: int) -> None:
        """Hears that a failing run was tried once more with simpler faults, or in a new guest."""
        self._show(f"a seed fails; run {number} to make its faults simpler and to repeat it")

    def tell_rest(self) -> None:
        """Says how far an interrupted search came."""
        rest = next((seed for seed in self._seeds if seed not in self._tried), None)
        more = f"; {SEEDS} {rest}..{self._seeds[-1]} goes on" if rest is not None else ""
        _aside(f"{self.rate}; none of them has failed in a new guest{more}")

    def end(self) -> None:
        """Removes the line."""
        if self._is_open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_open = False

    def _show(self, text: str) -> None:
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self._is_open = True
        elif time.monotonic() - self._told_s > _ASIDE_S:
            self._told_s = time.monotonic()
            _aside(text)


def _aside(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
