"""Tests of a Docker engine that answers slowly: what fails, and with which message."""

from collections.abc import Sequence
from typing import Any

import pytest

from priolab.common.errors import StepFailed, TimedOut, Unavailable
from priolab.common.process import processes
from priolab.common.running import TookTooLong
from priolab.experiments.execution import experiment
from priolab.experiments.hosts.containers import docker_engine, image_packages

_look_for_compose = docker_engine.compose_command.__wrapped__
"""Looks for compose anew at each call."""


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every command exceed its time limit."""

    def run(command: Sequence[str], *, step: str, timeout_s: float, if_too_slow: str = "", **_: Any) -> str:
        raise TimedOut(step, " ".join(command), timeout_s, if_too_slow)

    monkeypatch.setattr(processes, "run", run)
    monkeypatch.setattr(docker_engine, "find", lambda name: name)
    monkeypatch.delenv("DOCKER_HOST", raising=False)


def test_what_takes_too_long_says_what_can_be_done() -> None:
    """The error names the remedy in the same line."""
    with pytest.raises(TimedOut, match=r"sleep 60 took more than 0.05 s; try again when this machine is less busy$"):
        processes.run(["sleep", "60"], step="waiting", timeout_s=0.05)


@pytest.mark.usefixtures("slow")
def test_a_slow_version_stops_nothing() -> None:
    """A version that cannot be read in time is unknown, with the reason."""
    unknown = "unknown: the program took more than 120 s to print its version"
    assert image_packages.versions([("image", "nodejs")]) == [unknown]
    assert docker_engine.version_told() == unknown


@pytest.mark.usefixtures("slow")
def test_an_engine_that_does_not_answer_in_time() -> None:
    """The remedy for an engine that answers too late differs from that for a missing engine."""
    with pytest.raises(Unavailable, match=r"did not answer within 30 s; see whether the engine answers"):
        docker_engine.check()
    with pytest.raises(TimedOut, match=r"docker info took more than 120 s; see whether the engine answers"):
        docker_engine.docker("info")


def test_a_slow_compose_is_not_a_missing_one(monkeypatch: pytest.MonkeyPatch, slow: None) -> None:
    """If the plugin of docker is slow, the older program is used; without it the error gives the time."""
    del slow
    assert _look_for_compose() == ("docker-compose",)
    monkeypatch.setattr(docker_engine, "find", lambda _: None)
    with pytest.raises(Unavailable, match=r"`docker compose version` took more than 30 s; see whether"):
        _look_for_compose()


def test_no_compose(monkeypatch: pytest.MonkeyPatch) -> None:
    """If docker has no plugin, and the older program is missing, the error says what to install."""

    def run(*_: Any, step: str, **__: Any) -> str:
        raise StepFailed(step, "'compose' is not a docker command")

    monkeypatch.setattr(processes, "run", run)
    monkeypatch.setattr(docker_engine, "find", lambda _: None)
    with pytest.raises(Unavailable, match="neither `docker compose` nor docker-compose is installed"):
        _look_for_compose()


def test_a_job_does_not_look_for_compose(monkeypatch: pytest.MonkeyPatch, slow: None) -> None:
    """The process of a run takes the command of compose from its environment, and starts no program to find it."""
    del slow
    monkeypatch.setenv(docker_engine.ARM_COMPOSE, "docker compose")
    assert _look_for_compose() == ("docker", "compose")


def test_a_slow_git_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The git revision is None if git takes too long."""

    def run(*_: Any, **__: Any) -> None:
        raise TookTooLong(["git"], 30)

    monkeypatch.setattr(experiment, "finished", run)
    assert experiment.git_revision() is None
