"""Firefox and WebKitGTK in namespaces and in the guest: their requests and records, which are made from packets."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import pytest

from tests.lab.browsing import ALIKE_MS, QUICK, must_have_browsed, must_need_lowat, read
from tests.support.endings import nothing_is_left
from tests.support.lab import Done, Lab
from tests.support.ordinary_lab import OrdinaryLab
from tests.support.punctuality import any_late, must_be_punctual
from tests.support.shared_runs import Runs

_ONE_RELOAD = ("LOWAT=16384", "RELOADS=1")


@dataclass(frozen=True, kw_only=True)
class _Browser:
    """A browser. versions: the programs whose versions only its runs record. window_bytes: of a stream.

    said: by resource, the allowed values of the header field, and of the weight. raised: the weights that pictures may
    get by a PRIORITY frame, when the browser knows that they are in view.
    """

    client: str
    versions: frozenset[str]
    window_bytes: int
    said: Mapping[str, tuple[set[str | None], set[int]]]
    raised: frozenset[int] = frozenset()

    def must_have_browsed(self, done: Done, arm: str) -> None:
        """Checks the records of an arm, and that whatever the browser connected to was the front."""
        browser = must_have_browsed(done, arm, self.client)
        plan = read(done, arm, "client/plan.json")
        assert {each["remote"] for each in browser["connections"]} == {f"{plan['address']}:{plan['port']}"}
        for each in browser["requests"]:
            fields, weights = self.said[each["resource"]]
            assert each["field"] in fields
            assert each["weight"] in weights
            assert (each["parent_stream_id"], each["exclusive"]) == (0, False)
            raised = self.raised if each["resource"] == "image" else frozenset()
            assert {later["weight"] for later in each["later"]} <= raised
        sent = sum(len(each["later"]) for each in browser["requests"])
        assert browser["frames_sent"].get("PRIORITY", 0) == sent
        assert "PRIORITY_UPDATE" not in browser["frames_sent"]
        assert browser["stream_window_bytes"] == self.window_bytes


_FIREFOX = _Browser(
    client="firefox",
    versions=frozenset({"firefox", "websockets"}),
    window_bytes=12 * 2**20,
    said={"page": ({"u=0, i"}, {42}), "script": ({None}, {22}), "image": ({"u=4, i", "u=5, i"}, {12, 14})},
)
_WEBKIT = _Browser(
    client="webkit",
    versions=frozenset({"webkit"}),
    window_bytes=32 * 2**20,
    said={"page": ({None}, {256}), "script": ({None}, {120}), "image": ({None}, {7})},
    raised=frozenset({16}),
)


@pytest.fixture(
    params=[pytest.param(each, marks=pytest.mark.needs(each.client), id=each.client) for each in (_FIREFOX, _WEBKIT)]
)
def browser(request: pytest.FixtureRequest) -> _Browser:
    """Returns each browser."""
    found: _Browser = request.param
    return found


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_lowat_keeps_the_browsers_order(lab: Lab, browser: _Browser) -> None:
    """The browser asks for the script first. The order is inverted without LOWAT and kept with LOWAT=16384.

    WebKit gives the image a twentieth. With LOWAT too few of its bytes compete with the script to tell.
    """
    words = ("FABRIC=netns", *QUICK, *_ONE_RELOAD, "SIZE=500000")
    done = lab.run_on_time(f"CLIENT={browser.client}", *words)
    must_need_lowat(done, browser.must_have_browsed, sure=browser is not _WEBKIT)
    nothing_is_left(lab)


@pytest.mark.release
@pytest.mark.usefixtures("guest")
def test_in_the_guest_a_browser_is_as_good(run: Runs, browser: _Browser) -> None:
    """In the guest the times of lab's client and browser agree within 100 ms, and without LOWAT the verdicts.

    With LOWAT too little of so small an image may be left to compete with the script.
    """
    done = run(f"CLIENT=h2,{browser.client}", *_ONE_RELOAD, "SIZE=300000", *QUICK)
    assert done.code == 0, done.trouble
    for name in ("control", "lowat-16384"):
        own, other = (done.arm(f"{client}-{name}") for client in ("h2", browser.client))
        allowed = {"inverted"} if name == "control" else {"kept", "undecided"}
        assert {own["verdict"], other["verdict"]} <= allowed
        for resource in ("script", "image"):
            assert other[resource] == pytest.approx(own[resource], abs=ALIKE_MS)
        assert other["observed"]["seeded"] is False
        assert other["observed"]["clock_resolution_ns"] == own["observed"]["clock_resolution_ns"]
        browser.must_have_browsed(done, f"{browser.client}-{name}")
        own_versions, versions = (
            set(read(done, f"{client}-{name}", "env.json")["versions"]) for client in ("h2", browser.client)
        )
        assert versions - own_versions == browser.versions


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_an_ordinary_users_browser(ordinary_lab: OrdinaryLab, browser: _Browser) -> None:
    """An ordinary user's client may capture the browser's packets in the lab's places, and decide about its names."""
    words = ("SHAPER=ferry", "RATE=2mbit", "DELAY=20ms", "SIZE=100000", "SAMPLE=50ms", "CONTROL=no", *_ONE_RELOAD)
    run = partial(ordinary_lab.run_unseen, f"CLIENT={browser.client}", "FABRIC=netns", *words)
    done = must_be_punctual(run, lambda done: any_late(done.summary))
    assert done.code == 0, done.trouble
    browser.must_have_browsed(done, "lowat-16384")
    nothing_is_left(ordinary_lab)


@pytest.mark.needs("webkit", "lighttpd")
@pytest.mark.usefixtures("guest")
def test_a_front_can_silence_webkitgtk(run: Runs) -> None:
    """libsoup sends no priorities of RFC 7540 to a front that does not read them, and none of RFC 9218. The run counts.

    The request of the first page may come before the front's SETTINGS.
    """
    done = run("CLIENT=webkit", "SERVER=lighttpd", "LOWAT=none", "RELOADS=1", "SIZE=300000", *QUICK)
    assert done.code == 0, done.trouble
    browser = read(done, "control", "client/browser.json")
    assert browser["server_settings"]["9"] == 1
    first, *others = browser["requests"]
    assert first["weight"] == 256
    assert {(each["weight"], each["field"], *each["later"]) for each in others} == {(None, None)}
    assert done.arm("control")["verdict"] == "undecided"
    assert "asked for no order" in read(done, "control", "run.json")["verdict_reason"]
