"""Tests of LOWAT=auto on machines where the tuner's BPF program cannot be used."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from priolab.experiments.host.tuner_program import prepare

from priolab.common.tuning import TunerKind
from priolab.experiments.errors import Unavailable
from priolab.experiments.host.tools import TunerOrder
from priolab.experiments.testbed.namespaces import front_tuner
from priolab.experiments.testbed.namespaces.front_tuner import FrontTuner
from priolab.proxy.tuner import compiler
from priolab.proxy.tuner.tuner import CannotTune


@contextmanager
def _no_group(_: str) -> Iterator[Path]:
    raise OSError(1, "no cgroup2 can be mounted")
    yield


@pytest.fixture
def no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine on which no cgroup can be made."""
    monkeypatch.setattr(front_tuner, "own_group", _no_group)


@pytest.mark.usefixtures("no_group")
def test_without_a_cgroup() -> None:
    """The front starts without a cgroup, but TUNER=bpf raises Unavailable."""
    with FrontTuner(TunerOrder(program="sock_ops.o"), "name").group() as group:
        assert group is None
    must = FrontTuner(TunerOrder(kind="bpf", program="sock_ops.o"), "name")
    with pytest.raises(Unavailable, match="TUNER=bpf cannot be used here: no cgroup2"), must.group():
        pass


@pytest.mark.usefixtures("no_group")
def test_who_needs_no_cgroup() -> None:
    """The user-space tuner needs no cgroup."""
    with FrontTuner(TunerOrder(), "name").group() as group:
        assert group is None


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order gives the reason for the user-space tuner. TUNER=bpf raises Unavailable with the remedy.
    The user-space tuner needs no compiler, so the order has no reason.
    """

    def lacking(_: Path) -> Path:
        raise CannotTune("no compiler for BPF is installed", compiler.REMEDY)

    monkeypatch.setattr(compiler, "compiled", lacking)
    order = prepare(None)
    assert order.program is None
    assert order.lack == "no compiler for BPF is installed (install gcc-bpf and libbpf-dev)"
    with pytest.raises(Unavailable, match=r"TUNER=bpf .*; install gcc-bpf and libbpf-dev, or use TUNER=userland"):
        prepare(TunerKind.BPF)
    assert prepare(TunerKind.USERLAND).lack is None


@pytest.mark.parametrize(
    ("kind", "in_kernel", "cautious"),
    [
        (None, False, False),
        ("bpf", True, False),
        ("userland", False, False),
        ("cautious-bpf", True, True),
        ("cautious-userland", False, True),
    ],
)
def test_what_a_kind_demands(kind: str | None, *, in_kernel: bool, cautious: bool) -> None:
    """A named tuner is used or the run is refused; only without a name may another kind take its place."""
    order = TunerOrder(kind=kind)
    assert (order.must_be_bpf, order.must_be_userland) == (in_kernel, kind is not None and not in_kernel)
    assert order.is_cautious == cautious
