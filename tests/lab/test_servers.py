"""Every server of the catalogue in the guest: it is measured like any other, and waits for whoever is far away.

What is asked of several servers is one experiment with an arm of each that is installed: they share guests.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from experiments.host.programs import lack_of, server_version
from experiments.studies.journal_lines import JOURNALS, lines
from proxy.server import catalogue
from tests.conftest import Done, Lab, make_lab, needs
from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest")

_SHORT = ("RELOADS=1", "SAMPLE=100ms")
_FAR = ("DELAY=60s", "DELAY_UP=60s", "QUEUE=1000", "SIZE=20480", "RELOADS=0", "SAMPLE=none")
_LINES_UP = "apache"
"""What is pending it puts in line, where nothing can overtake any more."""
_ALL = [name for name, server in catalogue().items() if server.protocol == "h2"]
_WITH_RECORDS = [name for name, server in catalogue().items() if "bytes" in server.record.levels]
_WITH_THREADS = ("apache", "haproxy")


def _here(servers: Sequence[str]) -> list[str]:
    return [name for name in servers if lack_of(catalogue()[name]) is None]


def _arm(run: Runs, servers: Sequence[str], server: str, arm: str, *words: str) -> Mapping[str, Any]:
    """Of one server, in the experiment of all of these."""
    here = _here(servers)
    return _of(run(f"SERVER={','.join(here)}", *words), here, server, arm)


def _of(done: Done, servers: Sequence[str], server: str, arm: str) -> Mapping[str, Any]:
    found = done.arm(f"{server}-{arm}" if len(servers) > 1 else arm)
    assert found["status"] == "ok", found["reason"]
    return found


def test_it_is_measured(run: Runs, server: str) -> None:
    """Nothing is overtaken where LOWAT is unset; with 131072 the script begins in half the time, or a line stands."""
    control, treatment = (_arm(run, _ALL, server, arm, *_SHORT) for arm in ("control", "lowat-131072"))
    assert control["verdict"] == "inverted"
    assert control["ledger"]
    assert treatment["ledger"]
    sooner = treatment["script"]["first_byte_ms"] < 0.6 * control["script"]["first_byte_ms"]
    assert sooner == (server != _LINES_UP)


def test_a_line_is_seen(run: Runs) -> None:
    """Apache with whole responses in its buffers: LOWAT does not help, and the ledger says where the script waits."""
    needs(_LINES_UP)
    waited = _arm(run, _ALL, _LINES_UP, "lowat-131072", *_SHORT)["ledger"]["parts_ms"]
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
@pytest.mark.parametrize("name", _WITH_RECORDS)
def test_its_largest_record(run: Runs, name: str, link: tuple[str, ...]) -> None:
    """As asked for, by what the client decrypted, on a link that lets much be sent at once, too.

    A run in which it is not would be invalid.
    """
    needs(name)
    found = _arm(run, _WITH_RECORDS, name, "lowat-131072", "RECORD=1400", "CONTROL=no", *link, *_SHORT)
    assert found["observed"]["record_bytes"] == 1400


@pytest.fixture(scope="module")
def far(run: Runs, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Of all servers. Not among the shared runs, to all of which the predictor is held."""
    lab = make_lab(tmp_path_factory.mktemp("far"))
    servers = f"SERVER={','.join(_here(_ALL))}"
    return lab.run_unseen("FABRIC=virtual", servers, "CONTROL=no", *_FAR, processor=run.processor)


def test_it_waits_for_whoever_is_far_away(far: Done, server: str) -> None:
    """A handshake takes minutes, and so does everything after it."""
    assert _of(far, _here(_ALL), server, "lowat-131072")["verdict"]


def test_it_repeats(lab: Lab) -> None:
    """To the nanosecond, also one with threads, and whatever shares the guest with it."""
    for name in _WITH_THREADS:
        needs(name)
    words = ("LOWAT=16384", "CONTROL=no", "LOSS=3%", "SIZE=102400", "RELOADS=0", "SAMPLE=100ms")
    folders = []
    for order in (_WITH_THREADS, _WITH_THREADS[::-1]):
        done = lab.run_unseen("FABRIC=virtual", f"SERVER={','.join(order)}", *words)
        assert done.code == 0, done.trouble
        assert done.folder is not None
        folders.append(done.folder)
    for name in _WITH_THREADS:
        for journal in JOURNALS:
            first, second = (folder / f"{name}-lowat-16384.1" / journal for folder in folders)
            assert list(lines(first)) == list(lines(second)), (name, journal)
