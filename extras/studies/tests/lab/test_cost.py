"""The grid of `priolab cost` in the guest, made tiny; processor time on this machine's clocks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from priolab.experiments.commands.console import Report
from priolab.extras.studies import cost_grid, processor
from priolab.extras.studies.cost_document import error
from priolab.extras.studies.cost_grid import Network, compared
from priolab.extras.studies.processor import Point
from tests.support.waiting import until, until_gone

_LAWFUL = 0.25


@pytest.mark.usefixtures("guest")
def test_a_tiny_grid(tmp_path: Path) -> None:
    """A smaller LOWAT brings the script sooner, wakes nginx more often, as the law says, and needs less memory."""
    network = Network(rate="10mbit", round_trip_ms=5)
    found = cost_grid.measure(
        tmp_path, Report(aside=True), servers=("nginx",), networks=(network,), lowats=("none", "131072", "16384")
    )
    for name in ("first_byte_ms", "memory_bytes"):
        values = [getattr(each, name) for each in found]
        assert values == sorted(values, reverse=True)
    assert [abs(error(each)) < _LAWFUL and each.fills for each in compared(found)] == [True, True]
    assert found[0].wakeups_per_mb < 2


_LOADED = pytest.mark.needs("nginx", "h2load", "root")
"""Only root reads the processor time of servers behind a link of this process."""


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
@_LOADED
def test_processor_time(tmp_path: Path) -> None:
    """nginx, loaded by h2load, uses a processor, and the link's rate is the limit."""
    found = processor.measure(
        ["nginx"], tmp_path, Report(aside=True), connections=(64,), lowats=(None, 16_384), repeat=1
    )
    unset = Point(server="nginx", connections=64, lowat=None)
    assert found.cpu_ms(unset) > 0
    assert 10e6 < found.goodput_bit_s(unset) < 500e6
    assert found.load >= 0


_ENDLESS = """
import sys
from pathlib import Path
from priolab.experiments.commands.console import Report
from priolab.extras.studies import processor
processor.measure(["nginx"], Path(sys.argv[1]), Report(), connections=(1,), repeat=1000)
"""


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
@_LOADED
def test_a_kill_leaves_nothing(tmp_path: Path) -> None:
    """When the measuring process is killed, servers and h2load end with it."""
    command = [sys.executable, "-u", "-c", _ENDLESS, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as lab:
        assert lab.stdout is not None
        assert "measurement 1 of" in lab.stdout.readline()
        until(lambda: len(children_of(lab.pid)) == 2)
        children = children_of(lab.pid)
        lab.kill()
    until_gone(*children)


def children_of(pid: int) -> list[int]:
    """Return the ids of a process's children."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
