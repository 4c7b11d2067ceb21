"""Tests of how tests on real clocks treat a machine that is late."""

import pytest

from priolab.common.errors import QUIETER, InvalidRun
from tests.support import punctuality
from tests.support.punctuality import must_be_punctual, was_late


@pytest.fixture(autouse=True)
def _calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing wait for the machine, and later tests of this process be as patient as before."""
    monkeypatch.setattr(punctuality, "_wait_for_calm", lambda: None)
    monkeypatch.setattr(punctuality, "_attempts", 5)


def test_a_late_run_is_known_by_its_remedy() -> None:
    """A reason with the remedy for a busy machine names a late run, also if the line is broken; others do not."""
    assert was_late(str(InvalidRun("lateness", "at most 40.0 ms", "41.0 ms", QUIETER)))
    assert was_late(QUIETER.replace(" ", "\n  "))
    assert not was_late(str(InvalidRun("rate in bit/s", 1000, 2000)))


def test_a_run_is_repeated_until_it_is_on_time() -> None:
    """The first result that was not late is returned."""
    results = iter(["late", "late", "on time", "too much"])
    assert must_be_punctual(lambda: next(results), lambda result: result == "late") == "on time"
    assert next(results) == "too much"


def test_a_machine_that_is_always_late_has_nothing_to_test() -> None:
    """After five late trials the test is skipped; the next one is tried twice, as the machine is slow."""
    for trials in (5, 2):
        tried: list[None] = []
        with pytest.raises(pytest.skip.Exception, match="too late"):
            must_be_punctual(lambda: tried.append(None), lambda _: True)  # noqa: B023 - called in this turn
        assert len(tried) == trials


def test_a_wrong_result_is_no_reason_to_skip() -> None:
    """A result that is repeated for another reason is returned after five trials, so that the test can fail."""
    assert must_be_punctual(lambda: "wrong", lambda _: False, or_if=lambda result: result == "wrong") == "wrong"
