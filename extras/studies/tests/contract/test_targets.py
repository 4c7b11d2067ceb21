"""The needs of the extra's targets of the machine."""

from tests.support.make_targets import set_up


def test_what_they_need() -> None:
    """`make model` compares two servers, and installs both; `make cost` three, and the program that loads them."""
    assert set_up("model") == ["SERVER=nginx,h2o"]
    assert set_up("cost") == ["cost SERVER=nginx,h2o,caddy"]
