"""`priolab probe --load` over a shaped link: a client alone sees what TCP_NOTSENT_LOWAT does."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from priolab.experiments.cli import main
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.network import build
from priolab.testbed.topology.topology import pair
from tests.support.capabilities import needing
from tests.support.fronts import NAME, running_front

pytestmark = pytest.mark.usefixtures("netns")

_SIZE = 500_000
_ENDS = pair("client", "front")
_FRONT = _ENDS.wire("front").address
_PAGE = """
title = "A site"
[[resource]]
name = "image"
type = "image/jpeg"
urgency = 5
[[resource]]
name = "script"
type = "text/javascript"
urgency = 1
important = true
"""


@pytest.fixture
@needing("fabric-netns", "root")
def places() -> Iterator[tuple[Namespace, Namespace]]:
    """Make a client's and a front's place, with a router between them that sends 8 Mbit/s to the client."""
    with build(_ENDS, None, Path()) as network:
        client, link, front = network.hosts.values()
        link.run(
            ["tc", "qdisc", "add", "dev", "to-client", "root", "tbf", "rate", "8mbit", "burst", "4k", "limit", "40k"]
        )
        yield client, front


def _loaded(
    places: tuple[Namespace, Namespace], folder: Path, capsys: pytest.CaptureFixture[str], *, lowat: str | None
) -> Any:
    client, front = places
    front.write_sysctl("net.ipv4.tcp_wmem", "4096 4194304 4194304")
    if lowat is not None:
        front.write_sysctl("net.ipv4.tcp_notsent_lowat", lowat)
    folder.mkdir()
    (folder / "page.toml").write_text(_PAGE)
    with front.entered(), running_front("nginx", folder, size_bytes=_SIZE, address=_FRONT) as (settings, _):
        command = ["probe", f"https://{NAME}:{settings.port}/", "--connect", _FRONT]
        command += ["--ca", str(settings.certificates.ca), "--load", str(folder / "page.toml"), "--reloads", "0"]
        with client.entered():
            assert main(command) == 2
            assert f"requests to {NAME}, which is at {_FRONT}" in capsys.readouterr().err
            assert main([*command, "--json", "--yes"]) == 0
    return json.loads(capsys.readouterr().out)


def test_lowat_keeps_the_order(
    places: tuple[Namespace, Namespace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without LOWAT the image is in the kernel before the script exists; with LOWAT the script overtakes it."""
    control = _loaded(places, tmp_path / "control", capsys, lowat=None)
    treated = _loaded(places, tmp_path / "treated", capsys, lowat="16384")
    assert control["verdict"]["verdict"] == "inverted", control
    assert treated["verdict"]["verdict"] == "kept", treated
    for found in (control, treated):
        parts = found["ledger"]["parts_ms"]
        assert sum(parts.values()) == pytest.approx(found["ledger"]["wait_ms"])
        assert found["requests"] == 4
        assert found["loads"][-1]["resources"]["image"]["size_bytes"] == _SIZE
    assert control["ledger"]["other_bytes"]["too_early"] > _SIZE / 2
    assert treated["ledger"]["other_bytes"]["too_early"] < _SIZE / 2
    behind_ms = [found["ledger"]["parts_ms"]["behind"] for found in (control, treated)]
    assert behind_ms[0] > behind_ms[1] + 100


@pytest.mark.containers  # the device has addresses that containers of experiments use, too
@pytest.mark.punctual
@pytest.mark.needs("nginx", "root")
def test_a_link_to_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--rate and --delay put a link before a server of this machine, and the link's device vanishes with the command.

    A server that listens at 127.0.0.1 alone is not behind the link, and the error says so.
    """
    for address, code in (("0.0.0.0", 0), ("127.0.0.1", 1)):
        folder = tmp_path / address
        folder.mkdir()
        with running_front("nginx", folder, size_bytes=30_000, address=address) as (settings, _):
            command = ["probe", f"https://{NAME}:{settings.port}/", "--connect", "127.0.0.1", "--load", "maps"]
            command += ["--ca", str(settings.certificates.ca), "--reloads", "0", "--json"]
            assert main([*command, "--rate", "128kbps", "--delay", "50ms"]) == code
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["round_trip_ms"] == pytest.approx(50, abs=20)
    assert found["loads"][-1]["others_last_byte_ms"] > 30_000 / 128
    assert "a server must listen at all addresses of this machine" in said.err
    assert not [name for _, name in socket.if_nameindex() if name.startswith("priolab-")]
