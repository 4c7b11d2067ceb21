"""CLIENT=firefox in namespaces and in the guest: the browser's requests, their records, and that nothing is left."""

import os
import signal
import time
from collections.abc import Mapping
from functools import partial

import pytest

from tests.conftest import Done, Lab, needs
from tests.lab.browsing import ALIKE_MS, ENDLESS, LOADING, QUICK, SOON_S, must_have_browsed, must_need_lowat, read
from tests.lab.conftest import Runs
from tests.lab.endings import Traces, descendants, must_have_failed, nothing_is_left, started, words_of
from tests.lab.ordinary_lab import OrdinaryLab
from tests.punctuality import any_late, until_punctual

_FIREFOX = ("CLIENT=firefox", "FABRIC=netns")
_ENDLESS = (*_FIREFOX, *ENDLESS)
_FEWEST_PROCESSES = 3
_WINDOW_BYTES = 12 * 2**20
_SAID: Mapping[str, tuple[set[str | None], set[int]]] = {
    "page": ({"u=0, i"}, {42}),
    "script": ({None}, {22}),
    "image": ({"u=4, i", "u=5, i"}, {12, 14}),
}
"""By resource: the allowed values of the header field, and of the weight."""


@pytest.fixture(autouse=True)
def _browser() -> None:
    needs("firefox")


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_lowat_keeps_the_browsers_order(lab: Lab) -> None:
    """The browser asks for the script first. The order is inverted without LOWAT and kept with LOWAT=16384."""
    done = lab.run_on_time(*_FIREFOX, *QUICK, "LOWAT=16384", "RELOADS=1", "SIZE=300000")
    must_need_lowat(done, _must_have_browsed)
    nothing_is_left(lab)


@pytest.mark.usefixtures("guest")
def test_in_the_guest_a_browser_is_as_good(run: Runs) -> None:
    """In the guest the times of lab's client and browser agree within 100 ms."""
    done = run("CLIENT=h2,firefox", "LOWAT=16384", "RELOADS=1", "SIZE=300000", *QUICK)
    assert done.code == 0, done.trouble
    for name in ("control", "lowat-16384"):
        own, browser = (done.arm(f"{client}-{name}") for client in ("h2", "firefox"))
        assert own["verdict"] == browser["verdict"]
        for resource in ("script", "image"):
            assert browser[resource] == pytest.approx(own[resource], abs=ALIKE_MS)
        assert browser["observed"]["seeded"] is False
        assert browser["observed"]["clock_resolution_ns"] == own["observed"]["clock_resolution_ns"]
        _must_have_browsed(done, f"firefox-{name}")
        versions = [set(read(done, f"{client}-{name}", "env.json")["versions"]) for client in ("h2", "firefox")]
        assert versions[1] - versions[0] == {"firefox", "websockets"}


def _must_have_browsed(done: Done, arm: str) -> None:
    browser = must_have_browsed(done, arm, "firefox")
    # Whatever the browser connected to was the front.
    plan = read(done, arm, "client/plan.json")
    assert {each["remote"] for each in browser["connections"]} == {f"{plan['address']}:{plan['port']}"}
    for each in browser["requests"]:
        fields, weights = _SAID[each["resource"]]
        assert each["field"] in fields
        assert each["weight"] in weights
        assert (each["parent_stream_id"], each["exclusive"], each["later"]) == (0, False, [])
    assert not {"PRIORITY", "PRIORITY_UPDATE"} & browser["frames_sent"].keys()
    assert browser["stream_window_bytes"] == _WINDOW_BYTES


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_an_ordinary_users_browser(ordinary_lab: OrdinaryLab) -> None:
    """An ordinary user's client, too, may capture the browser's packets in the lab's places."""
    words = ("SHAPER=ferry", "RATE=2mbit", "DELAY=20ms", "SIZE=100000", "RELOADS=1", "SAMPLE=50ms", "CONTROL=no")
    run = partial(ordinary_lab.run_unseen, *_FIREFOX, *words, "LOWAT=16384")
    done = until_punctual(run, lambda done: any_late(done.summary))
    assert done.code == 0, done.trouble
    _must_have_browsed(done, "lowat-16384")
    nothing_is_left(ordinary_lab)


def _browsers(pid: int) -> list[int]:
    return [each for each in descendants(pid) if "firefox" in words_of(each) and "client.firefox" not in words_of(each)]


@pytest.mark.usefixtures("netns")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_lab_that_ends_leaves_no_browser(lab: Lab, number: signal.Signals) -> None:
    """An interrupted lab, and one that is killed, leave no browser process and no profile."""
    traces = Traces()
    with started(lab, traces, *_ENDLESS, until=LOADING) as running:
        time.sleep(1.0)
        traces.look(running.pid)
        assert len(_browsers(running.pid)) >= _FEWEST_PROCESSES
        if number is signal.SIGKILL:
            running.kill()
        else:
            os.killpg(running.pid, number)
        running.communicate(timeout=SOON_S)
    traces.must_be_gone()
    nothing_is_left(lab, partial=int(number is signal.SIGKILL))


@pytest.mark.usefixtures("netns")
def test_a_browser_that_is_killed_is_the_reason(lab: Lab) -> None:
    """If the browser is killed, the run fails within seconds and names the client, not the deadline."""
    traces = Traces()
    with started(lab, traces, *_ENDLESS, until=LOADING) as running:
        time.sleep(1.5)
        traces.look(running.pid)
        browser = next(pid for pid in _browsers(running.pid) if "--remote-debugging-port" in words_of(pid))
        os.kill(browser, signal.SIGKILL)
        running.communicate(timeout=SOON_S)
        assert running.returncode == 1
    must_have_failed(lab.latest(), "the client: ", "load 1 of 3")
    nothing_is_left(lab)
    traces.must_be_gone()
