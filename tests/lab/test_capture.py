"""Captures: first bytes that tshark finds in them, compared with the client's events; and captures that end badly."""

import json
import os
import signal
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from priolab.common.descriptors import with_descendants
from tests.lab.first_bytes import RESOURCES, Compared, compare
from tests.lab.wireshark import OUT_OF_ORDER, Capture
from tests.support.endings import Traces, must_have_failed, nothing_is_left, started, words_of
from tests.support.lab import Done, Lab
from tests.support.punctuality import until_punctual
from tests.support.shared_runs import Runs
from tests.support.together import together
from tests.support.variations import SMALL, variations
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("captures")

_SIZE = 102_400
# The queue holds the whole page: no packet is lost, so each packet can be decrypted when it arrives.
_LOSSLESS = (*SMALL, "QUEUE=200")
_PUNCTUAL = ("FABRIC=netns", *_LOSSLESS, "CONTROL=no", "CAPTURE=yes", "RATE=8mbit", "DELAY=20ms")
_GUEST_NS, _REAL_NS = 10**6, 2 * 10**6
_ENDLESS = ("FABRIC=netns", "SHAPER=ferry", "RATE=unlimited", "DELAY=10ms", "CONTROL=no", "JS_DELAY=30s", "CAPTURE=yes")
_LOADING = "load 1 of 3"
_SOON_S = 25.0
_SECTION, _SECRETS = 0x0A0D0D0A, 0x0000000A  # kinds of pcapng's blocks
_TLS_KEYS = 0x544C534B


def _run_folder(done: Done, arm: str = "lowat-131072") -> Path:
    assert done.code == 0, done.trouble
    assert done.folder is not None
    return done.folder / f"{arm}.1"


@pytest.fixture(scope="module")
def captured(guest: None, tmp_path_factory: pytest.TempPathFactory) -> Done:  # noqa: ARG001
    """Returns runs in the guest with captures: without losses, and with losses."""
    arms = {
        "lossless": _LOSSLESS,
        "losses": ("LOWAT=none", "RELOADS=0"),
    }
    return together(tmp_path_factory.mktemp("captured"), arms, "CAPTURE=yes", "SAMPLE=100ms")


@pytest.fixture(scope="module")
def compared_in_the_guest(captured: Done) -> Mapping[str, Compared]:
    """Returns the comparison of the first bytes of the run without losses with its captures."""
    return compare(_run_folder(captured, "lossless"))


def test_first_bytes_in_the_guest(compared_in_the_guest: Mapping[str, Compared]) -> None:
    """First bytes in events and client's capture agree within 1 ms; they left the front at least the delay earlier."""
    for resource, compared in compared_in_the_guest.items():
        assert abs(compared.late_ns) <= _GUEST_NS, resource
        assert compared.lead_ns >= 300 * 10**6, resource
        # The client also counts the TCP stream's bytes; its position lies in the same packet.
        assert compared.packet.begin_bytes < compared.event["tcp_bytes"] <= compared.packet.end_bytes


def test_captures_hold_the_keys(captured: Done) -> None:
    """Both captures have the connection's secrets before the packets; wire/ has clock.json and segments.jsonl, too."""
    run = _run_folder(captured, "lossless")
    files = {"client.pcapng", "server.pcapng", "segments.jsonl", "clock.json"}
    assert {path.name for path in (run / "wire").iterdir()} == files
    keys = (run / "client/keys.log").read_bytes()
    for end in ("client", "server"):
        data = (run / f"wire/{end}.pcapng").read_bytes()
        kind, length = struct.unpack_from("<II", data)
        assert kind == _SECTION
        kind, _, secrets, size = struct.unpack_from("<IIII", data, length)
        assert (kind, secrets) == (_SECRETS, _TLS_KEYS)
        assert data[length + 16 : length + 16 + size] == keys


