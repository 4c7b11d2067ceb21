"""Tests of the words that say why a kernel has no netem."""

import pytest

from priolab.netem.availability import TRIAL, lack_of_netem

_NONE = "this kernel has no sch_netem"


def test_the_trial_undoes_itself() -> None:
    """The qdisc added to test for netem is deleted again."""
    added, deleted = TRIAL
    assert (added[2], deleted[2]) == ("add", "del")
    assert added[3:6] == deleted[3:6]


@pytest.mark.parametrize(
    ("said", "lack"),
    [
        ("tc qdisc ended with 2: Error: Specified qdisc kind is unknown.", _NONE),
        ("tc qdisc ended with 2: RTNETLINK answers: No such file or directory", _NONE),
        ("unshare ended with 127: unshare: failed to execute tc: No such file or directory", None),
        ("tc qdisc ended with 2: RTNETLINK answers: Operation not permitted", None),
        ("tc is not installed", None),
    ],
)
def test_only_the_kernel_can_say_that_it_has_no_netem(said: str, lack: str | None) -> None:
    """netem is reported as missing only if the kernel refused the qdisc. Other errors are reported as they are."""
    assert lack_of_netem(said) == (lack or f"unknown if this kernel has sch_netem: {said}")
