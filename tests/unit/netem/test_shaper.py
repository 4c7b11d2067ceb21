"""Tests of the commands of both shapers for a Link."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.netem import qdisc_verification, rate_limiter, shaper, tc
from priolab.netem.link import Link, Qdisc, RateStep
from priolab.netem.shaper_kind import Shaper

LINK = Link(rate_bit_s=1_024_000, delay_ns=300_000_000, delay_up_ns=20_000_000)
STEPPED = replace(LINK, rate_steps=(RateStep(at_ns=2 * 10**9, rate_bit_s=10_240_000),))
PLAIN = Link(rate_bit_s=None, delay_ns=0)


def test_a_link_that_does_nothing_needs_no_command() -> None:
    """A link that changes nothing has no commands with either shaper."""
    assert [shaper.commands(kind, PLAIN, "a", "b") for kind in Shaper] == [[], []]


def test_packets_that_overtake_have_a_delay_line_of_their_own() -> None:
    """With REORDER the delay line is on a loop before the bottleneck, because netem hands a packet that skips the delay
    past the qdiscs inside the netem. The bottleneck has no second delay.
    """
    overtaking = replace(LINK, reorder=0.02, loss=0.01)
    made = shaper.commands(Shaper.NETEM, overtaking, "to-client", "to-front")
    line, bottleneck = ("tc", "qdisc", "add", "dev", "delay-down"), ("tc", "qdisc", "add", "dev", "to-client")
    delay = ("netem", "limit", "1000000", "delay", "300000us", "loss", "1%", "reorder", "2%")
    assert (*line, "parent", "1:", "handle", "2:", *delay) in made
    assert (*bottleneck, "parent", "1:", "handle", "2:", "netem", "limit", "25", "rate", "1024000bit") in made
    assert ("ip", "rule", "add", "iif", "to-front", "lookup", "13") in made
    down = shaper.stages(overtaking, "to-client", "to-front")["down"]
    assert down == tc.Stages(
        delay_line=tc.Stage(device="delay-down", handle=2), bottleneck=(tc.Stage(device="to-client", handle=2),)
    )
    assert shaper.devices(overtaking, "to-client", "to-front")["down"] == ("delay-down", "to-client")


def test_a_discipline_behind_packets_that_overtake() -> None:
    """With REORDER and QDISC there are two loops, one after the other: delay line, then queue and gate."""
    both = replace(LINK, reorder=0.02, qdisc=Qdisc.PIE)
    made = shaper.commands(Shaper.NETEM, both, "to-client", "to-front")
    assert ("ip", "rule", "add", "iif", "to-front", "lookup", "13") in made
    assert ("ip", "rule", "add", "iif", "down-delay", "lookup", "12") in made
    settings = shaper.sysctls(Shaper.NETEM, both)
    assert {settings[f"net.ipv4.conf.{end}.rp_filter"] for end in ("down-delay", "down-rate")} == {"0"}


def test_the_ferry_has_only_a_fifo() -> None:
    """The ferry's reason names the discipline; netem makes every link."""
    managed = replace(LINK, qdisc=Qdisc.CAKE)
    assert shaper.lack_of(Shaper.FERRY, managed) == "the ferry has only the queueing discipline fifo, not cake"
    assert [shaper.lack_of(Shaper.NETEM, managed), shaper.lack_of(Shaper.FERRY, LINK)] == [None, None]


def test_who_can_count_bytes() -> None:
    """The ferry can limit a queue in bytes. netem can in the guest, but not with rate steps, whose queue is a pfifo."""
    in_bytes = replace(LINK, queue_bytes=37_888)
    steps = replace(STEPPED, queue_bytes=37_888)

    def auto(link: Link, *, guest: bool) -> tuple[Shaper, str | None]:
        return shaper.chosen(None, link, lambda: None, Shaper.NETEM if guest else None, netem_counts_bytes=guest)

    assert auto(in_bytes, guest=True) == auto(LINK, guest=False) == (Shaper.NETEM, None)
    assert auto(in_bytes, guest=False) == (Shaper.FERRY, shaper.NO_BYTES)
    assert auto(steps, guest=True) == (Shaper.FERRY, shaper.NO_BYTES_IN_STEPS)
    assert [shaper.lack_of(kind, in_bytes) for kind in Shaper] == [shaper.NO_BYTES, None]
    assert shaper.lack_of(Shaper.NETEM, in_bytes, netem_counts_bytes=True) is None


@pytest.mark.parametrize(("limit", "differences"), [(2**31 + 37_888, []), (37_888 - 2**31, []), (25, [25])])
def test_the_limit_that_was_read_back(limit: int, differences: list[int]) -> None:
    """tc may print a limit in bytes with a sign. A limit of as many packets is another one."""
    link = Link(rate_bit_s=1_024_000, delay_ns=0, queue_bytes=37_888, rate_up_bit_s=8000, queue_up_bytes=37_888)
    rates = {"to-client": 128_000, "to-front": 1000}
    found = {
        way: [{"dev": device, "handle": "2:", "options": {"limit": limit, "rate": {"rate": rates[device]}}}]
        for way, device in (("down", "to-client"), ("up", "to-front"))
    }
    names = ("limit of the queue up in bytes", "limit of the queue in bytes")
    assert list(qdisc_verification.differences(link, found)) == [
        (name, 37_888, seen) for name in names for seen in differences
    ]


def test_a_tc_that_will_not_help_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If tc fails at its first command, its process has ended and been reaped when the error is raised."""
    started = tmp_path / "started"
    (tmp_path / "tc").write_text(f"#!/bin/sh\necho $$ >{started}\necho no such device ']'\ncat >/dev/null\n")
    (tmp_path / "tc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(RuntimeError, match="tc: no such device"):
        rate_limiter.Changer(STEPPED, "to-client")
    assert not Path("/proc", started.read_text().strip()).exists()


@pytest.mark.parametrize(
    ("link", "delay_line", "bottleneck"),
    [
        (LINK, ("to-client", 2), [("to-client", 3)]),
        (replace(LINK, delay_ns=0), None, [("to-client", 2)]),
        (replace(LINK, delay_ns=0, loss=0.01), ("to-client", 2), [("to-client", 3)]),
        (replace(LINK, rate_bit_s=None), ("to-client", 2), []),
        (PLAIN, None, []),
        (STEPPED, ("rate-down", 2), [("rate-down", 3), ("to-client", 1)]),
    ],
)
def test_where_packets_are_counted(
    link: Link, delay_line: tuple[str, int] | None, bottleneck: list[tuple[str, int]]
) -> None:
    """`stages` names the qdiscs of delay line and bottleneck, whose packets are counted, by device and handle."""
    down = shaper.stages(link, "to-client", "to-front")["down"]
    assert (down.delay_line and (down.delay_line.device, down.delay_line.handle)) == delay_line
    assert [(stage.device, stage.handle) for stage in down.bottleneck] == bottleneck
