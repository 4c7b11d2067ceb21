"""What the doctor says about the guest."""

from pathlib import Path

import pytest

from experiments import doctor
from experiments.fabrics.virtual import Virtual
from experiments.guest import kernel
from netem.shaper import Shaper

_RECORD = kernel.Record(
    version="7.2.13", source="", compiler="", changes=["one", "two"], lacking=["three"], stands_in=False
)


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the guest kernel would be."""
    path = tmp_path / "linux-7.2-0"
    monkeypatch.setattr(kernel, "path", lambda: path)
    return path


@pytest.mark.usefixtures("image")
def test_a_missing_kernel_is_one_cause() -> None:
    """Nothing is said about what a kernel offers that is not there."""
    found, netem = doctor._guest()
    assert (found.detail, found.remedy) == ("not built", "make kernel")
    assert (netem.present, netem.detail, netem.remedy) == (False, "needs the guest kernel", "make kernel")
    assert dict(Virtual().shapers())[Shaper.NETEM] == "needs the guest kernel"


@pytest.mark.parametrize(("offers", "lack"), [(True, None), (False, "the guest kernel has no sch_netem")])
def test_a_kernel_is_asked(monkeypatch: pytest.MonkeyPatch, image: Path, *, offers: bool, lack: str | None) -> None:
    """One that is there has netem or has not."""
    image.touch()
    kernel._write(image, _RECORD)
    monkeypatch.setattr(kernel, "offers", lambda _: offers)
    found, netem = doctor._guest()
    assert found.present
    assert found.detail.startswith("Linux 7.2.13; 2 changes in force (one, two); lacking, which costs time: three; ")
    assert (netem.present, netem.detail) == (offers, lack or "sch_netem")
    assert dict(Virtual().shapers())[Shaper.NETEM] == lack


def test_the_slower_way_in_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its cost and the reason."""
    monkeypatch.setattr(kernel, "why_ptrace", lambda: "this system refuses seccomp(2): EPERM")
    assert doctor._entry() == (
        "entered by ptrace, so runs take about twice as long: this system refuses seccomp(2): EPERM"
    )
