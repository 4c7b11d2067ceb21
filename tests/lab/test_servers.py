"""Every server of the catalogue in the guest: it is measured like any other, and waits for whoever is far away."""

import pytest

from experiments.programs import server_version
from proxy.server import catalogue
from tests.conftest import Lab, needs
from tests.lab.conftest import Runs
from tests.lab.journals import JOURNALS

pytestmark = pytest.mark.usefixtures("guest")

_SHORT = ("RELOADS=1", "SAMPLE=100ms")
_FAR = ("DELAY=60s", "DELAY_UP=60s", "QUEUE=1000", "SIZE=20480", "RELOADS=1", "SAMPLE=none")
_LINES_UP = "apache"
"""What is pending it puts in line, where nothing can overtake any more."""


def test_it_is_measured(run: Runs, server: str) -> None:
    """Nothing is overtaken where LOWAT is unset; with 131072 the script begins in half the time, or a line stands."""
    done = run(f"SERVER={server}", *_SHORT)
    assert done.code == 0, done.err
    control, treatment = done.arm("control"), done.arm("lowat-131072")
    assert control["verdict"] == "inverted"
    assert control["ledger"]
    assert treatment["ledger"]
    sooner = treatment["script"]["first_byte_ms"] < 0.6 * control["script"]["first_byte_ms"]
    assert sooner == (server != _LINES_UP)


def test_a_line_is_seen(run: Runs) -> None:
    """Apache with whole responses in its buffers: LOWAT does not help, and the ledger says where the script waits."""
    needs(_LINES_UP)
    waited = run(f"SERVER={_LINES_UP}", *_SHORT).arm("lowat-131072")["ledger"]["parts_ms"]
    small = run(f"SERVER={_LINES_UP}", "BUFFERING=off", "CONTROL=no", *_SHORT).arm("lowat-131072")
    assert waited["front_committed"] > 1000
    assert small["ledger"]["parts_ms"]["front_committed"] < 500
    assert small["script"]["first_byte_ms"] < 4000


@pytest.mark.parametrize("name", [name for name, server in catalogue().items() if "on" in server.native.levels])
def test_its_own_mechanism(run: Runs, name: str) -> None:
    """It sets the option of its socket; one that came later than what is installed here is told of beforehand."""
    needs(name)
    server = catalogue()[name]
    done = run(f"SERVER={name}", "NATIVE=on", "LOWAT=16384", "CONTROL=no", *_SHORT)
    if lacking := server.native.lacked_until("on", server_version(server) or ""):
        assert done.code != 0
        assert f"{server.native.name} came with {name} {lacking}" in done.err
    else:
        assert max(done.arm("lowat-16384")["observed"]["socket_lowat"]) > 0


@pytest.mark.parametrize("link", [(), ("RATE=unlimited", "DELAY=0ms", "SIZE=4M")], ids=["slow", "streaming"])
@pytest.mark.parametrize("name", [name for name, server in catalogue().items() if "bytes" in server.record.levels])
def test_its_largest_record(run: Runs, name: str, link: tuple[str, ...]) -> None:
    """As asked for, by what the client decrypted, on a link that lets much be sent at once, too.

    A run in which it is not would be invalid.
    """
    needs(name)
    done = run(f"SERVER={name}", "RECORD=1400", "CONTROL=no", *link, *_SHORT)
    assert done.code == 0, done.err
    assert done.arm("lowat-131072")["observed"]["record_bytes"] == 1400


def test_it_waits_for_whoever_is_far_away(lab: Lab, server: str) -> None:
    """A handshake takes minutes, and so does everything after it."""
    done = lab.run("FABRIC=virtual", f"SERVER={server}", "CONTROL=no", *_FAR)
    assert done.code == 0, done.err + done.out


@pytest.mark.parametrize("name", ["apache", "haproxy"])
def test_it_repeats(lab: Lab, name: str) -> None:
    """To the nanosecond, also one with threads."""
    needs(name)
    folders = []
    for _ in range(2):
        words = ("LOWAT=16384", "CONTROL=no", "LOSS=3%", "SIZE=102400", "RELOADS=0", "SAMPLE=100ms")
        assert lab.run("FABRIC=virtual", f"SERVER={name}", *words).code == 0
        folders.append((lab.results / "latest").resolve() / "lowat-16384.1")
    for journal in JOURNALS:
        assert (folders[0] / journal).read_bytes() == (folders[1] / journal).read_bytes(), journal
