"""Tests that compare requested settings with observed ones."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from priolab.common.errors import InvalidRun
from priolab.experiments.run.checks.settings import (
    check_ferry,
    check_hop,
    check_kept,
    check_live_socket,
    check_record,
    check_seen,
    check_settings,
    check_sysctl,
    check_unchanged,
    live_socket_state,
)
from priolab.experiments.scenario.knobs import scenario_from
from priolab.netem.calibration import REAL
from priolab.testbed.guest.kernel_faults import check_kernel
from tests.support.builders import process_sample

GOOD = {
    "kernel_drops": 0,
    "refused": 0,
    "longest_queue_packets": 25,
    "lateness_p50_ns": 20_000,
    "lateness_p99_ns": 300_000,
    "dropped": 17,
    "lost": 3,
}
UNLIMITED = GOOD | {"longest_queue_packets": 0}


def test_a_punctual_ferry() -> None:
    """Packets that the link's rules drop or lose are valid."""
    check_ferry({"down": GOOD, "up": GOOD}, REAL)


def test_no_packet_at_all_is_not_late() -> None:
    """A lateness of -1, which means that no packet came, is valid."""
    for never in (GOOD, UNLIMITED):
        check_ferry({"down": never | {"lateness_p50_ns": -1, "lateness_p99_ns": -1}}, REAL)


@pytest.mark.parametrize("name", ["kernel_drops", "refused"])
def test_packets_lost_before_the_model(name: str) -> None:
    """Packets that the ferry could not accept make the run invalid."""
    with pytest.raises(
        InvalidRun,
        match="packets that the ferry lost because it was overloaded, direction down: asked for 0, observed 2",
    ):
        check_ferry({"down": GOOD | {name: 2}}, REAL)


def test_a_late_ferry() -> None:
    """A run is invalid if the ferry sent more than 1% of the packets too late.
    Too late is a lateness above the tolerance of the round trip.
    """
    with pytest.raises(
        InvalidRun, match=r"lateness in ns, direction up: asked for at most 20000000, observed 20000001"
    ):
        check_ferry({"down": GOOD, "up": GOOD | {"lateness_p99_ns": 20_000_001}}, REAL)


def test_a_burst_on_an_unlimited_link() -> None:
    """On an unlimited link the end of a burst may be late, but not half of all packets."""
    check_ferry({"down": UNLIMITED | {"lateness_p99_ns": 21_700_000}}, REAL)
    with pytest.raises(
        InvalidRun, match=r"lateness in ns, direction down: asked for at most 20000000, observed 20000001"
    ):
        check_ferry({"down": UNLIMITED | {"lateness_p50_ns": 20_000_001, "lateness_p99_ns": 30_000_000}}, REAL)


@pytest.mark.parametrize(
    ("asked", "buffering", "found"), [("stock", "on", None), ("1400", "on", 1400), ("1400", "off", 900)]
)
def test_a_record_as_asked_for(asked: str, buffering: str, found: int | None) -> None:
    """A front that buffers fills TLS records to the requested size. Without buffering records may be smaller."""
    check_record(scenario_from({"RECORD": asked, "BUFFERING": buffering}), {"record_bytes": found})


@pytest.mark.parametrize(
    ("buffering", "found"), [("on", 16_384), ("on", 900), ("on", None), ("off", 1401), ("off", None)]
)
def test_another_record_is_invalid(buffering: str, found: int | None) -> None:
    """A run is invalid if the largest TLS record is too large, too small despite buffering, or unknown."""
    with pytest.raises(
        InvalidRun, match=f"largest TLS record at the client, in bytes: asked for 1400, observed {found}"
    ):
        check_record(scenario_from({"RECORD": "1400", "BUFFERING": buffering}), {"record_bytes": found})


def test_a_kernel_with_a_fault(tmp_path: Path) -> None:
    """A guest's kernel that has found a fault in itself makes the run invalid."""
    mark = tmp_path / "tainted"
    mark.write_text("0\n")
    check_kernel(mark)
    mark.write_text("32\n")
    with pytest.raises(InvalidRun, match=r"kernel\.tainted\): asked for 0, observed 32"):
        check_kernel(mark)


SEEN = {"lowat": 16_384, "tcp_wmem": "4096 4194304 4194304", "gso_segments": 2, "tcp_ecn": [2, 2]}
ASKED = {"LOWAT": "16384", "GSO": "2"}


@pytest.mark.parametrize(
    ("name", "value"), [("lowat", 1), ("tcp_wmem", "4096 16384 4194304"), ("gso_segments", 65_535), ("tcp_ecn", [2, 1])]
)
def test_another_setting_is_invalid(name: str, value: object) -> None:
    """A run is invalid if a setting is not as asked for: LOWAT, send buffer, GSO, ECN."""
    check_settings(scenario_from(ASKED), SEEN)
    with pytest.raises(InvalidRun):
        check_settings(scenario_from(ASKED), SEEN | {name: value})


def test_another_setting_of_the_second_front_is_invalid() -> None:
    """A run is invalid if the second front has another LOWAT than VIA_LOWAT."""
    scenario = scenario_from({"VIA": "nginx", "VIA_LOWAT": "16384"})
    assert scenario.via is not None
    check_hop(scenario, scenario.via, SEEN)
    with pytest.raises(InvalidRun, match="of the second front: asked for 16384, observed 1"):
        check_hop(scenario, scenario.via, SEEN | {"lowat": 1})


def test_a_changed_setting_is_invalid() -> None:
    """A run is invalid if a setting is another after the loads than before."""
    check_unchanged(SEEN, SEEN)
    with pytest.raises(InvalidRun, match="gso_segments after the loads: asked for 2, observed 3"):
        check_unchanged(SEEN, SEEN | {"gso_segments": 3})


