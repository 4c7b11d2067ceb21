"""The needs of the extra's targets of the machine."""

from priolab.extras.demo.story import steps
from tests.support.make_targets import set_up


def test_what_they_need() -> None:
    """`make demo` installs the demo's web server and what every run needs; a talk needs the servers of the story."""
    servers = {server for step in steps() for arm in step.arms if (server := arm.get("SERVER"))}
    assert servers == {"nginx", "haproxy"}
    assert set_up("demo") == ["demo"]
    for target in ("setup-demo", "slides"):
        assert set_up(target) == ["demo SERVER=nginx,haproxy"]
