"""What the doctor says about the guest."""

from pathlib import Path

import pytest

from experiments import doctor
from experiments.fabrics.virtual import Virtual
from experiments.guest import kernel
from netem.shaper import Shaper


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the guest kernel would be."""
    path = tmp_path / "linux-6.1-0"
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
    monkeypatch.setattr(kernel, "offers", lambda _: offers)
    found, netem = doctor._guest()
    assert found.present
    assert (netem.present, netem.detail) == (offers, lack or "sch_netem")
    assert dict(Virtual().shapers())[Shaper.NETEM] == lack
