"""Whom real servers serve when nothing but the client's window is in their way."""

import pytest

from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest")


def share(run: Runs, *words: str) -> float:
    """The script's, in a probe."""
    (arm,) = (run("SCENARIO=probe", *words).summary or {"arms": []})["arms"]
    assert arm["status"] == "ok", arm["reason"]
    found: float = arm["probe"]["script_share"]
    return found


@pytest.mark.parametrize("dialect", ["plain", "chrome", "firefox", "safari", "plain+reprioritize"])
def test_nginx_is_strict(run: Runs, dialect: str) -> None:
    """However the tree is said, whoever is asked for first has the window to himself."""
    assert share(run, f"DIALECT={dialect}") > 0.99
    assert share(run, f"DIALECT={dialect}", "PRIORITY=swap") < 0.01


def test_nginx_knows_no_header_field(run: Runs) -> None:
    """RFC 9218 asked the one way or the other comes to the same as not asked at all."""
    shares = {share(run, "DIALECT=header", f"PRIORITY={each}") for each in ("spdy", "swap", "none")}
    assert len(shares) == 1


@pytest.mark.parametrize(
    ("dialect", "weights"),
    [("plain", (183, 147)), ("safari", (24, 8)), ("firefox", (32, 1)), ("reprioritize", (183, 147))],
)
def test_h2o_is_proportional(run: Runs, dialect: str, weights: tuple[int, int]) -> None:
    """The window is divided as the weights are."""
    high, low = weights
    fair = high / (high + low)
    assert share(run, "SERVER=h2o", f"DIALECT={dialect}") == pytest.approx(fair, abs=0.06)
    assert share(run, "SERVER=h2o", f"DIALECT={dialect}", "PRIORITY=swap") == pytest.approx(1 - fair, abs=0.06)


def test_h2o_honours_a_chain(run: Runs) -> None:
    """A stream that depends on another waits for it."""
    assert share(run, "SERVER=h2o", "DIALECT=chrome") > 0.95
    assert share(run, "SERVER=h2o", "DIALECT=chrome", "PRIORITY=swap") < 0.05
