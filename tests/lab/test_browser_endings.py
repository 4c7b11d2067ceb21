"""Labs with a browser that end badly, or whose browser does: no process, no profile and no mount is left."""

import os
import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from priolab.common.descriptors import with_descendants
from tests.lab.browsing import ENDLESS, LOADING, SOON_S
from tests.support.endings import Traces, must_have_failed, nothing_is_left, started, words_of
from tests.support.lab import Lab


@dataclass(frozen=True, kw_only=True)
class _Program:
    """A browser. word: part of the command line of each of its processes. main: of the one to kill.

    processes: the least number of processes.
    """

    client: str
    word: str
    main: str
    processes: int

    @property
    def knobs(self) -> tuple[str, ...]:
        """The knobs of a run whose loads do not end."""
        return (f"CLIENT={self.client}", "FABRIC=netns", *ENDLESS)

    def of(self, pid: int) -> list[int]:
        """Returns the browser's processes among the descendants of a process."""
        lines = {each: words_of(each) for each in with_descendants(pid)}
        return [each for each, line in lines.items() if self.word in line and f"client.{self.client}" not in line]

    def driver(self, pid: int) -> int:
        """Returns the client that drives the browser, among the descendants of a process."""
        return next(each for each in with_descendants(pid) if f"-m priolab.client.{self.client} " in words_of(each))


_CHROMIUM = _Program(client="chromium", word="/chromium", main="--remote-debugging-pipe", processes=5)
_FIREFOX = _Program(client="firefox", word="firefox", main="--remote-debugging-port", processes=3)
_WEBKIT = _Program(client="webkit", word="/webkit2gtk-", main="/MiniBrowser", processes=3)


@pytest.fixture(
    params=[
        pytest.param(each, marks=pytest.mark.needs(each.client), id=each.client)
        for each in (_CHROMIUM, _FIREFOX, _WEBKIT)
    ]
)
def browser(request: pytest.FixtureRequest) -> _Program:
    """Returns each browser."""
    found: _Program = request.param
    return found


@pytest.mark.usefixtures("netns")
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.release), signal.SIGKILL])
def test_a_lab_that_ends_leaves_no_browser(lab: Lab, browser: _Program, number: signal.Signals) -> None:
    """An interrupted lab leaves no browser process and no profile; a killed one leaves its partial folder alone."""
    traces = Traces()
    with started(lab, traces, *browser.knobs, until=LOADING) as running:
        time.sleep(random.Random(number).uniform(0.5, 1.5))
        traces.look(running.pid)
        assert len(browser.of(running.pid)) >= browser.processes
        if number is signal.SIGKILL:
            running.kill()
            running.communicate(timeout=SOON_S)
        else:
            os.killpg(running.pid, number)
            _, err = running.communicate(timeout=SOON_S)
            assert running.returncode == 128 + number
            assert f"interrupted by {number.name}; nothing was kept" in err
    traces.must_be_gone()
    nothing_is_left(lab, partial=int(number is signal.SIGKILL))


@pytest.mark.usefixtures("netns")
@pytest.mark.parametrize("victim", ["browser", pytest.param("client", marks=pytest.mark.release)])
def test_a_browser_that_is_killed_is_the_reason(lab: Lab, browser: _Program, victim: str) -> None:
    """If the browser is killed, the run fails within seconds and names the client, not the deadline.

    A client that is killed leaves no browser.
    """
    traces = Traces()
    with started(lab, traces, *browser.knobs, until=LOADING) as running:
        time.sleep(1.5)
        traces.look(running.pid)
        main = next(pid for pid in browser.of(running.pid) if browser.main in words_of(pid))
        # An IPv6 address that becomes valid later would be a network change, at which Chromium aborts requests.
        assert Path(f"/proc/{main}/net/if_inet6").read_text() == ""
        os.kill(main if victim == "browser" else browser.driver(running.pid), signal.SIGKILL)
        running.communicate(timeout=SOON_S)
        assert running.returncode == 1
    must_have_failed(lab.latest(), "the client", *(["load 1 of 3"] if victim == "browser" else ["SIGKILL"]))
    nothing_is_left(lab)
    traces.must_be_gone()
