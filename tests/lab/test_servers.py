"""Every server of the catalogue in the guest: it is measured like any other, and it waits for a client far away.

A test of several servers uses an experiment with an arm for each installed server, so that the arms share guests.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from experiments.host.programs import lack_of, server_version
from experiments.results.journal_lines import JOURNALS, lines
from proxy.server import catalogue
from tests.conftest import Done, Lab, make_lab, needs
from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest")

_SHORT = ("RELOADS=1", "SAMPLE=100ms")
_FAR = ("DELAY=60s", "DELAY_UP=60s", "QUEUE=1000", "SIZE=20480", "RELOADS=0", "SAMPLE=none")
_LINES_UP = "apache"
"""The server that queues all it has in a fixed order, so that no response can overtake another."""
_ALL = [name for name, server in catalogue().items() if server.protocol == "h2"]
_WITH_RECORDS = [name for name, server in catalogue().items() if "bytes" in server.record.levels]
_WITH_THREADS = ("apache", "haproxy")


def _here(servers: Sequence[str]) -> list[str]:
    return [name for name in servers if lack_of(catalogue()[name]) is None]


def _arm(run: Runs, servers: Sequence[str], server: str, arm: str, *words: str) -> Mapping[str, Any]:
    """Returns the arm of a server, from the experiment with all of `servers` that are installed."""
    here = _here(servers)
    return _of(run(f"SERVER={','.join(here)}", *words), here, server, arm)


def _of(done: Done, servers: Sequence[str], server: str, arm: str) -> Mapping[str, Any]:
    found = done.arm(f"{server}-{arm}" if len(servers) > 1 else arm)
    assert found["status"] == "ok", found["reason"]
    return found


def test_it_is_measured(run: Runs, server: str) -> None:
    """The control is inverted; LOWAT=131072 cuts the script's wait to less than 0.6 of it, except with apache."""
    control, treatment = (_arm(run, _ALL, server, arm, *_SHORT) for arm in ("control", "lowat-131072"))
    assert control["verdict"] == "inverted"
    assert control["ledger"]
    assert treatment["ledger"]
    sooner = treatment["script"]["first_byte_ms"] < 0.6 * control["script"]["first_byte_ms"]
    assert sooner == (server != _LINES_UP)


def test_a_line_is_seen(run: Runs) -> None:
    """With whole responses in apache's buffers LOWAT does not help; the ledger shows the wait in the output queue."""
    needs(_LINES_UP)
    waited = _arm(run, _ALL, _LINES_UP, "lowat-131072", *_SHORT)["ledger"]["parts_ms"]
    small = run(f"SERVER={_LINES_UP}", "BUFFERING=off", "CONTROL=no", *_SHORT).arm("lowat-131072")
    assert waited["front_committed"] > 1000
    assert small["ledger"]["parts_ms"]["front_committed"] < 500
    assert small["script"]["first_byte_ms"] < 4000


@pytest.mark.parametrize("name", [name for name, server in catalogue().items() if "on" in server.native.levels])
def test_its_own_mechanism(run: Runs, name: str) -> None:
    """NATIVE=on sets TCP_NOTSENT_LOWAT of the server's socket; a version without the option is refused beforehand."""
    needs(name)
    server = catalogue()[name]
    done = run(f"SERVER={name}", "NATIVE=on", "LOWAT=16384", "CONTROL=no", *_SHORT)
    if lacking := server.native.lacked_until("on", server_version(server) or ""):
        assert done.code != 0
        assert f"{server.native.name} exists since {name} {lacking}" in done.err
    else:
        assert max(done.arm("lowat-16384")["observed"]["socket_lowat"]) > 0


@pytest.mark.parametrize("link", [(), ("RATE=unlimited", "DELAY=0ms", "SIZE=4M")], ids=["slow", "streaming"])
@pytest.mark.parametrize("name", _WITH_RECORDS)
def test_its_largest_record(run: Runs, name: str, link: tuple[str, ...]) -> None:
    """The largest record that the client decrypts has the size asked for, on a slow link and on a fast link.

    If it had another size, the run would be invalid.
    """
    needs(name)
    found = _arm(
        run, _WITH_RECORDS, name, "lowat-131072", "RECORD=1400", "CONTROL=no", "RELOADS=0", "SAMPLE=none", *link
    )
    assert found["observed"]["record_bytes"] == 1400


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Returns a run of each installed server with a delay of one minute each way.

    The runs are not shared, because test_model.py compares the predictor with all shared runs.
    """
    lab = make_lab(tmp_path_factory.mktemp("far"))
    servers = f"SERVER={','.join(_here(_ALL))}"
    return lab.run_here("FABRIC=virtual", servers, "CONTROL=no", *_FAR)


def test_it_waits_for_whoever_is_far_away(far: Done, server: str) -> None:
    """Every server completes the load, although the handshake takes minutes."""
    assert _of(far, _here(_ALL), server, "lowat-131072")["verdict"]


def test_it_repeats(lab: Lab) -> None:
    """Servers with threads give the same journals, to the nanosecond, whichever run shares the guest."""
    for name in _WITH_THREADS:
        needs(name)
    words = ("LOWAT=16384", "CONTROL=no", "LOSS=3%", "SIZE=102400", "RELOADS=0", "SAMPLE=100ms")
    folders = []
    for order in (_WITH_THREADS, _WITH_THREADS[::-1]):
        done = lab.run_here("FABRIC=virtual", f"SERVER={','.join(order)}", *words)
        assert done.code == 0, done.trouble
        assert done.folder is not None
        folders.append(done.folder)
    for name in _WITH_THREADS:
        for journal in JOURNALS:
            first, second = (folder / f"{name}-lowat-16384.1" / journal for folder in folders)
            assert list(lines(first)) == list(lines(second)), (name, journal)
