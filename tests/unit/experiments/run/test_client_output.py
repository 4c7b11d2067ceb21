"""Tests of the client's output while it runs."""

import os

import pytest

from priolab.experiments.run.client_output import Listening


class Heard:
    """A record of lines and of loads that began."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.loads: list[tuple[int, int]] = []

    def began(self, number: int, t_ns: int) -> None:
        self.loads.append((number, t_ns))


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_loads_are_told_and_the_rest_is_passed_on(heard: Heard) -> None:
    """Loads are recorded and other lines passed on, in order, also if a line arrives in pieces."""
    with Listening(pass_on=heard.lines.append, began=heard.began) as listening:
        assert not listening.hear()
        os.write(listening.writing, b"@ load 1 of 2\nbegan 1 12345\n@ load 2 of 2\nbeg")
        assert listening.hear()
        assert (heard.lines, heard.loads) == (["@ load 1 of 2", "@ load 2 of 2"], [(1, 12345)])
        os.write(listening.writing, b"an 2 67890\nbegan later\n")
        assert listening.hear()
        assert (heard.lines[2:], heard.loads[1:]) == (["began later"], [(2, 67890)])


def test_nobody_is_waited_for_who_has_ended(heard: Heard) -> None:
    """After the last writer has closed its end, there is nothing to wait for."""
    with Listening(pass_on=heard.lines.append, began=heard.began) as listening:
        assert len(listening.waited_for) == 1
        listening.started()
        assert not listening.hear()
        assert listening.waited_for == []
        assert not listening.hear()


def test_the_end_wakes_nobody(heard: Heard) -> None:
    """The end of the loads is reported, but is not heard: the samplers, called at once, would move the clock."""
    ends: list[bool] = []
    with Listening(pass_on=heard.lines.append, began=heard.began, ended=lambda: ends.append(True)) as listening:
        os.write(listening.writing, b"ended\n")
        assert not listening.hear()
        assert (ends, heard.lines) == ([True], [])
