"""The needs of the extra's targets of the machine."""

from tests.support.make_targets import set_up


def test_what_they_need() -> None:
    """In containers `make reproduce` needs only the Python environment."""
    assert set_up("reproduce") == [""]
    assert set_up("reproduce", "FABRIC=compose") == ["environment"]
