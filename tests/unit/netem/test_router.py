"""Tests of a link that sets itself up in its own place, with errors of one line."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from priolab.common.running import CannotStart, Finished, TookTooLong
from priolab.netem import __main__ as place
from priolab.netem import router
from priolab.netem.link import Link
from priolab.netem.router import Router
from priolab.netem.shaper_kind import Shaper

WORDS = {
    "NEAR": "198.18.0.4",
    "FAR": "198.18.1.4",
    "NEAR_GATEWAY": "198.18.0.2",
    "FAR_GATEWAY": "198.18.1.2",
    "SEED": "1",
    "JOURNAL": "/dev/null",
}
LINK = Link(rate_bit_s=1_024_000, delay_ns=300_000_000)
DEVICES = [
    {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}]},
    {"ifname": "eth0", "addr_info": [{"local": WORDS["FAR"]}, {"local": "fe80::1"}]},
    {"ifname": "eth1", "addr_info": [{"local": WORDS["NEAR"]}]},
]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Set every environment variable that a link needs."""
    for name, value in WORDS.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def _answer(monkeypatch: pytest.MonkeyPatch, code: int = 0, out: str = "", err: str = "") -> None:
    done = Finished(program="ip", code=code, out=out, errors=err)
    monkeypatch.setattr(router, "finished", lambda *_: done)


def _raise(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(router, "finished", fail)


def test_the_devices_are_found_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices are found by address, because container engines number them as they like."""
    _answer(monkeypatch, out=json.dumps(DEVICES))
    assert Router.between(near=WORDS["NEAR"], far=WORDS["FAR"]) == Router(to_client="eth1", to_front="eth0")


def test_a_command_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the command, its exit code and its error output."""
    _answer(monkeypatch, code=2, err="RTNETLINK answers: File exists\n")
    with pytest.raises(RuntimeError, match=r"^ip link ended with 2: RTNETLINK answers: File exists$"):
        router.run(["ip", "link"])


def test_a_command_that_hangs_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that hangs raises the same kind of error."""
    _raise(monkeypatch, TookTooLong(["ip"], 10))
    with pytest.raises(RuntimeError, match=r"^ip took more than 10 s$"):
        router.run(["ip", "link"])


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (TookTooLong(["ip"], 10), "link: ip took more than 10 s\n"),
        (CannotStart(["ip"], FileNotFoundError(2, "No such file")), "link: ip is not installed\n"),
    ],
)
def test_a_place_that_cannot_be_the_link(
    told: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, line: str
) -> None:
    """The link prints one line and exits with 1."""
    _raise(told, error)
    assert place.main() == 1
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    ("error", "lack"),
    [
        ("Error: Specified qdisc kind is unknown.", "this kernel has no sch_netem"),
        ("Operation not permitted", "tc qdisc add dev lo root netem delay 1ms ended with 2: Operation not permitted"),
    ],
)
def test_a_ferry_instead_of_netem_has_a_reason(monkeypatch: pytest.MonkeyPatch, error: str, lack: str) -> None:
    """If the link uses the ferry because netem cannot be used, the reason is the error of tc.
    With SHAPER=ferry there is no reason.
    """

    def run(command: Sequence[str]) -> str:
        if "netem" in command:
            raise RuntimeError(f"{' '.join(command)} ended with 2: {error}")
        return ""

    monkeypatch.setattr(router, "run", run)
    place = Router(to_client="eth1", to_front="eth0")
    state = place.shape(LINK, None)
    assert state.shaper is Shaper.FERRY
    assert (state.instead_of_netem or "").endswith(lack)
    assert place.shape(LINK, Shaper.FERRY).instead_of_netem is None


def test_a_place_without_the_addresses(told: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the missing addresses."""
    _answer(told, out=json.dumps(DEVICES[:2]))
    assert place.main() == 1
    assert capsys.readouterr().err == "link: no device in the link's place has the address 198.18.0.4\n"


@pytest.mark.parametrize("name", WORDS)
def test_what_is_not_told_is_named(told: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Every missing variable without a default is named, with exit code 2."""
    told.delenv(name)
    _answer(told, out=json.dumps(DEVICES))
    assert place.main() == 2
    assert capsys.readouterr().err == f"link: the environment variable {name} is not set\n"