def test_another_discipline_of_the_front_is_invalid() -> None:
    """A run is invalid if the front's device has another queueing discipline than FRONT_QDISC asks for."""
    scenario = scenario_from({"FRONT_QDISC": "fq", "LOWAT": "16384"})
    check_settings(scenario, SEEN | {"front_qdisc": "fq"})
    with pytest.raises(InvalidRun, match="qdisc of the front's device: asked for fq, observed noqueue"):
        check_settings(scenario, SEEN | {"front_qdisc": "noqueue"})


LIVE = {"socket_lowat": [0], "sndbuf_bytes": 4 * 2**20, "congestion_control": "cubic"}


@pytest.mark.parametrize(
    ("name", "value"), [("socket_lowat", [0, 1]), ("sndbuf_bytes", 16_384), ("congestion_control", "bbr,cubic")]
)
def test_another_live_socket_is_invalid(name: str, value: object) -> None:
    """A run is invalid if the live socket had another congestion control, LOWAT or send buffer, or was not seen."""
    check_live_socket(scenario_from({}), LIVE)
    with pytest.raises(InvalidRun, match="of the live socket: asked for"):
        check_live_socket(scenario_from({}), LIVE | {name: value})
    with pytest.raises(
        InvalidRun, match=r"asked for \[0\], observed \[4294967295\]; let the server .*multipathtcp=0\)$"
    ):
        check_live_socket(scenario_from({}), LIVE | {"socket_lowat": [2**32 - 1]})
    with pytest.raises(InvalidRun, match=r"observed \[16384\]; a server may set this option only with NATIVE=on"):
        check_live_socket(scenario_from({}), LIVE | {"socket_lowat": [16_384]})
    with pytest.raises(InvalidRun, match="the front's socket: asked for samples"):
        live_socket_state([], [])


def test_lowat_that_was_another_for_a_while() -> None:
    """The sysctl is read with each sample of the process. A record without it says nothing."""
    samples = [replace(process_sample(t_ns, 40_000), sysctl_bytes=16_384) for t_ns in range(9)]
    check_sysctl(scenario_from({"LOWAT": "16384"}), [process_sample(0, 40_000), *samples])
    check_sysctl(scenario_from({"LOWAT": "auto"}), [replace(samples[0], sysctl_bytes=2**32 - 1)])
    samples[4] = replace(samples[4], sysctl_bytes=4096)
    with pytest.raises(InvalidRun, match="tcp_notsent_lowat while the pages loaded: asked for 16384, observed 4096"):
        check_sysctl(scenario_from({"LOWAT": "16384"}), samples)


def test_a_front_that_was_not_seen_to_the_end() -> None:
    """The last sample of the front's process is at most three seconds before the end of the loads."""
    samples = [process_sample(t_ns, 40_000) for t_ns in (1, 5 * 10**9)]
    check_seen(samples, 8 * 10**9)
    with pytest.raises(InvalidRun, match="at most 3000000000, observed 3000000001"):
        check_seen(samples, 8 * 10**9 + 1)


def _counters(**gate: object) -> dict[str, list[dict[str, Any]]]:
    """Counters of a link with the rate 1,024 kbit/s, a delay of 300 ms, and a queue of 25 packets in fq_codel."""
    delay: dict[str, Any] = {
        "dev": "rate-down",
        "kind": "netem",
        "handle": "2:",
        "options": {"delay": {"delay": 0.3, "jitter": 0}},
    }
    tbf: dict[str, Any] = {"dev": "rate-down", "kind": "tbf", "handle": "3:", "options": {"rate": 128_000}}
    queue: dict[str, Any] = {"dev": "rate-down", "kind": "fq_codel", "handle": "4:", "options": {"limit": 24} | gate}
    sender: dict[str, Any] = {
        "dev": "to-client",
        "kind": "netem",
        "handle": "1:",
        "options": {"rate": {"rate": 128_000}},
    }
    return {"down": [delay, tbf, queue, sender], "up": []}


def test_a_qdisc_with_another_option_is_invalid() -> None:
    """A run is invalid if tc shows another option than the link has."""
    link = scenario_from({"QDISC": "fq_codel"}).link
    check_kept(link, _counters(), "before the loads")
    with pytest.raises(InvalidRun, match="the link before the loads, queue in packets: asked for 24, observed 23"):
        check_kept(link, _counters(limit=23), "before the loads")
    with pytest.raises(InvalidRun, match="ECN of the queue: asked for False, observed True"):
        check_kept(link, _counters(ecn=True), "before the loads")


def test_another_rate_toward_the_front_is_invalid() -> None:
    """A run is invalid if tc shows another rate or queue toward the front than the link has."""
    link = scenario_from({"RATE": "unlimited", "DELAY": "0ms", "RATE_UP": "64kbit"}).link

    def counters(rate_bytes_s: int, limit: int) -> dict[str, list[dict[str, Any]]]:
        options = {"rate": {"rate": rate_bytes_s}, "limit": limit}
        return {"down": [], "up": [{"dev": "to-front", "kind": "netem", "handle": "2:", "options": options}]}

    check_kept(link, counters(8000, 25), "before the loads")
    with pytest.raises(InvalidRun, match="rate up in bit/s: asked for 64000, observed 64008"):
        check_kept(link, counters(8001, 25), "before the loads")
    with pytest.raises(InvalidRun, match="queue up in packets: asked for 25, observed 24"):
        check_kept(link, counters(8000, 24), "before the loads")
