"""Tests of the first experiment on a machine: in real time where possible, with the guest kernel built afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from priolab.common.errors import StepFailed, Unavailable
from priolab.experiments.commands import first_run
from priolab.experiments.commands.console import Report
from priolab.experiments.hosts.namespaces.netns import Netns
from priolab.testbed.guest import guest_requirements, kernel


@dataclass(frozen=True)
class _RunSettings:
    fabric: Netns = field(default_factory=Netns)
    fabric_reason: str = "as asked"


@dataclass(frozen=True)
class _Request:
    """The part of a request that these tests need."""

    run_settings: _RunSettings = field(default_factory=_RunSettings)


class _Saying(Report):
    """A report that records its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def say(self, text: str, style: str = "", *, whole: bool = False) -> None:
        del style, whole
        self.said.append(text)

    def complain(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str]]:
    """Return the list of requested knobs, on a machine without a guest kernel."""
    requests: list[Mapping[str, str]] = []

    def request_from(words: Mapping[str, str]) -> _Request:
        requests.append(dict(words))
        return _Request()

    monkeypatch.setattr(first_run, "request_from", request_from)
    monkeypatch.setattr(guest_requirements, "builds_guests", lambda: True)
    monkeypatch.setattr(kernel, "is_built", lambda: False)
    return requests


def _fail() -> None:
    raise AssertionError("nothing is to be built yet")


@pytest.mark.parametrize("fabric", [{}, {"FABRIC": "auto"}])
def test_the_picture_comes_first(asked: list[Mapping[str, str]], fabric: Mapping[str, str]) -> None:
    """The first experiment runs in real time, with a message, and the kernel is built afterwards."""
    report = _Saying()
    first = first_run.first_run({"LOWAT": "131072", **fabric}, report, _fail)
    assert first.builds_afterwards
    assert (
        first.request.run_settings.fabric_reason
        == "real clocks, without containers; virtual: the guest kernel is not built"
    )
    assert asked == [{"LOWAT": "131072", "FABRIC": "netns"}]
    assert "the guest kernel is not built yet" in report.said[0]


def test_where_there_are_no_namespaces_the_kernel_is_built_first(
    monkeypatch: pytest.MonkeyPatch, asked: list[Mapping[str, str]]
) -> None:
    """The kernel is built first if there are no namespaces or FABRIC=virtual is given."""

    def request_from(words: Mapping[str, str]) -> Any:
        asked.append(dict(words))
        if words.get("FABRIC") == "netns":
            raise Unavailable("FABRIC=netns", "no namespaces", "another")
        return _Request()

    monkeypatch.setattr(first_run, "request_from", request_from)
    built: list[str] = []
    for words in ({}, {"FABRIC": "virtual"}):
        first = first_run.first_run(words, _Saying(), lambda: built.append("kernel"))
        assert not first.builds_afterwards
        assert asked[-1] == words
    assert built == ["kernel", "kernel"]


@pytest.mark.parametrize(("fabric", "is_built"), [("netns", False), ("compose", False), ("auto", True)])
def test_nothing_is_built_for_those_who_need_no_kernel(
    monkeypatch: pytest.MonkeyPatch, asked: list[Mapping[str, str]], fabric: str, *, is_built: bool
) -> None:
    """No kernel is built for another fabric, or if there is one."""
    monkeypatch.setattr(kernel, "is_built", lambda: is_built)
    first = first_run.first_run({"FABRIC": fabric}, _Saying(), _fail)
    assert not first.builds_afterwards
    assert asked == [{"FABRIC": fabric}]


def test_a_build_that_fails_afterwards_is_told() -> None:
    """A failed build after the experiment is reported and not raised."""
    report = _Saying()

    def build() -> None:
        raise StepFailed("building the guest kernel", "no compiler today")

    first_run.build_afterwards(report, build)
    assert report.said[-1].startswith(
        "building the guest kernel: no compiler today; later experiments run in real time"
    )
