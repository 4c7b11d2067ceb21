"""The article's effect over SPDY, the article's protocol, in the guest."""

import pytest

from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest", "npm")

_BOTH = ("SERVER=spdy,spdy-strict", "LOWAT=131072", "SAMPLE=100ms")
"""The words of an experiment with both fronts, which share a guest."""


def test_levels_are_kept_with_lowat_alone(run: Runs) -> None:
    """A strict front sends the script seconds late without LOWAT, as nginx does over HTTP/2, and early with LOWAT."""
    done = run(*_BOTH)
    control, treatment = done.arm("spdy-strict-control"), done.arm("spdy-strict-lowat-131072")
    assert (control["verdict"], treatment["verdict"]) == ("inverted", "kept")
    assert control["script"]["first_byte_ms"] > 5500
    assert treatment["script"]["first_byte_ms"] < 3200
    assert treatment["script"]["last_byte_ms"] < treatment["image"]["last_byte_ms"] - 3000


def test_it_is_as_over_http2(run: Runs) -> None:
    """The script's first byte over SPDY and over nginx's HTTP/2 differ by at most 150 ms, the time of a TLS record."""
    for arm in ("control", "lowat-131072"):
        spdy, http2 = run(*_BOTH).arm(f"spdy-strict-{arm}"), run("LOWAT=131072").arm(arm)
        assert spdy["script"]["first_byte_ms"] == pytest.approx(http2["script"]["first_byte_ms"], abs=150)


def test_what_is_put_in_line_too_early_lowat_cannot_help(run: Runs) -> None:
    """spdy-transport's scheduler writes each frame as soon as it exists, so the order is inverted with LOWAT, too."""
    done = run(*_BOTH)
    control, treatment = done.arm("spdy-control"), done.arm("spdy-lowat-131072")
    assert (control["verdict"], treatment["verdict"]) == ("inverted", "inverted")
    assert treatment["script"]["first_byte_ms"] == pytest.approx(control["script"]["first_byte_ms"], abs=150)
    assert treatment["observed"]["notsent_most_bytes"] < control["observed"]["notsent_most_bytes"] / 2


@pytest.mark.parametrize(("priority", "share"), [("spdy", 1), ("swap", 0)])
def test_a_probe(run: Runs, priority: str, share: int) -> None:
    """In a probe the resource with the lower SPDY level, which is more urgent, gets the whole window."""
    arm = run("SCENARIO=probe", "SERVER=spdy-strict", f"PRIORITY={priority}").arm("probe")
    assert arm["probe"]["script_share"] == pytest.approx(share, abs=0.01)
