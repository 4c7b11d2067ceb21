"""Interruptions: a signal of STOPS raises Interrupted once, at once or when it is allowed."""

import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from priolab.common.process.interruption import STOPS, Interrupted, held_back, raise_interrupted


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Restores the handlers, which an interruption changes, and the hook for exceptions that Python drops."""
    before = {stop: signal.getsignal(stop) for stop in STOPS}
    hook = sys.unraisablehook
    raise_interrupted()
    yield
    for stop, handler in before.items():
        signal.signal(stop, handler)
    sys.unraisablehook = hook


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_interrupts_once(number: signal.Signals) -> None:
    """The first signal raises Interrupted; later ones do not disturb the clean-up."""
    with pytest.raises(Interrupted) as stopped:
        signal.raise_signal(number)
    assert stopped.value.code == 128 + number
    for later in STOPS:
        signal.raise_signal(later)


def test_a_signal_is_held_back_until_it_is_allowed() -> None:
    """Work begun before `allow` is complete when Interrupted is raised."""
    done = []

    def work() -> None:
        with held_back() as allow:
            signal.raise_signal(signal.SIGTERM)
            done.append("begun")
            allow()
            done.append("not reached")

    with pytest.raises(Interrupted) as stopped:
        work()
    assert (stopped.value.name, done) == ("SIGTERM", ["begun"])


def test_a_signal_is_held_back_until_the_end_at_the_latest() -> None:
    """Without `allow` the end of the context raises Interrupted."""
    done = []

    def work() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            done.append("begun")

    with pytest.raises(Interrupted):
        work()
    assert done == ["begun"]


def test_after_the_context_a_signal_interrupts_at_once() -> None:
    """Nothing is held back once the context has ended, allowed or not."""
    with held_back() as allow:
        allow()
    with held_back():
        pass
    with pytest.raises(Interrupted):
        signal.raise_signal(signal.SIGHUP)


def test_a_signal_that_python_drops_comes_again() -> None:
    """Python drops what a finalizer raises; the signal's exception comes all the same, and only once."""

    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def work() -> None:
        Finalized()
        threading.Event().wait(10.0)

    with pytest.raises(Interrupted) as stopped:
        work()
    assert stopped.value.number == signal.SIGTERM
    signal.raise_signal(signal.SIGTERM)


def test_other_threads_hold_nothing_back() -> None:
    """A context in another thread does not delay the exception, which is raised in the main thread."""
    entered, left = threading.Event(), threading.Event()

    def other() -> None:
        with held_back():
            entered.set()
            left.wait(10.0)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10.0)
    with pytest.raises(Interrupted):
        signal.raise_signal(signal.SIGINT)
    left.set()
    thread.join()
