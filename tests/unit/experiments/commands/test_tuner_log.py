"""Tests of the lines that `priolab tune` prints for a connection's changes of LOWAT."""

from dataclasses import replace

import pytest

from priolab.common.formats.decisions import Decision, refused
from priolab.experiments.commands.tuner_log import DecisionPrinter
from tests.unit.proxy.tuner.decisions import DECISION

_S = 10**9


@pytest.fixture
def said() -> list[str]:
    """Return the list of printed lines."""
    return []


@pytest.fixture
def lines(said: list[str]) -> DecisionPrinter:
    """Return a printer that appends to the list."""
    return DecisionPrinter(said.append)


def _change(t_ns: int, old_bytes: int, new_bytes: int) -> Decision:
    return replace(DECISION, t_ns=t_ns, old_bytes=old_bytes, new_bytes=new_bytes)


def _changes(said: list[str]) -> list[str]:
    return [line.split(": LOWAT ")[1].split(" bytes")[0] for line in said]


def test_a_change_at_once_and_the_rest_as_one(lines: DecisionPrinter, said: list[str]) -> None:
    """A connection's first change is printed at once.
    Later changes of the same second are printed as one at its end.
    """
    lines.note(_change(0, 0, 10_000))
    lines.note(_change(1, 10_000, 20_000))
    lines.note(_change(2, 20_000, 40_000))
    assert lines.look(3) == _S
    assert _changes(said) == ["unset -> 10000"]
    assert lines.look(_S) == 2 * _S
    assert _changes(said) == ["unset -> 10000", "10000 -> 40000"]
    lines.note(_change(_S + 1, 40_000, 80_000))
    lines.look(2 * _S)
    assert _changes(said)[2:] == ["40000 -> 80000"]


def test_a_change_that_is_undone(lines: DecisionPrinter, said: list[str]) -> None:
    """A change that is undone within the second is not printed.
    After a second without changes, the next is printed at once.
    """
    lines.note(_change(0, 0, 67_108_864))
    lines.note(_change(1, 67_108_864, 393_216))
    lines.note(_change(2, 393_216, 67_108_864))
    lines.look(_S)
    assert _changes(said) == ["unset -> 67108864"]
    lines.note(_change(_S + 1, 67_108_864, 393_216))
    assert _changes(said)[1:] == ["67108864 -> 393216"]


def test_each_connection_by_itself(lines: DecisionPrinter, said: list[str]) -> None:
    """The first change of each connection is printed at once. A refused change is always printed at once."""
    lines.note(_change(0, 0, 10_000))
    lines.note(replace(_change(1, 0, 20_000), peer_port=1))
    lines.note(replace(_change(2, 10_000, 30_000), outcome=refused("x")))
    assert _changes(said) == ["unset -> 10000", "unset -> 20000", "10000 -> 30000"]
