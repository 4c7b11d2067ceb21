"""The needs of the extra's targets of the machine."""

from tests.support.make_targets import set_up


def test_what_they_need() -> None:
    """`make model` installs its two servers, `make cost` three and the program that loads them, `make myths` five."""
    assert set_up("model") == ["SERVER=nginx,h2o"]
    assert set_up("cost") == ["cost SERVER=nginx,h2o,caddy"]
    assert set_up("myths") == ["SERVER=nginx,h2o,traefik,traefik-h3,envoy-h3"]
