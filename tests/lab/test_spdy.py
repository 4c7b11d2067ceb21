"""The article's effect over the article's protocol, in the guest."""

import pytest

from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest", "npm")

_BOTH = ("SERVER=spdy,spdy-strict", "LOWAT=131072", "SAMPLE=100ms")
"""Both fronts in one experiment: they share a guest."""


def test_levels_are_kept_with_lowat_alone(run: Runs) -> None:
    """A front that orders strictly: late by seconds without LOWAT, as nginx is over HTTP/2, and early with it."""
    done = run(*_BOTH)
    control, treatment = done.arm("spdy-strict-control"), done.arm("spdy-strict-lowat-131072")
    assert (control["verdict"], treatment["verdict"]) == ("inverted", "kept")
    assert control["script"]["first_byte_ms"] > 5500
    assert treatment["script"]["first_byte_ms"] < 3200
    assert treatment["script"]["last_byte_ms"] < treatment["image"]["last_byte_ms"] - 3000


def test_it_is_as_over_http2(run: Runs) -> None:
    """The protocol is not what decides: first bytes are within half a TLS record's time of nginx's."""
    for arm in ("control", "lowat-131072"):
        spdy, http2 = run(*_BOTH).arm(f"spdy-strict-{arm}"), run("LOWAT=131072").arm(arm)
        assert spdy["script"]["first_byte_ms"] == pytest.approx(http2["script"]["first_byte_ms"], abs=150)


def test_what_is_put_in_line_too_early_lowat_cannot_help(run: Runs) -> None:
    """The package hands over everything as soon as it has it: inverted with LOWAT as without."""
    done = run(*_BOTH)
    control, treatment = done.arm("spdy-control"), done.arm("spdy-lowat-131072")
    assert (control["verdict"], treatment["verdict"]) == ("inverted", "inverted")
    assert treatment["script"]["first_byte_ms"] == pytest.approx(control["script"]["first_byte_ms"], abs=150)
    assert treatment["observed"]["notsent_most_bytes"] < control["observed"]["notsent_most_bytes"] / 2


@pytest.mark.parametrize(("priority", "share"), [("spdy", 1), ("swap", 0)])
def test_a_probe(run: Runs, priority: str, share: int) -> None:
    """Whoever has the lower level gets all of the window."""
    arm = run("SCENARIO=probe", "SERVER=spdy-strict", f"PRIORITY={priority}").arm("probe")
    assert arm["probe"]["script_share"] == pytest.approx(share, abs=0.01)
