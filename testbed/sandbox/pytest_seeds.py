"""Tests that run with one seed after the other: `@pytest.mark.seeds(200, faults="partition, LOSS<=30%")`.

Rules:
1. A test is one test, whatever the number of its seeds: its function is called with each until it fails.
2. The first sandbox that the function makes gets the faults; all of them get the seed.
3. Of a seed that fails, the faults are made simpler, as long as the same kind of error comes from the same line. Then
   the function is called in new guests, and the test fails by what it raises there.
"""

import inspect
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from priolab.common.errors import ScenarioError, Unavailable
from priolab.testbed.sandbox.faults import Fault, Faults, schedule_of_faults
from priolab.testbed.sandbox.sandbox import Sandbox
from priolab.testbed.sandbox.seed_search import check_seeds
from priolab.testbed.sandbox.session import GUEST
from priolab.testbed.sandbox.shrinking import shrunk

MARK, OPTION = "seeds", "--sandbox-seed"


class Attempt:
    """A call of a test's function. A context manager, which ends its sandboxes. made: these, in order.

    drawn: the faults that the seed draws; empty before the first sandbox.
    """

    def __init__(
        self, seed: int, words: str | None, faults: Sequence[Fault] | None = None, *, fresh: bool = False
    ) -> None:
        """words: the faults to draw; None for none. faults: the faults instead. fresh: True for new guests."""
        self.seed = seed
        self.drawn: Sequence[Fault] = ()
        self.possible: Callable[[Sequence[Fault]], bool] = lambda _: True
        self.made: list[Sandbox] = []
        self._words = words
        self._faults = faults
        self._fresh = fresh
        self._stack = ExitStack()

    def make(self, parameters: dict[str, Any]) -> Sandbox:
        """Makes a sandbox. Raises ScenarioError."""
        if "seed" in parameters:
            raise ScenarioError("seed", f"{parameters['seed']}", f"none with the mark {MARK}, which gives the seed")
        given = {"fabric": GUEST, **parameters, "seed": self.seed} | ({"fresh": True} if self._fresh else {})
        made = self._stack.enter_context(Sandbox(**given))
        if self._words is not None and not self.made:
            found: Faults = made.faults(self._words)
            self.possible = found.possible
            self.drawn = found.drawn(self.seed) if self._faults is None else self._faults
            for at, event in schedule_of_faults(self.drawn):
                made.at(at, event)
        self.made.append(made)
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


class SeededTest:
    """A test with seeds. call: calls its function in an attempt."""

    def __init__(self, item: pytest.Function, mark: pytest.Mark, call: Callable[[Attempt], None]) -> None:
        """Makes the test fail for a mark that is not allowed here."""
        self._item = item
        self._call = call
        self._seeds, self._words = _read(item, mark)

    def run(self) -> None:
        """Calls the function with one seed after the other. Raises what it raises."""
        for seed in self._seeds:
            error, attempt = self._attempt(Attempt(seed, self._words))
            if error is not None:
                self._fail(error, attempt)

    def _attempt(self, attempt: Attempt) -> tuple[Exception | None, Attempt]:
        try:
            with attempt:
                self._call(attempt)
        except (ScenarioError, Unavailable):  # of the test itself, whatever the seed
            raise
        except Exception as error:
            return error, attempt
        if not attempt.made:
            pytest.fail(f"the mark {MARK} is for tests that make a sandbox, which gets the seed", pytrace=False)
        return None, attempt

    def _fail(self, error: Exception, attempt: Attempt) -> None:
        """Raises an error of a seed that fails, of a call with simpler faults if there are any."""
        seed, drawn, wanted = attempt.seed, attempt.drawn, self._way(error)

        def fails(faults: Sequence[Fault]) -> bool:
            found, _ = self._attempt(Attempt(seed, self._words, faults))
            return found is not None and self._way(found) == wanted

        def first_failing(candidates: Sequence[Sequence[Fault]]) -> int | None:
            return next((number for number, each in enumerate(candidates) if fails(each)), None)

        left = shrunk(drawn, attempt.possible, first_failing) if drawn else drawn
        for faults in dict.fromkeys([tuple(left), tuple(drawn)]):
            again, _ = self._attempt(Attempt(seed, self._words, faults, fresh=True))
            if again is not None:
                again.add_note(f"seed {seed}; only this seed: pytest {self._item.nodeid} {OPTION} {seed}")
                raise again
        error.add_note(f"seed {seed} failed in a guest that had been used before, and not in a new one")
        raise error

    def _way(self, error: Exception) -> Hashable:
        """Returns what is equal for errors of the same kind from the same line of the test's file."""
        lines = []
        place = error.__traceback__
        while place is not None:
            if Path(place.tb_frame.f_code.co_filename) == self._item.path:
                lines.append(place.tb_lineno)
            place = place.tb_next
        return type(error), lines[-1:]


def _read(item: pytest.Function, mark: pytest.Mark) -> tuple[Sequence[int], str | None]:
    """Returns the seeds and the faults of a mark."""
    usage = f"{MARK}(COUNT) or {MARK}(range(FIRST, END)), and faults='partition, LOSS<=30%' if there should be some"
    try:
        (given,), words = mark.args, mark.kwargs.get("faults")
        seeds = range(1, given + 1) if isinstance(given, int) else given
        check_seeds(MARK, seeds)
        is_read = len(seeds) > 0 and not {*mark.kwargs} - {"faults"} and isinstance(words, str | None)
    except (ValueError, TypeError, ScenarioError):
        is_read = False
    if not is_read:
        pytest.fail(f"the mark {MARK} of {item.nodeid} is not {usage}", pytrace=False)
    if "sandbox" not in item.fixturenames or inspect.iscoroutinefunction(item.obj):
        pytest.fail(f"the mark {MARK} is for tests with the fixture sandbox that are not async", pytrace=False)
    only = item.config.getoption(OPTION.removeprefix("--").replace("-", "_"), None)
    return (seeds if only is None else [only]), words
