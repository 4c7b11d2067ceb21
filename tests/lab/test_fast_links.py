"""Fast links: the client reads several packets with one system call, and rare samples tell little."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest

from priolab.common.packets import PACKET_BYTES, SEGMENT_BYTES
from tests.support.shared_runs import Runs

_FAST_BIT_S = 100_000_000


@pytest.mark.usefixtures("guest")
def test_every_packet_has_its_time(run: Runs) -> None:
    """The arrivals are full packets at the link's rate, with far fewer reads. The run is ok, so no log contradicts."""
    done = run(
        "RATE=100mbit", "DELAY=10ms", "QUEUE=1000", "SNDBUF=stock", "SIZE=2M", "RELOADS=0", "CONTROL=no", "LOWAT=131072"
    )
    assert done.folder is not None, done.trouble
    client = done.folder / "lowat-131072.1" / "client"
    arrivals = [json.loads(line) for line in (client / "arrivals.jsonl").read_text().splitlines()]
    reads = json.loads((client / "socket.json").read_text())["reads"]
    assert reads < len(arrivals) / 2
    full = [
        after["t_ns"] - before["t_ns"]
        for before, after in pairwise(arrivals)
        if after["tcp_bytes"] - before["tcp_bytes"] == SEGMENT_BYTES
    ]
    assert len(full) > 0.95 * arrivals[-1]["tcp_bytes"] / SEGMENT_BYTES
    packet_ns = PACKET_BYTES * 8 * 10**9 // _FAST_BIT_S
    assert min(full) == pytest.approx(packet_ns, abs=1000)
    events = [json.loads(line) for line in (client / "events.jsonl").read_text().splitlines()]
    times = {each["t_ns"] for each in arrivals}
    assert {each["record_ns"] for each in events if "record_ns" in each} <= times


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize("link", [("RATE=100mbit", "DELAY=5ms", "DELAY_UP=5ms"), ("RATE=1gbit", "DELAY=2ms")])
def test_samples_that_come_after_the_first_drops(link: Sequence[str], run: Runs) -> None:
    """With the samples of a sweep the first packets are dropped, and sent again, before the socket is seen."""
    done = run("LOWAT=none,131072", *link, "SAMPLE=100ms")
    assert done.summary is not None
    assert [(arm["name"], arm["status"], arm["reason"]) for arm in done.summary["arms"]] == [
        ("control", "ok", None),
        ("lowat-131072", "ok", None),
    ], done.trouble
