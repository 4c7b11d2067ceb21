"""The article's effect over SPDY, the article's protocol, in the guest."""

import pytest

from tests.support.lab import Done
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.usefixtures("guest", "npm")

_ARMS = {
    "spdy-control": ("SERVER=spdy", "LOWAT=none"),
    "spdy": ("SERVER=spdy",),
    "strict-control": ("SERVER=spdy-strict", "LOWAT=none"),
    "strict": ("SERVER=spdy-strict",),
    "http2-control": ("LOWAT=none",),
    "http2": (),
    "probe-spdy": ("SCENARIO=probe", "SERVER=spdy-strict", "PRIORITY=spdy"),
    "probe-swap": ("SCENARIO=probe", "SERVER=spdy-strict", "PRIORITY=swap"),
}


def _done(run: Runs) -> Done:
    """Returns an experiment with both fronts, with nginx over HTTP/2, and with probes; all arms share a guest."""
    return run.together(_ARMS, "RELOADS=0", "SAMPLE=100ms")


def test_levels_are_kept_with_lowat_alone(run: Runs) -> None:
    """A strict front sends the script seconds late without LOWAT, as nginx does over HTTP/2, and early with LOWAT."""
    control, treatment = _done(run).arm("strict-control"), _done(run).arm("strict")
    assert (control["verdict"], treatment["verdict"]) == ("inverted", "kept")
    assert control["script"]["first_byte_ms"] > 5500
    assert treatment["script"]["first_byte_ms"] < 3200
    assert treatment["script"]["last_byte_ms"] < treatment["image"]["last_byte_ms"] - 3000


def test_it_is_as_over_http2(run: Runs) -> None:
    """The script's first byte over SPDY and over nginx's HTTP/2 differ by at most 150 ms, the time of a TLS record."""
    for suffix in ("-control", ""):
        spdy, http2 = (_done(run).arm(f"{name}{suffix}") for name in ("strict", "http2"))
        assert spdy["script"]["first_byte_ms"] == pytest.approx(http2["script"]["first_byte_ms"], abs=150)


def test_what_is_put_in_line_too_early_lowat_cannot_help(run: Runs) -> None:
    """spdy-transport's scheduler writes each frame as soon as it exists, so the order is inverted with LOWAT, too."""
    control, treatment = _done(run).arm("spdy-control"), _done(run).arm("spdy")
    assert (control["verdict"], treatment["verdict"]) == ("inverted", "inverted")
    assert treatment["script"]["first_byte_ms"] == pytest.approx(control["script"]["first_byte_ms"], abs=150)
    assert treatment["observed"]["notsent_most_bytes"] < control["observed"]["notsent_most_bytes"] / 2


@pytest.mark.parametrize(("priority", "share"), [("spdy", 1), ("swap", 0)])
def test_a_probe(run: Runs, priority: str, share: int) -> None:
    """In a probe the resource with the lower SPDY level, which is more urgent, gets the whole window."""
    arm = _done(run).arm(f"probe-{priority}")
    assert arm["probe"]["script_share"] == pytest.approx(share, abs=0.01)
