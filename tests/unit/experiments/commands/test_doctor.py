"""Tests of the doctor's findings on the guest, and on programs that answer slowly."""

import hashlib
import platform
import threading
from pathlib import Path

import pytest

from priolab.common.errors import Unavailable
from priolab.common.running import TookTooLong
from priolab.experiments.commands import doctor
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.guest_kernel import built_kernel
from priolab.experiments.hosts.virtual import Virtual
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.setup import programs
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.guest import kernel

_RECORD = kernel.BuildRecord(
    version="7.2.13",
    source="",
    compiler="",
    changes=["one", "two"],
    lacking=["three"],
    stands_in=False,
    sha256=hashlib.sha256().hexdigest(),
)


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a path for the guest kernel, where no file exists yet."""
    path = tmp_path / "linux-7.2-0"
    monkeypatch.setattr(kernel, "path", lambda: path)
    return path


@pytest.mark.usefixtures("image")
def test_a_missing_kernel_is_one_cause() -> None:
    """If the guest kernel is missing, netem needs the guest kernel, and is not reported as missing from it."""
    found, netem = doctor._guest()
    assert (found.detail, found.remedy) == ("not built", "`make kernel`")
    assert (netem.present, netem.detail, netem.remedy) == (False, "needs the guest kernel", "`make kernel`")
    assert dict(Virtual().shapers())[Shaper.NETEM] == "needs the guest kernel"


@pytest.mark.usefixtures("image")
def test_another_processor_has_no_guests(monkeypatch: pytest.MonkeyPatch) -> None:
    """On arm64 the doctor, FABRIC=virtual and `make kernel` name the fabrics that work there, and nothing is built."""
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    lack, remedy = "User-Mode Linux exists for x86-64 Linux only", "use FABRIC=compose or FABRIC=netns"
    assert [(part.present, part.detail, part.remedy) for part in doctor._guest()] == [(False, lack, remedy)] * 2
    with pytest.raises(Unavailable, match=f"^FABRIC=virtual cannot be used here: {lack}; {remedy}$"):
        Virtual().check_usable(scenario_from({}), None)
    with pytest.raises(Unavailable, match=f"^the guest kernel cannot be used here: {lack}; {remedy}$"):
        built_kernel(Report())


@pytest.mark.parametrize(("offers", "lack"), [(True, None), (False, "the guest kernel has no sch_netem")])
def test_a_kernel_is_asked(monkeypatch: pytest.MonkeyPatch, image: Path, *, offers: bool, lack: str | None) -> None:
    """The doctor reports whether the guest kernel has netem."""
    image.touch()
    kernel._write(image, _RECORD)
    monkeypatch.setattr(kernel, "offers", lambda _: offers)
    found, netem = doctor._guest()
    assert found.present
    assert found.detail.startswith(
        "Linux 7.2.13; 2 changes of the source (one, two); changes not applied, which would make runs faster: three; "
    )
    assert (netem.present, netem.detail) == (offers, lack or "sch_netem")
    assert dict(Virtual().shapers())[Shaper.NETEM] == lack


def test_the_slower_way_in_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """If programs enter the guest kernel by ptrace, the doctor says that runs take longer, and gives the reason."""
    monkeypatch.setattr(kernel, "why_ptrace", lambda: "this system refuses seccomp(2): EPERM")
    assert doctor._entry() == (
        "entered by ptrace, so runs take about twice as long: this system refuses seccomp(2): EPERM"
    )


def test_a_guest_kernel_that_is_slow_to_answer(monkeypatch: pytest.MonkeyPatch, image: Path) -> None:
    """If the guest kernel does not list its options in time, the doctor reports the time limit and proposes a retry."""
    image.touch()
    kernel._write(image, _RECORD)

    def offers(_: str) -> bool:
        raise TookTooLong(["linux"], 10)

    monkeypatch.setattr(kernel, "offers", offers)
    _, netem = doctor._guest()
    assert not netem.present
    assert netem.detail.startswith("the guest kernel took more than 10 s to list its options; try again")


def test_a_program_that_is_slow_to_tell_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that does not print its version in time is present, with an unknown version."""
    (tmp_path / "slow").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "slow").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(programs, "_PATIENCE_S", 0.1)
    (found,) = doctor._program("slow", "slow-package", "--version")
    assert (found.present, found.detail) == (True, "unknown: the program took more than 0.1 s to print its version")


def test_programs_are_asked_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor asks programs for their versions side by side, so that several slow programs take no longer than one.
    Here no program answers before all three have been started.
    """
    together = threading.Barrier(3)

    def version(*_: str) -> str:
        together.wait(timeout=10)
        return "1.0"

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor, "find", lambda name: f"/usr/bin/{name}" if name in ("node", "tc", "gcc") else None)
    found = {finding.name: finding.detail for finding in doctor.examine()}
    assert [found[name] for name in ("node", "tc", "gcc", "ethtool")] == ["1.0", "1.0", "1.0", "not installed"]
