"""Tests of the bottleneck on the sender's own egress: its commands, its counters, and its requirements."""

import dataclasses
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from priolab.experiments.commands.console import Report
from priolab.experiments.hosts.containers.compose import Compose
from priolab.experiments.hosts.namespaces.front_shaper import check_at, make_room, observed_at
from priolab.experiments.hosts.namespaces.front_shaper_check import check_egress
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.scenario import ShaperAt, as_record
from priolab.netem import sender_bottleneck, tc
from priolab.netem.link import Link
from priolab.netem.queue_journal import Qdiscs, QueueJournal, Statistics
from priolab.netem.shaper_kind import Shaper
from priolab.netem.tc import Stage
from priolab.testbed.errors import InvalidRun, Unavailable

_SO_SNDBUFFORCE = 32
LINK = Link(rate_bit_s=1_024_000, delay_ns=300_000_000, delay_up_ns=5_000_000, queue_packets=25)
SCENARIO = scenario_from({"SHAPER_AT": "front"})


def test_the_rate_is_tbfs_and_the_delay_is_behind_it() -> None:
    """The sender's device has no netem, which would orphan packets. On the link's device the delay comes last."""
    gate, queue = sender_bottleneck.gate(LINK, "wire")
    assert gate[4:] == ("wire", "root", "handle", "1:", "tbf", "rate", "1024000bit", "burst", "1514", "limit", "24")
    assert queue[4:] == ("wire", "parent", "1:", "handle", "2:", "pfifo", "limit", "24")
    cutter, sender, delay, up, _ = [
        " ".join(command[3:]) for command in sender_bottleneck.rest(LINK, "to-client", "to-front")
    ]
    assert "tbf rate 100gbit" in cutter
    assert sender.endswith("parent 1: handle 2: netem limit 1000000 rate 1024000bit")
    assert delay.endswith("parent 2: handle 3: netem limit 1000000 delay 300000us")
    assert "to-front" in up


class _Told(Qdiscs):
    """Qdiscs with given statistics."""

    def __init__(self, found: dict[tuple[str, int], tuple[int, int]]) -> None:
        self._found = found

    def close(self) -> None:
        pass

    def read(self) -> dict[Stage, Statistics]:
        return {
            Stage(device=device, handle=handle): Statistics(packets=packets, bytes=1514 * packets, dropped=dropped)
            for (device, handle), (packets, dropped) in self._found.items()
        }


def journal(folder: Path, stages: tc.Stages, *places: Qdiscs) -> dict[str, int]:
    file = folder / "queue.jsonl"
    with QueueJournal({"down": stages}, places, file, 1) as queues:
        queues.look(5)
    (line,) = file.read_text().splitlines()
    found: dict[str, int] = json.loads(line)
    return found


def test_each_packet_is_counted_once(tmp_path: Path) -> None:
    """The bottleneck queue contains the tbf's packets and the packet being sent, but not the delay line."""
    stages = sender_bottleneck.stages(LINK, "wire", "to-client", "to-front")["down"]
    front = _Told({("wire", 1): (4, 2), ("wire", 2): (4, 2)})
    middle = _Told({("to-client", 1): (8, 0), ("to-client", 2): (8, 0), ("to-client", 3): (7, 0)})
    line = journal(tmp_path, stages, front, middle)
    assert (line["packets"], line["delay_line_packets"], line["dropped"]) == (5, 7, 2)


def test_in_a_link_of_its_own_too(tmp_path: Path) -> None:
    """In an ordinary link the bottleneck is nested in the delay line, and is not counted twice."""
    line = journal(
        tmp_path, tc.down_stages(LINK, "to-client"), _Told({("to-client", 2): (9, 0), ("to-client", 3): (5, 1)})
    )
    assert (line["packets"], line["delay_line_packets"], line["dropped"]) == (5, 4, 1)


def seen(rate_bytes_s: int = 128_000, packets: int = 9) -> dict[str, list[dict[str, object]]]:
    return {"front": [{"kind": "tbf", "packets": packets, "options": {"rate": rate_bytes_s}}, {"kind": "pfifo"}]}


def test_where_it_was_is_seen() -> None:
    """A tbf that packets passed shows the place of the bottleneck. A wrong place or rate makes the run invalid."""
    assert observed_at(seen()) is ShaperAt.FRONT
    assert observed_at({"down": [], "up": []}) is ShaperAt.LINK
    check_at(SCENARIO, seen())
    check_at(scenario_from({}), {"down": []})
    with pytest.raises(InvalidRun, match="place of the bottleneck: asked for front, observed link"):
        check_at(SCENARIO, seen(packets=0))
    with pytest.raises(InvalidRun, match="place of the bottleneck: asked for link, observed front"):
        check_at(scenario_from({}), seen())
    with pytest.raises(InvalidRun, match="own egress, in bit/s: asked for 1024000, observed 2048000"):
        check_at(SCENARIO, seen(rate_bytes_s=256_000))


class _OrdinaryUsers(socket.socket):
    """A socket whose send buffer may not exceed net.core.wmem_max."""

    def setsockopt(self, level: int, option: int, value: Any) -> None:  # type: ignore[override]
        if option == _SO_SNDBUFFORCE:
            raise PermissionError
        super().setsockopt(level, option, value)


def test_a_queue_that_an_ordinary_user_cannot_fill() -> None:
    """A queue that does not fit into the send buffer raises Unavailable. One that fits is accepted."""
    with _OrdinaryUsers(socket.AF_INET, socket.SOCK_DGRAM) as far:
        make_room(far, LINK)
        room_bytes = far.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        deep = dataclasses.replace(LINK, queue_packets=room_bytes // 1514)
        with pytest.raises(Unavailable, match=f"SHAPER_AT=front with QUEUE={deep.queue_packets} cannot be used here"):
            make_room(far, deep)


def test_the_terminal_says_where_the_queue_is(capsys: pytest.CaptureFixture[str]) -> None:
    """The report on the terminal names the bottleneck's place only if the place is the front's own egress."""
    for scenario in (SCENARIO, scenario_from({})):
        Report().link(as_record(scenario))
    own, usual = capsys.readouterr().out.splitlines()
    assert own == f"{usual} on the front's own egress"


def test_containers_cannot_do_it() -> None:
    """SHAPER_AT=front is refused with FABRIC=compose, before a container engine is searched."""
    with pytest.raises(
        Unavailable, match="SHAPER_AT=front with FABRIC=compose cannot be used here: the front's container"
    ):
        Compose().check_usable(SCENARIO, None)


def test_containers_cannot_set_the_fronts_discipline() -> None:
    """FRONT_QDISC is refused with FABRIC=compose, before a container engine is searched."""
    with pytest.raises(Unavailable, match="FRONT_QDISC=fq with FABRIC=compose cannot be used here: the front's"):
        Compose().check_usable(scenario_from({"FRONT_QDISC": "fq"}), None)


def test_the_ferry_cannot_do_it() -> None:
    """SHAPER_AT=front is refused with the ferry or without netem in the kernel. SHAPER_AT=link needs neither check."""
    with pytest.raises(Unavailable, match="SHAPER_AT=front with SHAPER=ferry"):
        check_egress(SCENARIO, Shaper.FERRY, lambda: None)
    with pytest.raises(Unavailable, match="this kernel has no sch_netem"):
        check_egress(SCENARIO, None, lambda: "this kernel has no sch_netem")
    check_egress(SCENARIO, Shaper.NETEM, lambda: None)
    check_egress(dataclasses.replace(SCENARIO, shaper_at=ShaperAt.LINK), Shaper.FERRY, lambda: "none")
