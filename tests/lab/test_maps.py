"""The article's effect in the guest, with real servers, a real kernel and real netem."""

import pytest

from tests.support.lab import complete_ms, priolab_here
from tests.support.shared_runs import Runs
from tests.support.variations import finely_sampled, variations, variations_of_h2o

pytestmark = pytest.mark.usefixtures("guest")


def test_without_lowat_the_script_waits_for_the_image(run: Runs) -> None:
    """The control is inverted: the script's first byte comes seconds late, when the image is almost complete."""
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
    """With LOWAT=131072, script and image are complete within 5 % of the control's time."""
    done = run("LOWAT=131072")
    control, treatment = (complete_ms(dict(done.arm(name))) for name in ("control", "lowat-131072"))
    assert abs(treatment - control) < 0.05 * control


def test_a_smaller_lowat_comes_closer(run: Runs) -> None:
    """With LOWAT=16384 the first byte comes in less than 2 s, and a note says that GSO keeps it from coming earlier."""
    treatment = run("LOWAT=16384", "CONTROL=no").arm("lowat-16384")
    assert treatment["verdict"] == "kept"
    assert treatment["script"]["first_byte_ms"] < 2000
    assert any("GSO" in sentence for sentence in treatment["warnings"])


def test_a_limited_gso_lets_small_values_bind(run: Runs) -> None:
    """With GSO=2 fewer bytes are unsent, and the first byte comes earlier than with the kernel's own GSO limit."""
    stock = run("LOWAT=16384", "CONTROL=no").arm("lowat-16384")
    limited = variations(run).arm("gso-2")
    assert limited["observed"]["notsent_most_bytes"] < stock["observed"]["notsent_most_bytes"] / 2
    assert limited["script"]["first_byte_ms"] < stock["script"]["first_byte_ms"]


def test_swapped_priorities_let_the_image_finish_first(run: Runs) -> None:
    """With PRIORITY=swap the image finishes first, so the server reads priorities."""
    done = variations(run)
    for name in ("swapped-control", "swapped"):
        assert done.arm(name)["image"]["last_byte_ms"] < done.arm(name)["script"]["last_byte_ms"]
    assert done.arm("swapped")["verdict"] == "kept"


def test_a_fast_link_has_nothing_to_prioritize(run: Runs) -> None:
    """Without shaping, the image is complete before the script exists, with and without LOWAT."""
    done = finely_sampled(run)
    for name in ("fast-control", "fast"):
        arm = done.arm(name)
        assert arm["verdict"] == "nothing-to-prioritize"
        assert arm["image"]["last_byte_ms"] < arm["loads"][-1]["script_available_ms"]


def test_the_modem_tells_the_same_story(run: Runs) -> None:
    """At 128 kbit/s the verdicts are those at 128 kB/s, and the control's first byte is about eight times as late."""
    done = variations(run)
    assert done.arm("modem-control")["verdict"] == "inverted"
    assert 47_000 < done.arm("modem-control")["script"]["first_byte_ms"] < 51_000
    assert done.arm("modem")["verdict"] == "kept"


@pytest.mark.needs("h2o")
def test_h2o_begins_the_script_early(run: Runs) -> None:
    """With h2o's own mechanism off, the script is late without LOWAT, earlier with 131072, and earliest with 16384."""
    done = variations_of_h2o(run)
    control, treatment, smaller = (done.arm(f"h2o-{name}") for name in ("control", "131072", "16384"))
    assert control["verdict"] == "inverted"
    assert control["script"]["first_byte_ms"] > 5500
    assert treatment["script"]["first_byte_ms"] < 4000
    assert smaller["script"]["first_byte_ms"] < treatment["script"]["first_byte_ms"]


@pytest.mark.needs("h2o")
def test_h2o_native_is_lost_where_the_window_has_outgrown_it(run: Runs) -> None:
    """With NATIVE=on h2o's script is early in the first load, but late once the congestion window exceeds max-cwnd."""
    control = variations_of_h2o(run).arm("h2o-native-control")
    first_bytes = [load["script"]["first_byte_ms"] for load in control["loads"]]
    assert first_bytes[0] < 1200
    assert max(first_bytes) > 5500
    assert control["observed"]["socket_lowat"] == [0, 1]


def test_stock_buffers_are_explained(run: Runs) -> None:
    """With the kernel's own send buffer LOWAT changes little, and a note names the knob SNDBUF."""
    done = variations(run)
    assert done.summary is not None
    control, treatment = done.arm("stock-control"), done.arm("stock")
    assert abs(control["script"]["first_byte_ms"] - treatment["script"]["first_byte_ms"]) < 500
    naming = [arm["name"] for arm in done.summary["arms"] if any("SNDBUF=4M" in each for each in arm["warnings"])]
    assert naming == ["stock"]
    assert done.folder is not None
    shown = priolab_here("show", str(done.folder))
    assert shown.returncode == 0
    assert "SNDBUF=4M" in shown.stdout


def test_bbr_inverts_as_well(run: Runs) -> None:
    """With BBR the control is inverted, too: congestion control has no effect on unsent bytes."""
    done = variations(run)
    assert done.arm("bbr-control")["verdict"] == "inverted"
    assert done.arm("bbr")["verdict"] == "kept"
    assert done.arm("bbr-control")["observed"]["congestion_control"] == "bbr"


def test_no_priority_is_no_order(run: Runs) -> None:
    """If the client asks for no order, the verdict is undecided."""
    assert variations(run).arm("unasked")["verdict"] == "undecided"
