"""Two fronts, one behind the other (VIA), in the guest and in namespaces."""

from collections.abc import Mapping

import pytest

from priolab.analysis.loads.layer import Layer
from priolab.common.formats.reading import read_journal
from priolab.common.formats.upstream_timing import Passage
from priolab.proxy.server import catalogue
from priolab.proxy.switch import H2C, HTTP1
from tests.support.lab import Done, Lab
from tests.support.together import together

_SHORT = ("RELOADS=0", "SAMPLE=100ms")
_SMALL = ("SIZE=100K",)
"""The page of the arms whose size is not the point."""

_SLOW_BETWEEN = ("RATE=1250kbps", "DELAY=20ms", "DELAY_UP=20ms", "VIA_RATE=128kbps", "VIA_DELAY=50ms")
_SHARED = ("SIZE=300K", "SERVER=caddy", "VIA=h2o", "VIA_HTTP=2", *_SLOW_BETWEEN)
_SECOND = [server.name for server in catalogue().values() if HTTP1 in server.listener.levels and not server.edition]
_ARMS: Mapping[str, tuple[str, ...]] = {
    **{f"http1-{name}": (f"VIA={name}",) for name in _SECOND},
    **{f"h2c-{name}": ("SERVER=haproxy", "VIA_HTTP=2", f"VIA={name}") for name in _SECOND},
    **{
        f"from-{server.name}": (f"SERVER={server.name}", "VIA_HTTP=2", "VIA=nginx")
        for server in catalogue().values()
        if H2C in server.upstream.levels and not server.edition
    },
    "unset": ("LOWAT=none", *_SHARED),
    "front": ("LOWAT=16384", *_SHARED),
    "second": ("LOWAT=none", "VIA_LOWAT=16384", *_SHARED),
    "both": ("LOWAT=16384", "VIA_LOWAT=16384", *_SHARED),
}


_MEASURED = pytest.mark.needs(
    *_SECOND, "caddy", "haproxy", *(name.removeprefix("from-") for name in _ARMS if name.startswith("from-"))
)
"""The mark of a test that reads the arms."""


@pytest.fixture(scope="module")
def done(guest: None, tmp_path_factory: pytest.TempPathFactory) -> Done:  # noqa: ARG001
    """Returns an experiment with all arms."""
    return together(
        tmp_path_factory.mktemp("two-hops"), {name: (*_SMALL, *own) for name, own in _ARMS.items()}, *_SHORT
    )


@_MEASURED
@pytest.mark.parametrize("name", _ARMS)
def test_the_ledger_explains_both_hops(done: Done, name: str) -> None:
    """The run is ok, its parts add up to the wait, and at least 97 % of the wait is explained."""
    arm = done.ok_arm(name)
    parts_ms = arm["ledger"]["parts_ms"]
    assert list(parts_ms)[:4] == [Layer.SECOND, Layer.SECOND_UNSENT, Layer.BETWEEN_QUEUE, Layer.BETWEEN]
    assert sum(parts_ms.values()) == pytest.approx(arm["ledger"]["wait_ms"])
    assert arm["ledger"]["explained"] >= 0.97
    assert parts_ms[Layer.BETWEEN] == pytest.approx(61.8 if _SLOW_BETWEEN[0] in _ARMS[name] else 10, abs=1)
    spent = arm["loads"][-1]["second_cost"]
    assert min(spent["wakeups"], spent["read_calls"], spent["write_calls"]) > 0
    assert arm["observed"]["second"]["lowat"] == (16384 if "VIA_LOWAT=16384" in _ARMS[name] else 2**32 - 1)


@_MEASURED
def test_lowat_of_the_second_front_acts_at_the_second_front(done: Done) -> None:
    """Over one connection on a slow link between the fronts, only LOWAT of the second front helps the script."""
    unset, front, second, both = (done.ok_arm(name) for name in ("unset", "front", "second", "both"))
    for arm in (unset, front):
        assert arm["ledger"]["largest"] == Layer.SECOND_UNSENT
        assert arm["verdict"] == "inverted"
    assert front["first_byte_ms"] == pytest.approx(unset["first_byte_ms"], rel=0.02)
    for arm in (second, both):
        assert arm["first_byte_ms"] < unset["first_byte_ms"] / 2
        assert arm["ledger"]["parts_ms"][Layer.SECOND_UNSENT] < unset["ledger"]["parts_ms"][Layer.SECOND_UNSENT] / 4


@_MEASURED
def test_each_protocol_has_its_connections(done: Done) -> None:
    """With HTTP/1.1 image and script are on the way at once on connections of their own, with HTTP/2 on one."""
    assert done.folder is not None
    for name, count in (("http1-nginx", 2), ("unset", 1)):
        file = done.folder / f"{name}.1" / "second" / "passages.jsonl"
        ports = {each.port for each in read_journal(file, Passage) if each.path in ("/image.jpg", "/script.js")}
        assert len(ports) == count


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_two_hops_in_namespaces(lab: Lab) -> None:
    """On this machine's kernel, with the ferry for both links, the run is ok and the ledger has the second hop."""
    done = lab.run_here("FABRIC=netns", "SHAPER=ferry", "VIA=nginx", "CONTROL=no", "RELOADS=0", "SIZE=50K")
    assert done.summary is not None
    (arm,) = done.summary["arms"]
    assert arm["status"] == "ok", arm["reason"]
    assert arm["ledger"]["parts_ms"][Layer.BETWEEN] == pytest.approx(10, abs=5)
    assert arm["observed"]["second"]["shaper"] == "ferry"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("VIA=foo",), "VIA=foo is not allowed; allowed: none, apache, caddy"),
        (("VIA=nginx@7",), "VIA=nginx@7 is not allowed; allowed: nginx, nginx@bookworm"),
        (("VIA=spdy",), "VIA=spdy is not allowed; allowed: with VIA_HTTP=1.1, apache"),
        (("VIA=nginx", "VIA_HTTP=2"), "VIA_HTTP=2 is not allowed; allowed: 1.1 with SERVER=nginx; 2 with SERVER=caddy"),
        (("VIA_LOWAT=16384",), "VIA_LOWAT=16384 is not allowed; allowed: none with VIA=none"),
        (("VIA=nginx", "VIA_DELAY=3"), "VIA_DELAY=3 is not allowed; allowed: a tc time"),
        (("VIA=nginx", "FABRIC=compose"), "VIA=nginx with FABRIC=compose"),
    ],
)
def test_a_wrong_second_hop_gets_one_line(lab: Lab, words: tuple[str, ...], told: str) -> None:
    """The line names the value and what is allowed, before anything runs."""
    done = lab.run_here(*words)
    assert done.code in (1, 2)
    assert told in done.trouble
    assert done.trouble.count("\n") <= 1
