"""The needs of the extra's targets of the machine."""

from tests.support.make_targets import set_up


def test_what_they_need() -> None:
    """`make notebook` installs JupyterLab."""
    assert set_up("notebook") == ["notebook"]
