"""The needs of the extra's targets of the machine."""

from tests.support.make_targets import set_up


def test_what_they_need() -> None:
    """`make demo` installs the demo's web server."""
    assert set_up("demo") == ["demo"]
