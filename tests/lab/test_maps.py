"""The claim itself, on real servers, a real kernel and real netem, in the guest."""

import subprocess
import sys

import pytest

from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest")

_ONE_LOAD = ("RELOADS=0", "SAMPLE=100ms")
"""Enough where the send buffer is large from the beginning, and nobody asks where the bytes wait."""


def _complete_ms(arm: dict[str, dict[str, float]]) -> float:
    return max(arm["script"]["last_byte_ms"], arm["image"]["last_byte_ms"])


def test_without_lowat_the_script_waits_for_the_image(run: Runs) -> None:
    """The control is inverted: the script's first byte comes seconds late, with the image all but complete."""
    control = run("LOWAT=131072").arm("control")
    assert control["verdict"] == "inverted"
    assert control["script"]["first_byte_ms"] > 5500
    assert control["script"]["first_byte_ms"] > control["image"]["last_byte_ms"] - 500


def test_lowat_131072_keeps_the_order(run: Runs) -> None:
    """The treatment is kept: the script begins early and is complete before the image."""
    treatment = run("LOWAT=131072").arm("lowat-131072")
    assert treatment["verdict"] == "kept"
    assert treatment["script"]["first_byte_ms"] < 3200
    assert treatment["script"]["last_byte_ms"] < treatment["image"]["last_byte_ms"]


def test_lowat_costs_no_goodput(run: Runs) -> None:
    """The time at which both are complete moves by less than five percent."""
    done = run("LOWAT=131072")
    control, treatment = (_complete_ms(dict(done.arm(name))) for name in ("control", "lowat-131072"))
    assert abs(treatment - control) < 0.05 * control


def test_a_smaller_lowat_comes_closer(run: Runs) -> None:
    """16384 brings the first byte under two seconds, and the note says what keeps it from coming closer still."""
    treatment = run("LOWAT=16384", "CONTROL=no").arm("lowat-16384")
    assert treatment["verdict"] == "kept"
    assert treatment["script"]["first_byte_ms"] < 2000
    assert any("GSO" in sentence for sentence in treatment["warnings"])


def test_a_limited_gso_lets_small_values_bind(run: Runs) -> None:
    """The knob that the note names does what it says."""
    stock = run("LOWAT=16384", "CONTROL=no").arm("lowat-16384")
    limited = run("LOWAT=16384", "CONTROL=no", "GSO=2").arm("lowat-16384")
    assert limited["observed"]["notsent_most_bytes"] < stock["observed"]["notsent_most_bytes"] / 2
    assert limited["script"]["first_byte_ms"] < stock["script"]["first_byte_ms"]


def test_swapped_priorities_let_the_image_finish_first(run: Runs) -> None:
    """The server reads priorities: asked the other way round, it answers the other way round."""
    done = run("LOWAT=131072", "PRIORITY=swap", *_ONE_LOAD)
    for arm in done.summary["arms"] if done.summary else []:
        assert arm["image"]["last_byte_ms"] < arm["script"]["last_byte_ms"]
    assert done.arm("lowat-131072")["verdict"] == "kept"


def test_a_fast_link_has_nothing_to_prioritize(run: Runs) -> None:
    """Unshaped, the image is complete before the script exists, with and without LOWAT."""
    done = run("RATE=unlimited", "DELAY=0ms")
    for name in ("control", "lowat-131072"):
        arm = done.arm(name)
        assert arm["verdict"] == "nothing-to-prioritize"
        assert arm["image"]["last_byte_ms"] < arm["loads"][-1]["script_available_ms"]


def test_the_modem_tells_the_same_story(run: Runs) -> None:
    """At 128 kilobits per second the order is the same, eight times slower."""
    done = run("RATE=128kbit", "SAMPLE=50ms", "RELOADS=0")
    assert done.arm("control")["verdict"] == "inverted"
    assert 47_000 < done.arm("control")["script"]["first_byte_ms"] < 51_000
    assert done.arm("lowat-131072")["verdict"] == "kept"


def test_h2o_begins_the_script_early(run: Runs) -> None:
    """h2o with its own mechanism off: late without LOWAT, under four seconds with it, better still with less."""
    done = run("SERVER=h2o")
    smaller = run("SERVER=h2o", "LOWAT=16384", "CONTROL=no", "SAMPLE=100ms").arm("lowat-16384")
    assert done.arm("control")["verdict"] == "inverted"
    assert done.arm("control")["script"]["first_byte_ms"] > 5500
    assert done.arm("lowat-131072")["script"]["first_byte_ms"] < 4000
    assert smaller["script"]["first_byte_ms"] < done.arm("lowat-131072")["script"]["first_byte_ms"]


def test_h2o_native_is_lost_where_the_window_has_outgrown_it(run: Runs) -> None:
    """Its mechanism keeps the first load near the limit and loses one where the window is past max-cwnd."""
    control = run("SERVER=h2o", "NATIVE=on", "LOWAT=none", "RELOADS=3", "SAMPLE=100ms").arm("control")
    first_bytes = [load["script"]["first_byte_ms"] for load in control["loads"]]
    assert first_bytes[0] < 1200
    assert max(first_bytes) > 5500
    assert control["observed"]["socket_lowat"] == [0, 1]


def test_stock_buffers_are_explained(run: Runs) -> None:
    """With the kernel's own send buffer LOWAT changes little, and the lab says why and names the knob."""
    done = run("SNDBUF=stock", "SAMPLE=100ms")
    control, treatment = done.arm("control"), done.arm("lowat-131072")
    assert abs(control["script"]["first_byte_ms"] - treatment["script"]["first_byte_ms"]) < 500
    assert any("SNDBUF=4M" in sentence for sentence in treatment["warnings"])
    assert done.folder is not None
    shown = [sys.executable, "-m", "experiments.cli", "show", str(done.folder)]
    assert "SNDBUF=4M" in subprocess.run(shown, capture_output=True, text=True, timeout=60, check=True).stdout


def test_bbr_inverts_as_well(run: Runs) -> None:
    """Congestion control does not reach what is not sent yet."""
    done = run("CC=bbr", *_ONE_LOAD)
    assert done.arm("control")["verdict"] == "inverted"
    assert done.arm("lowat-131072")["verdict"] == "kept"
    assert done.arm("control")["observed"]["congestion_control"] == "bbr"


def test_no_priority_is_no_order(run: Runs) -> None:
    """When the client asks for no order, nothing is kept or inverted."""
    assert run("PRIORITY=none", "CONTROL=no", *_ONE_LOAD).arm("lowat-131072")["verdict"] == "undecided"