def test_a_capture_changes_nothing(captured: Done, run: Runs) -> None:
    """In the guest every time of a load with captures is within 1 % of the time without captures."""
    with_capture, without = captured.arm("lossless"), variations(run).arm("small")
    for resource in RESOURCES:
        assert with_capture[resource] == pytest.approx(without[resource], rel=0.01)


def test_after_a_loss_all_of_it_is_readable(captured: Done) -> None:
    """After lost packets tshark decrypts every byte, with the preference that docs/reference/results.md names."""
    run = _run_folder(captured, "losses")
    counters = json.loads((run / "link/counters.json").read_text())
    assert sum(qdisc["drops"] for qdisc in counters["down"]) > 0
    for end in ("client", "server"):
        sizes = Capture(run / f"wire/{end}.pcapng", OUT_OF_ORDER).data_bytes()
        assert {sizes[path] for path in RESOURCES.values()} == {716_800}


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_first_bytes_in_real_time(lab: Lab) -> None:
    """First bytes in events and client's capture agree within 2 ms; they left the front at least the delay earlier.

    The client uses the time after a read if the kernel's stamp is more than a millisecond old. So on a machine that is
    busy for a moment the client's time is late, but not wrong. On such a machine the run is repeated: one of five runs
    has to agree, and each run has to have the delay.
    """

    def worst_ns() -> int:
        run = _run_folder(lab.run_on_time(*_PUNCTUAL))
        compared = compare(run).values()
        assert all(each.lead_ns >= 20 * 10**6 for each in compared)
        return max(abs(each.late_ns) for each in compared)

    assert until_punctual(worst_ns, lambda found_ns: found_ns > _REAL_NS) <= _REAL_NS


@pytest.mark.usefixtures("netns")
@pytest.mark.parametrize(("end", "place"), [("client", "client"), ("server", "front")])
def test_a_capture_that_dies_is_the_reason(lab: Lab, end: str, place: str) -> None:
    """If a capture is killed, the run fails within seconds, and both captures have the packets before the kill."""
    traces = Traces()
    with started(lab, traces, *_ENDLESS, until=_LOADING) as running:
        _until_packets_are_written_down(lab)
        traces.look(running.pid)
        (tap,) = (pid for pid in with_descendants(running.pid) if _writes(pid, f"{end}.pcap"))
        os.kill(tap, signal.SIGKILL)
        running.communicate(timeout=_SOON_S)
        assert running.returncode == 1
    done = lab.latest()
    must_have_failed(done, f"the capture at the {place}: it was ended by SIGKILL")
    assert done.folder is not None
    wire = done.folder / "lowat-131072.1/wire"
    assert not list(wire.glob("*.pcap"))
    for each in ("client", "server"):
        assert Capture(wire / f"{each}.pcapng").data_bytes()["/"] > 0
    nothing_is_left(lab)
    traces.must_be_gone()


def _writes(pid: int, name: str) -> bool:
    """Tell whether a process is a tcpdump that writes a file of this name, which it got open."""
    is_tcpdump = words_of(pid).partition(" ")[0].endswith("tcpdump")
    return is_tcpdump and Path(os.readlink(f"/proc/{pid}/fd/1")).name == name


def _until_packets_are_written_down(lab: Lab) -> None:
    """Waits until both captures have packets of the load: the kernel passes on blocks of packets, a second late."""
    (wire,) = lab.results.glob("*.partial/*/wire")
    until(lambda: min((wire / f"{each}.pcap").stat().st_size for each in ("client", "server")) >= _SIZE)


@pytest.mark.usefixtures("netns")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_capture_leaves_nothing(lab: Lab, number: signal.Signals) -> None:
    """An interrupted run leaves nothing; a killed lab leaves its partial folder and no process."""
    traces = Traces()
    with started(lab, traces, *_ENDLESS, until=_LOADING) as running:
        traces.look(running.pid)
        os.kill(running.pid, number)
        running.communicate(timeout=_SOON_S)
    traces.must_be_gone()
    nothing_is_left(lab, partial=int(number == signal.SIGKILL))
