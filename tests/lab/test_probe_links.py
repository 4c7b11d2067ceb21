"""A probe shows the front's scheduler whatever the link: its pauses follow the link's round trip and rate."""

from collections.abc import Mapping

import pytest

from tests.support.lab import Done
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.usefixtures("guest")

_PAGE = """\
title = "two downloads, weights 200 and 50"
ready = "the heavy one is complete"

[[resource]]
name = "light"
type = "application/octet-stream"
size = "256k"
weight = 50

[[resource]]
name = "heavy"
type = "application/octet-stream"
size = "256k"
weight = 200
important = true
"""
_LINKS: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "delay": ("RATE=unlimited",),
    "rate": ("DELAY=0ms",),
    "up": ("RATE=100mbit", "DELAY=0ms", "DELAY_UP=200ms"),
    "slow": ("RATE=64kbit",),
    "jitter": ("RATE=2mbit", "DELAY=20ms", "JITTER=20ms"),
    "short-queue": ("QUEUE=3",),
    "codel": ("QDISC=fq_codel", "DELAY=10ms"),
    "second-front": ("RATE=unlimited", "DELAY=0ms", "VIA=nginx", "VIA_RATE=2mbit", "VIA_DELAY=50ms"),
}
_STEP = 0.025
"""The share of the window of one step: both resources are 64 steps long, and the heavy one ends after 41."""


def _done(run: Runs) -> Done:
    page = run.lab.root / "weights.toml"
    page.write_text(_PAGE)
    arms: dict[str, tuple[str, ...]] = {
        f"{server}-{name}": (f"SERVER={server}", *words)
        for server in ("h2o", "nginx")
        for name, words in _LINKS.items()
    }
    arms |= {f"{server}-none": (f"SERVER={server}", "SCENARIO=probe") for server in ("h2o", "nginx")}
    return run.together(arms, f"PAGE={page}", "PLAN=probe", "RELOADS=0", "SAMPLE=none")


def _share(done: Done, arm: str) -> float:
    found = done.arm(arm)
    assert found["status"] == "ok", found["reason"]
    return float(found["probe"]["important_share"])


@pytest.mark.parametrize("link", _LINKS)
def test_a_share_does_not_depend_on_the_link(run: Runs, link: str) -> None:
    """h2o gives weight 200 four fifths beside weight 50, and nginx all, as over no link at all."""
    done = _done(run)
    assert _share(done, f"h2o-{link}") == pytest.approx(_share(done, "h2o-none"), abs=_STEP)
    assert _share(done, f"h2o-{link}") == pytest.approx(0.8, abs=2 * _STEP)
    assert _share(done, f"nginx-{link}") == _share(done, "nginx-none") == 1


@pytest.mark.usefixtures("npm")
def test_over_spdy(run: Runs) -> None:
    """Over SPDY the levels are kept on the default link, too."""
    done = run.together({"spdy": ("SERVER=spdy-strict",)}, "PLAN=probe", "RELOADS=0", "SAMPLE=none")
    assert _share(done, "spdy") == 1


@pytest.mark.needs("caddy-h3@2.11.7")
def test_over_http3(run: Runs) -> None:
    """Over HTTP/3 the default link gives the share that no link gives, within two steps."""
    words = ("SERVER=caddy-h3@2.11.7", "DIALECT=header")
    arms = {"link": words, "none": ("SCENARIO=probe", *words)}
    done = run.together(arms, "SIZE=384K", "PLAN=probe", "RELOADS=0", "SAMPLE=none")
    assert _share(done, "link") == pytest.approx(_share(done, "none"), abs=2 * _STEP)


def test_the_plan_is_the_same_without_a_link(run: Runs) -> None:
    """Without rate and delay a pause is 10 ms; the plan names a longer one for a link."""
    done = _done(run)
    assert done.folder is not None
    plans = {link: (done.folder / f"nginx-{link}.1/client/plan.json").read_text() for link in ("none", "default")}
    assert '"quiet_ns": 10000000,' in plans["none"]
    assert '"quiet_ns": 10000000,' not in plans["default"]
