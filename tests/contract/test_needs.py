"""Needs of tests: what they need of the machine, by the mark `needs`."""

from collections.abc import Mapping, Sequence

import pytest

from priolab.common.home import ROOT
from priolab.experiments.setup.setup_request import CORE
from tests.support import selection
from tests.support.capabilities import EVERYTHING, expected, is_needed_by_core, known, names
from tests.support.selection import wrong_needs


def test_each_name_is_looked_for() -> None:
    """The names that marks may have are those for which this machine is examined."""
    assert names() == known().keys()


def test_what_ci_expects() -> None:
    """PRIOLAB_EXPECT is a list of names, or stands for all that CI must have."""
    assert expected("") == set()
    assert expected("h2o,curl") == {"h2o", "curl"}
    assert {"h2o", "curl", "nginx", "fabric-compose", "spdy"} <= expected(EVERYTHING) <= names()
    assert "EXPECT=everything" in (ROOT / ".ci/run").read_text()


def test_the_core_needs_no_more_than_an_experiment() -> None:
    """The core's tests may need nginx, Node and the guest, and no other server, browser or program."""
    assert all(map(is_needed_by_core, ("nginx", "node", "fabric-virtual", "root", "bpf")))
    assert not any(map(is_needed_by_core, ("h2o", "caddy", "chromium", "tcpdump", "gcc", "go", "fabric-compose")))
    assert selection.CORE == CORE


@pytest.mark.parametrize(
    ("said", "marked", "wrong"),
    [
        (["h2o"], {"a": ["h2o"], "b": []}, None),
        (["h2o"], {"a": ["curl", "h2o"]}, "a needs curl, which `tests_need` in extras/mine/extra.toml lacks"),
        (
            ["curl", "h2o"],
            {"a": ["h2o"]},
            "`tests_need` in extras/mine/extra.toml has curl, which none of its tests needs",
        ),
    ],
)
def test_an_extra_says_what_its_tests_need(
    said: Sequence[str], marked: Mapping[str, Sequence[str]], wrong: str | None
) -> None:
    """What an extra says is what its tests' marks say, no less, and if all of its tests are there, no more."""
    assert wrong_needs("mine", said, marked, all_are=True) == wrong
    if wrong and "none of its tests" in wrong:
        assert wrong_needs("mine", said, marked, all_are=False) is None
