"""Limits of a transfer, in the guest: one file on a connection in which one thing after the other is the limit."""

from pathlib import Path

import pytest

from priolab.experiments.commands.arm_results import results
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.usefixtures("guest")

_ONE = """
title = "One file"

[[resource]]
name = "file"
size = "{size}"
type = "application/octet-stream"
important = true
"""


def _page(folder: Path, size: str) -> str:
    (folder / "one.toml").write_text(_ONE.format(size=size))
    return f"PAGE={folder / 'one.toml'}"


def test_goodput_of_a_long_fat_link(run: Runs, tmp_path: Path) -> None:
    """On a grown connection LOWAT costs nothing: a file uses up the link. On a fresh one slow start has its share."""
    page = _page(tmp_path, "32M")
    link = ("RATE=100mbit", "DELAY=100ms", "DELAY_UP=100ms", "QUEUE=4000", "SNDBUF=64M", "WINDOW=256M")
    done = run(page, *link, "RELOADS=1", "LOWAT=131072", "CONTROL=no")
    assert done.code == 0, done.trouble
    arm = done.arm("lowat-131072")
    fresh, grown = (load["limits"] for load in arm["loads"])
    assert arm["resources"]["file"]["goodput_bit_s"] >= 95_000_000
    assert grown["goodput_bit_s"] >= 95_000_000
    assert grown["shares"]["link"] > 0.99
    assert grown["slow_start"] == 0
    assert 0.3 < fresh["slow_start"] < 0.5
    assert 0.2 < fresh["shares"]["congestion_window"] < fresh["slow_start"]
    assert fresh["goodput_bit_s"] < 70_000_000
    assert fresh["goodput_after_bit_s"] >= 95_000_000
    told = "lowat-131072: from first to last byte (95.3 Mbit/s) the limit was the link for 100% of the time"
    assert done.summary is not None
    assert told in [line for line in results(done.summary) if isinstance(line, str)]
    assert not any("TCP window" in note for note in arm["warnings"]), "it was full, and the link was busy"


@pytest.mark.parametrize(
    ("knobs", "limit"),
    [
        (("CONNECTION_WINDOW=65535",), "flow_control"),
        (("RATE=unlimited", "SNDBUF=64M", "QUEUE=9999"), "receive_window"),
    ],
)
def test_limits_other_than_the_link(run: Runs, tmp_path: Path, knobs: tuple[str, ...], limit: str) -> None:
    """Where the link could carry more, what limits the transfer is said, and has most of the time."""
    link = ("RATE=50mbit", "DELAY=50ms", "DELAY_UP=50ms", "QUEUE=1000", "RELOADS=1", "CONTROL=no")
    limits = run(_page(tmp_path, "4M"), *link, *knobs).arm("lowat-131072")["loads"][-1]["limits"]
    assert limits["largest"] == limit
    assert limits["shares"][limit] > 0.7
