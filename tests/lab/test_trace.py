"""Runs over traces: constant opportunities are like a rate, and the ledger adds up when the rate varies."""

import json
from pathlib import Path

import pytest

from priolab.experiments.cli import main
from priolab.experiments.results.journal_lines import lines
from tests.support.lab import Lab
from tests.support.together import together

pytestmark = pytest.mark.usefixtures("guest")

_EVERY_MS = 10
_RATE = f"{1514 * 8 * 1000 // _EVERY_MS}bit"
_RECORD_MS = 16_384 * _EVERY_MS / 1448
_FIGURES = (("script", "first_byte_ms"), ("script", "last_byte_ms"), ("image", "last_byte_ms"))


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    (folder / "even").write_text("".join(f"{_EVERY_MS * number}\n" for number in range(1, 101)))
    assert main(["trace", "make", "lte", str(folder / "lte"), "--rate", "2mbit", "--seed", "3"]) == 0
    return folder


@pytest.mark.parametrize("lowat", ["none", "16384"])
def test_even_opportunities_are_a_rate(traces: Path, tmp_path: Path, lowat: str) -> None:
    """A trace of even opportunities gives the figures of the same rate, within one TLS record."""
    short = ("CONTROL=no", "RELOADS=0", "SIZE=300000", "GSO=2", f"LOWAT={lowat}", "SAMPLE=100ms", "SHAPER=ferry")
    done = together(tmp_path, {"trace": (f"TRACE={traces / 'even'}",), "rate": (f"RATE={_RATE}",)}, *short)
    found = [done.arm(name) for name in ("trace", "rate")]
    assert [arm["status"] for arm in found] == ["ok", "ok"], done.trouble
    for name, figure in _FIGURES:
        assert found[0][name][figure] == pytest.approx(found[1][name][figure], abs=_RECORD_MS), (name, figure)
    assert found[0]["verdict"] == found[1]["verdict"]


def test_a_varying_rate(traces: Path, tmp_path: Path) -> None:
    """With a trace whose rate varies, the ferry shapes, the ledger explains the wait, and a repeat is the same."""
    lte = traces / "lte"
    words = (f"TRACE={lte}", f"TRACE_UP={lte}", "DELAY=50ms", "RELOADS=1")
    arms = {"control": ("LOWAT=none",), "treated": ("LOWAT=16384",), "again": ("LOWAT=16384",)}
    done = together(tmp_path, arms, *words)
    assert done.code == 0, done.trouble
    assert done.folder is not None
    for name in arms:
        run = json.loads((done.folder / f"{name}.1" / "run.json").read_text())
        assert run["observed"]["shaper"] == "ferry"
        assert run["ledger"]["explained"] > 0.98
        assert run["oracle"]["inversion_ms"] >= 0
    events = [list(lines(done.folder / f"{name}.1" / "client" / "events.jsonl")) for name in ("treated", "again")]
    assert events[0] == events[1]


def test_netem_cannot_replay(traces: Path, lab: Lab) -> None:
    """SHAPER=netem with a trace is refused with one line."""
    done = lab.run_here(f"TRACE={traces / 'even'}", "SHAPER=netem", "FABRIC=virtual")
    assert done.code != 0
    assert "the kernel's netem cannot replay a trace" in done.err
    assert done.err.strip().count("\n") == 0
