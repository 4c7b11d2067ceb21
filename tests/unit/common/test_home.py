"""Tests of the paths of the lab's own files, in a clone and in an installation."""

import pytest

from priolab.common import home


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this an installed lab."""
    monkeypatch.setattr(home, "is_clone", lambda: False)


def test_this_is_a_clone() -> None:
    """In a clone messages name make."""
    assert home.is_clone()
    assert home.IMPORTED_FROM == home.ROOT
    assert home.setup_command() == "`make setup`"
    assert home.setup_command("SERVER=h2o") == "`make setup SERVER=h2o`"
    assert home.kernel_command() == "`make kernel`"
    assert home.kernel_command("/k.tar.gz") == "`make kernel KERNEL=/k.tar.gz`"
    assert home.run_command("TRACE=t") == "make experiment TRACE=t"


@pytest.mark.usefixtures("installed")
def test_an_installed_lab_has_no_make() -> None:
    """Messages of an installed lab name `priolab` and not make."""
    assert home.setup_command("SERVER=h2o") == "`priolab setup SERVER=h2o`"
    assert home.kernel_command() == "`priolab kernel`"
    assert home.kernel_command("/k.tar.gz") == "`PRIOLAB_KERNEL=/k.tar.gz priolab kernel`"
    assert home.run_command("TRACE=t") == "priolab run TRACE=t"
