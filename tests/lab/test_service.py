"""The work of a server takes time (SERVICE): throughput that a small LOWAT loses, the ledger, exact times."""

from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.loads.layer import Layer
from priolab.common.packets import PACKET_BYTES, SEGMENT_BYTES
from priolab.experiments.results.journal_lines import JOURNALS, lines
from tests.support.lab import Done, Lab, make_lab
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.usefixtures("guest")

_QUEUE, _RATE_BIT_S = 20, 10**8
_FAST = ("RATE=100mbit", "DELAY=1ms", f"QUEUE={_QUEUE}", "SIZE=4MiB", "JS_DELAY=0ms", "RELOADS=0", "CONTROL=no")
_WAKE_NS, _KB_NS = 10**7, 1000
_LOWATS = (4096, 65_536, 262_144)
_BUFFER_BYTES = 45 * SEGMENT_BYTES
"""The largest packet buffer: whole segments, up to 64 KiB."""
_JOURNALS = (*JOURNALS, "front/service.jsonl", "front/counters.json")


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Done]:
    """Returns experiments with all values of LOWAT over the fast link, with SERVICE and without."""
    lab, lowats = make_lab(tmp_path_factory.mktemp("fast")), ",".join(map(str, _LOWATS))
    slow, usual = (
        lab.run_here("FABRIC=virtual", *_FAST, f"LOWAT={lowats}", f"SERVICE={service}")
        for service in ("10ms+1us/KB", "none")
    )
    assert (slow.code, usual.code) == (0, 0), (slow.trouble, usual.trouble)
    return slow, usual


def _load(done: Done, lowat_bytes: int) -> Mapping[str, Any]:
    load: Mapping[str, Any] = done.arm(f"lowat-{lowat_bytes}")["loads"][-1]
    return load


def _goodput_bit_s(load: Mapping[str, Any]) -> float:
    """Returns the goodput from the first byte to the last, of image and script together."""
    files = [load["resources"][name] for name in ("image", "script")]
    took_ms = max(each["last_byte_ms"] for each in files) - min(each["first_byte_ms"] for each in files)
    return float(sum(each["size_bytes"] for each in files) * 8000 / took_ms)


def test_a_lowat_that_is_too_small_loses_throughput(fast: tuple[Done, Done]) -> None:
    """The link idles from when half of LOWAT and the queue are sent until the server, woken late, has written again.

    Without SERVICE no value of LOWAT loses throughput.
    """
    slow, usual = fast
    full_bit_s = _RATE_BIT_S * SEGMENT_BYTES / PACKET_BYTES
    for lowat_bytes in _LOWATS:
        filled_bytes = ceil(lowat_bytes / _BUFFER_BYTES) * _BUFFER_BYTES
        cycle_s = (filled_bytes - lowat_bytes / 2) * 8 / full_bit_s + _WAKE_NS / 10**9
        sent_bytes = filled_bytes + _QUEUE / 2 * SEGMENT_BYTES
        predicted_bit_s = min(full_bit_s, sent_bytes * 8 / cycle_s)
        assert _goodput_bit_s(_load(slow, lowat_bytes)) == pytest.approx(predicted_bit_s, rel=0.15), lowat_bytes
        assert _goodput_bit_s(_load(usual, lowat_bytes)) == pytest.approx(full_bit_s, rel=0.03), lowat_bytes
        assert predicted_bit_s < 0.7 * full_bit_s or lowat_bytes == max(_LOWATS)


def test_each_wakeup_and_each_kb_takes_its_time(fast: tuple[Done, Done]) -> None:
    """The front was at work for as long as its wake-ups and its bytes say; those to the origin are a few hundred."""
    slow, usual = fast
    for lowat_bytes in _LOWATS:
        cost = _load(slow, lowat_bytes)["cost"]
        for_bytes_ns = cost["service_ns"] - cost["wakeups"] * _WAKE_NS
        assert 0 <= for_bytes_ns - cost["handed_bytes"] * _KB_NS / 1000 <= 2 * _KB_NS
        assert _load(usual, lowat_bytes)["cost"]["service_ns"] == 0


def test_the_ledger_has_a_layer_for_it(run: Runs) -> None:
    """The byte waits while the server is at work, in a layer of its own; without SERVICE there is no such layer."""
    words = ("LOWAT=16384", "CONTROL=no", "RELOADS=0")
    done = run(*words, "SERVICE=10ms+1ms/KB")
    assert done.code == 0, done.trouble
    ledger = done.arm("lowat-16384")["ledger"]
    assert ledger["parts_ms"][Layer.SERVICE] > 10
    assert sum(ledger["parts_ms"].values()) == pytest.approx(ledger["wait_ms"])
    assert ledger["explained"] > 0.99
    assert Layer.SERVICE not in run(*words).arm("lowat-16384")["ledger"]["parts_ms"]


def _written(done: Done) -> Iterator[tuple[str, Any]]:
    assert done.code == 0, done.trouble
    assert done.folder is not None
    (folder,) = (Path(each) for each in done.folder.iterdir() if each.is_dir())
    for journal in _JOURNALS:
        yield journal, list(lines(folder / journal))


def test_it_repeats(lab: Lab) -> None:
    """Two runs with the same seed are the same, to the nanosecond, and one with another service time is not."""
    words = ("FABRIC=virtual", "SIZE=102400", "RELOADS=0", "CONTROL=no", "LOWAT=16384")
    one, same, other = (
        dict(_written(lab.run_here(*words, f"SERVICE={service}"))) for service in ("20us+1us/KB",) * 2 + ("21us",)
    )
    assert one == same
    assert one["client/events.jsonl"] != other["client/events.jsonl"]
    assert one["front/service.jsonl"]
