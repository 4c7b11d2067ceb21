"""Tests of the cautious tuner in the kernel: existing limits hold, and a rate that flaps changes nothing.

The sysctl in these tests is net.ipv4.tcp_notsent_lowat.
"""

import socket
from itertools import pairwise
from pathlib import Path

import pytest

from priolab.common.formats.decisions import Decision, Why
from priolab.proxy.tuner.in_kernel import InKernel, Rule
from tests.support.echo import have_set, lowat_of, serving, talk

_SYSCTL = 131_072
_STRICT, _LOOSE, _CEILING = 50_000, 200_000, 100_000
_LONG_NS = 10**15
_SO_NETNS_COOKIE = 71  # <asm/socket.h>


@pytest.fixture
def told() -> list[Decision]:
    """Return the list of the tuner's decisions."""
    return []


def _looked_at(tuner: InKernel, client: socket.socket) -> int:
    """Return LOWAT of the server's end after the tuner had occasions to change it."""
    for _ in range(3):
        talk(client)
        tuner.look(0)
    return lowat_of(client)


def _namespace() -> int:
    with socket.socket() as some:
        return int.from_bytes(some.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8), "little")


def test_never_more_than_the_sysctl(group: Path, tmp_path: Path, told: list[Decision]) -> None:
    """LOWAT stays below the sysctl of the connection's network namespace, if the rule has it."""
    with serving(tmp_path, group) as (_, port):
        for namespaces in ({_namespace(): _SYSCTL}, {}):
            told.clear()
            with (
                InKernel(group, Rule(cautious=True, namespaces=namespaces), told.append) as tuner,
                socket.create_connection(("127.0.0.1", port)) as client,
            ):
                lowat_bytes = _looked_at(tuner, client)
                assert (lowat_bytes <= _SYSCTL) == bool(namespaces)
                assert all(decision.new_bytes <= _SYSCTL for decision in told) == bool(namespaces)
                assert {decision.why for decision in told} <= set(Why)


@pytest.mark.parametrize("cautious", [False, True])
def test_another_namespace(group: Path, tmp_path: Path, *, cautious: bool) -> None:
    """Connections of other network namespaces than the rule's are not tuned."""
    rule = Rule(cautious=cautious, namespaces={_namespace() + 1: _SYSCTL})
    with (
        serving(tmp_path, group) as (_, port),
        InKernel(group, rule, lambda _: None) as tuner,
        socket.create_connection(("127.0.0.1", port)) as client,
    ):
        assert _looked_at(tuner, client) == 0


def test_the_servers_own_limit(group: Path, tmp_path: Path, told: list[Decision]) -> None:
    """A LOWAT that the server set is an upper limit for the tuner."""
    rule = Rule(cautious=True, ceiling_bytes=_CEILING)
    with serving(tmp_path, group) as (_, port), InKernel(group, rule, told.append) as tuner:
        for own_bytes in (_STRICT, _LOOSE, 0):
            with socket.create_connection(("127.0.0.1", port)) as client:
                if own_bytes:
                    have_set(client, own_bytes)
                assert 0 < _looked_at(tuner, client) <= min(own_bytes or _CEILING, _CEILING)
                have_set(client, _STRICT)
                assert _looked_at(tuner, client) <= _STRICT


def test_a_rate_that_flaps(group: Path, tmp_path: Path, told: list[Decision]) -> None:
    """The rate on loopback varies with every burst, but LOWAT only rises while no drop lasts for `hold_ns`."""
    with (
        serving(tmp_path, group) as (_, port),
        InKernel(group, Rule(cautious=True, hold_ns=_LONG_NS), told.append) as tuner,
        socket.create_connection(("127.0.0.1", port)) as client,
    ):
        for _ in range(20):
            _looked_at(tuner, client)
    assert told
    for before, after in pairwise(told):
        assert before.new_bytes == after.old_bytes < after.new_bytes
