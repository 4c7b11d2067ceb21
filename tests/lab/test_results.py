"""The results of a run: folder, summary, picture, table."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.lab import Done, make_lab, priolab_here

pytestmark = pytest.mark.usefixtures("guest")

_SIZE = 716_800


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Returns an experiment of two arms with two repetitions each."""
    return make_lab(tmp_path_factory.mktemp("lab")).run("FABRIC=virtual", "REPEAT=2", "RELOADS=1", "SAMPLE=50ms")


def test_the_summary_has_the_documented_shape(repeated: Done) -> None:
    """The summary has every documented key, and each arm has its repetitions."""
    assert repeated.code == 0, repeated.trouble
    summary = repeated.summary
    assert summary is not None
    assert {"experiment", "fabric", "status", "arms"} <= set(summary)
    assert summary["status"] == "ok"
    for arm in summary["arms"]:
        assert {"scenario", "observed", "verdict", "image_bytes_before_script", "image_bytes_during_script"} <= set(arm)
        for resource in ("script", "image"):
            assert set(arm[resource]) == {"first_byte_ms", "last_byte_ms"}
        assert len(arm["repetitions"]) == 2
        firsts = [repetition["script"]["first_byte_ms"] for repetition in arm["repetitions"]]
        assert min(firsts) <= arm["script"]["first_byte_ms"] <= max(firsts)
        assert arm["wall_s"] > 0
    assert repeated.arm("control")["scenario"]["lowat"] is None
    assert repeated.arm("lowat-131072")["scenario"]["lowat"] == 131_072


def test_asked_and_observed_stand_side_by_side(repeated: Done) -> None:
    """LOWAT, send buffer, congestion control, rate and delay are read back from where they take effect."""
    observed = repeated.arm("lowat-131072")["observed"]
    assert observed["lowat"] == 131_072
    assert observed["sndbuf_bytes"] == 4 * 2**20
    assert observed["congestion_control"] == "cubic"
    assert observed["rate_bit_s"] == pytest.approx(1_024_000, rel=0.03)
    assert observed["round_trip_ns"] == pytest.approx(300_000_000, abs=3_000_000)
    assert observed["queue_packets"] == 25


def test_every_byte_is_accounted_for(repeated: Done) -> None:
    """The pieces of DATA in the event log add up to what the origin serves."""
    folder = _run_folder(repeated)
    events = [json.loads(line) for line in (folder / "client" / "events.jsonl").read_text().splitlines()]
    for resource in ("image", "script"):
        for load in (1, 2):
            sizes = [
                event["size_bytes"]
                for event in events
                if (event["kind"], event.get("resource"), event["load"]) == ("data", resource, load)
            ]
            assert sum(sizes) == _SIZE


def test_a_run_folder_is_complete(repeated: Done) -> None:
    """Asked configurations, keys, logs, counters and environment are where docs/reference/results.md says."""
    folder = _run_folder(repeated)
    for name in (
        "run.json",
        "env.json",
        "asked/arm.json",
        "asked/nginx.conf",
        "asked/link.json",
        "client/plan.json",
        "client/keys.log",
        "front/sockets.jsonl",
        "front/error.log",
        "origin/access.jsonl",
        "link/calibration.json",
        "link/counters.json",
    ):
        assert (folder / name).stat().st_size > 0, name
    assert not list(folder.parent.parent.glob("*.partial"))


def test_the_guests_clock_is_accounted_for(repeated: Done) -> None:
    """Python's and Node's clock reads move the clock by a step; computing does not move it.

    Both read through the vDSO if the guest's kernel has the patch for it, else by a system call.
    """
    folder = _run_folder(repeated)
    changes = json.loads((folder / "run.json").read_text())["kernel"]["changes"]
    in_place = "programs read the clock without a system call" in changes
    clock = json.loads((folder / "env.json").read_text())["clock"]
    assert clock["implementation"] == "clock_gettime(CLOCK_MONOTONIC)"
    assert clock["resolution_s"] > 0
    assert clock["python"]["advances_while_working"] is False
    for reader in (clock["python"], clock["node"]):
        assert reader["source"] == "time-travel-clock"
        assert reader["reads"] == ("vdso" if in_place else "system call")
        assert 0 < reader["resolution_ns"] == reader["read_cost_ns"] < 1000
        assert reader["reasons"] == {}
    treatment = repeated.arm("lowat-131072")
    assert treatment["observed"]["clock_resolution_ns"] == clock["python"]["resolution_ns"]
    client = treatment["instruments"]["client"]
    assert client["events"] > 500
    assert (client["ns_per_event"], client["reason"]) == (None, "the clock stands still while a program works")


def test_packets_on_the_link_are_packets(repeated: Done) -> None:
    """No packet on the link exceeds an Ethernet frame, so netem never counts several packets as one."""
    counters = json.loads((_run_folder(repeated) / "link" / "counters.json").read_text())["down"]
    bottleneck = next(qdisc for qdisc in counters if qdisc["options"].get("rate"))
    assert bottleneck["packets"] > 1500
    assert 1300 < bottleneck["bytes"] / bottleneck["packets"] <= 1514


def test_all_figures_are_drawn_on_demand(repeated: Done, tmp_path: Path) -> None:
    """`priolab figures` draws timeline, ledger and ladder in three formats."""
    assert repeated.folder is not None
    copy = shutil.copytree(repeated.folder, tmp_path / "copy")
    done = priolab_here("figures", str(copy))
    assert done.returncode == 0, done.stderr
    for name in ("timeline", "ledger-bar", "ledger-area", "ladder"):
        for suffix in ("html", "svg", "png"):
            assert (copy / f"{name}.{suffix}").stat().st_size > 10_000
            assert f"{name}.{suffix}" in done.stdout


def test_the_terminal_names_both_units_and_the_folder(repeated: Done) -> None:
    """The terminal shows kilobits and kilobytes, verdicts, and the results folder."""
    assert "1,024 kbit/s = 128 kB/s" in repeated.out
    assert "inverted" in repeated.out
    assert f"results: {repeated.folder}" in repeated.out


def _run_folder(done: Done) -> Path:
    assert done.folder is not None
    return done.folder / "lowat-131072.1"
