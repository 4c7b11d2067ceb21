"""Every server of the catalogue in the guest: it is measured like any other, and it waits for a client far away.

The arms of several tests share an experiment, and so a guest.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from priolab.experiments.results.journal_lines import JOURNALS, lines
from priolab.experiments.setup.installed import lack_of
from priolab.experiments.setup.programs import server_version
from priolab.proxy.server import catalogue
from tests.support.capabilities import each
from tests.support.lab import Done
from tests.support.shared_runs import Runs
from tests.support.together import together

pytestmark = pytest.mark.usefixtures("guest")

_FAR = ("DELAY=60s", "DELAY_UP=60s", "QUEUE=1000", "SIZE=20480")
_LOSSY = ("LOWAT=16384", "LOSS=3%", "SIZE=102400")
_RECORDS = {"slow": ("RECORD=1400",), "streaming": ("RECORD=1400", "RATE=unlimited", "DELAY=0ms", "SIZE=1M")}
_SHORT = ("RELOADS=0", "SAMPLE=100ms")
_LINE_UP = ("apache", "envoy")
"""The servers that queue all they have in a fixed order, so that no response can overtake another."""
_ALL = [name for name, server in catalogue().items() if server.protocol == "h2"]
_PREBUILT = [
    f"{name}@{edition}"
    for name, server in catalogue().items()
    for edition in server.wheels
    if server.packages and server.protocol == "h2"
]
_WITH_RECORDS = [name for name, server in catalogue().items() if "bytes" in server.record.levels]
_REPEATED = (
    *("apache", "h2o", "haproxy"),
    *("caddy", "caddy@2.11.7", "envoy", "go", "traefik", "caddy-h3@2.11.7", "envoy-h3"),
)
"""Servers with threads, of which the last seven read the processor's clock."""
_MECHANISMS = [name for name, server in catalogue().items() if "on" in server.native.levels]


def _here(servers: Sequence[str]) -> list[str]:
    return [name for name in servers if lack_of(catalogue()[name]) is None]


def _with_own_mechanism() -> list[str]:
    """Returns the installed servers that have a mechanism of their own, in their installed version."""
    having = [name for name in _MECHANISMS if catalogue()[name].native.lacked_until("on", _version(name)) is None]
    return _here(having)


def _version(name: str) -> str:
    return server_version(catalogue()[name]) or ""


def _measured(run: Runs) -> Done:
    """Returns an experiment with a control and a treatment of each installed server, and with arms of single tests."""
    arms: dict[str, tuple[str, ...]] = {}
    for name in _here(_ALL):
        arms |= {f"{name}-control": (f"SERVER={name}", "LOWAT=none"), name: (f"SERVER={name}",)}
    arms |= {f"{name}-native": (f"SERVER={name}", "NATIVE=on", "LOWAT=16384") for name in _with_own_mechanism()}
    arms |= {f"{name}-unbuffered": (f"SERVER={name}", "BUFFERING=off") for name in _here(_LINE_UP)}
    return run.together(arms, *_SHORT)


def test_it_is_measured(run: Runs, server: str) -> None:
    """The control is inverted; LOWAT=131072 cuts the script's wait to less than 0.6 of it, except in _LINE_UP."""
    control, treatment = (_measured(run).ok_arm(name) for name in (f"{server}-control", server))
    assert control["verdict"] == "inverted"
    assert control["ledger"]
    assert treatment["ledger"]
    sooner = treatment["script"]["first_byte_ms"] < 0.6 * control["script"]["first_byte_ms"]
    assert sooner == (server not in _LINE_UP)


@pytest.mark.parametrize("name", each(_PREBUILT))
def test_a_prebuilt_edition(run: Runs, name: str) -> None:
    """A version from a wheel is measured like the distribution's. env.json has the version and the wheel's digest."""
    done = run(f"SERVER={name}", "CONTROL=no", *_SHORT)
    assert done.arm("lowat-131072")["status"] == "ok"
    assert done.folder is not None
    versions = json.loads((done.folder / "lowat-131072.1" / "env.json").read_text())["versions"]
    assert name.partition("@")[2] in versions[name]
    assert "sha256" in versions[f"wheel of SERVER={name}"]


@pytest.mark.parametrize("name", each(_LINE_UP))
def test_a_line_is_seen(run: Runs, name: str) -> None:
    """With whole responses in its buffers LOWAT does not help; the ledger shows the wait in the output queue."""
    waited = _measured(run).ok_arm(name)["ledger"]["parts_ms"]
    small = _measured(run).arm(f"{name}-unbuffered")
    assert waited["front_committed"] > 1000
    assert small["ledger"]["parts_ms"]["front_committed"] < 500
    assert small["script"]["first_byte_ms"] < 4000


@pytest.mark.parametrize("name", each(_MECHANISMS))
def test_its_own_mechanism(run: Runs, name: str) -> None:
    """NATIVE=on sets TCP_NOTSENT_LOWAT of the server's socket; a version without the option is refused beforehand."""
    native = catalogue()[name].native
    if lacking := native.lacked_until("on", _version(name)):
        done = run(f"SERVER={name}", "NATIVE=on", "LOWAT=16384", "CONTROL=no", *_SHORT)
        assert done.code != 0
        assert f"{native.name} exists since {name} {lacking}" in done.err
    else:
        assert max(_measured(run).arm(f"{name}-native")["observed"]["socket_lowat"]) > 0


@pytest.fixture(scope="module")
def unsampled(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Returns runs of each server with a delay of one minute each way, and runs with small records."""
    arms: dict[str, tuple[str, ...]] = {f"{name}-far": (f"SERVER={name}", *_FAR) for name in _here(_ALL)}
    for link, words in _RECORDS.items():
        arms |= {f"{name}-{link}": (f"SERVER={name}", *words) for name in _here(_WITH_RECORDS)}
    return together(tmp_path_factory.mktemp("unsampled"), arms, "RELOADS=0", "SAMPLE=none")


@pytest.mark.release
@pytest.mark.parametrize("link", _RECORDS)
@pytest.mark.parametrize("name", each(_WITH_RECORDS))
def test_its_largest_record(unsampled: Done, name: str, link: str) -> None:
    """The largest record that the client decrypts has the size asked for, on a slow link and on a fast link.

    If it had another size, the run would be invalid.
    """
    assert unsampled.ok_arm(f"{name}-{link}")["observed"]["record_bytes"] == 1400


@pytest.mark.release
def test_it_waits_for_whoever_is_far_away(unsampled: Done, server: str) -> None:
    """Every server completes the load, although the handshake takes minutes."""
    assert unsampled.ok_arm(f"{server}-far")["verdict"]


def _arm(name: str) -> str:
    return name.replace("@", "-")


@pytest.mark.needs(*_REPEATED)
def test_it_repeats(tmp_path: Path) -> None:
    """Servers with threads give the same journals, to the nanosecond, whichever run shares the guest.

    The same holds for servers that read the processor's clock.
    """
    folders = []
    for order in (_REPEATED, _REPEATED[::-1]):
        done = together(tmp_path, {_arm(name): (f"SERVER={name}", *_LOSSY) for name in order}, *_SHORT)
        assert done.code == 0, done.trouble
        assert done.folder is not None
        folders.append(done.folder)
    for name in _REPEATED:
        for journal in JOURNALS:
            first, second = (folder / f"{_arm(name)}.1" / journal for folder in folders)
            assert list(lines(first)) == list(lines(second)), (name, journal)
