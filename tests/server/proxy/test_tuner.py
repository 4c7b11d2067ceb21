"""Tests of the tuner in the kernel, with sockets on loopback: what it sets, counts, and leaves behind."""

import ctypes
import re
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from priolab.common.formats.decisions import DRY_RUN, SET, Decision, Trigger
from priolab.proxy.tuner.in_kernel import InKernel, Rule
from priolab.proxy.tuner.libbpf import CannotTune, Loaded, _library
from tests.support.echo import lowat_of, serving, talk
from tests.support.tuner import replay
from tests.support.tuner.law import follows
from tests.support.tuner.numbers import SOURCES
from tests.support.waiting import until
from tools import bpf_programs

_MORE_THAN_THE_RING_HOLDS = 2500
_AT_ONCE = 100
_TIMES = 20
_RECORDS = 20_000
_OF_BPF = re.compile(r"^(prog|map|link)_id:\s+(\d+)$", re.MULTILINE)
# Indexes into `struct counts` of maps.h.
_SEEN, _CLOSED, _TUNED, _FAILURES, _UNLOGGED = 0, 1, 2, slice(3, 5), 5
_DECISIONS, _VALUES, _WAITS, _SUMS = slice(6, 12), slice(12, 44), slice(44, 76), slice(76, 78)


def test_in_the_kernel(tmp_path: Path, group: Path) -> None:
    """The tuner tunes connections that a server in the cgroup accepted, and not the client's end.
    Each decision follows from the numbers that it records.
    """
    told: list[Decision] = []
    with serving(tmp_path, group) as (_, port):
        tuner = InKernel(group, Rule(), told.append)
        with tuner, socket.create_connection(("127.0.0.1", port)) as client:
            talk(client)
            until(lambda: _is_as_decided(tuner, told, client))
            _check(told, client)
            # The client's end is in another cgroup.
            assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == 0
        told.clear()
        with socket.create_connection(("127.0.0.1", port)) as client:
            talk(client)
            assert lowat_of(client) == 0, "it is detached"
    assert told == []


def _is_as_decided(tuner: InKernel, told: Sequence[Decision], client: socket.socket) -> bool:
    """Return True if the connection has the LOWAT of the last decision.

    False also if a decision came meanwhile: the question for LOWAT crosses the connection, and can bring one about.
    """
    tuner.look(0)
    decisions = len(told)
    found = lowat_of(client)
    tuner.look(0)
    return len(told) == decisions and found == told[-1].new_bytes


def _check(told: list[Decision], client: socket.socket) -> None:
    """Check that each decision follows from its numbers and from the decision before, and names the client."""
    assert (told[0].event, told[0].old_bytes) == (Trigger.ESTABLISHED, 0)
    for before, after in pairwise(told):
        assert after.old_bytes == before.new_bytes
    for decision in told:
        assert follows(decision)
        assert decision.outcome == SET
        assert (decision.peer, decision.peer_port) == client.getsockname()
        assert decision.port == client.getpeername()[1]


def test_in_the_kernel_by_way_of_trial(tmp_path: Path, group: Path) -> None:
    """A dry run reports decisions and sets nothing. For another port it reports no decisions."""
    told: list[Decision] = []
    with serving(tmp_path, group) as (_, port):
        for only in (port, port + 1):
            with (
                InKernel(group, Rule(port=only, dry_run=True), told.append),
                socket.create_connection(("127.0.0.1", port)) as client,
            ):
                talk(client)
                assert lowat_of(client) == 0
            assert {decision.outcome for decision in told} == ({DRY_RUN} if only == port else set())
            told.clear()


def test_a_journal_that_fails_at_the_end(tmp_path: Path, group: Path) -> None:
    """The BPF program is detached from the cgroup even if writing the last decisions fails."""

    def full(_: Decision) -> None:
        raise OSError("no space left")

    with serving(tmp_path, group) as (_, port):
        with (
            pytest.raises(OSError, match="no space left"),
            InKernel(group, Rule(), full),
            socket.create_connection(("127.0.0.1", port)) as client,
        ):
            assert lowat_of(client) > 0
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert lowat_of(client) == 0


def _counts(tuner: InKernel) -> list[int]:
    """Return the counts of maps.h; they are sums of numbers that may be negative."""
    return [ctypes.c_int64(number).value for number in tuner._loaded.numbers("counts", bytes(4), 78)]


def test_what_is_counted(tmp_path: Path, group: Path) -> None:
    """Each connection is in one bucket of the values and in one of the waits as long as it is open.
    It leaves them even if the rule has another port meanwhile.
    """
    told: list[Decision] = []
    with serving(tmp_path, group) as (_, port), InKernel(group, Rule(), told.append) as tuner:
        with ExitStack() as stack:
            for _ in range(_AT_ONCE):
                talk(stack.enter_context(socket.create_connection(("127.0.0.1", port))))
            tuner.look(0)
            counts = _counts(tuner)
            assert (counts[_SEEN], counts[_CLOSED], counts[_TUNED]) == (_AT_ONCE, 0, _AT_ONCE)
            assert sum(counts[_DECISIONS]) == len(told)
            for buckets in (counts[_VALUES], counts[_WAITS]):
                assert min(buckets) == 0
                assert sum(buckets) == _AT_ONCE
            assert counts[_VALUES][0] == 0, "each has a value"
            assert min(counts[_SUMS]) > 0
            tuner._loaded.put("rules", bytes(4), Rule(port=1).packed())
        until(lambda: _counts(tuner)[_CLOSED] == _AT_ONCE)
        counts = _counts(tuner)
        assert (counts[_SEEN], counts[_TUNED]) == (_AT_ONCE, _AT_ONCE)
        assert not any((*counts[_VALUES], *counts[_WAITS], *counts[_SUMS], *counts[_FAILURES], counts[_UNLOGGED]))


def test_more_decisions_than_the_ring_holds(tmp_path: Path, group: Path) -> None:
    """If the ring buffer overflows, every connection is tuned, every decision is counted, and the loss is an error."""
    told: list[Decision] = []
    with serving(tmp_path, group) as (_, port), ExitStack() as stack:
        tuner = InKernel(group, Rule(), told.append)
        stack.callback(tuner._loaded.close)
        for _ in range(_MORE_THAN_THE_RING_HOLDS):
            with socket.create_connection(("127.0.0.1", port)) as client:
                assert lowat_of(client) > 0
        with pytest.raises(CannotTune, match="decisions were not recorded, because the ring buffer was full"):
            tuner.look(0)
        counts = _counts(tuner)
        assert counts[_TUNED] == _MORE_THAN_THE_RING_HOLDS
        assert sum(counts[_DECISIONS]) == len(told) + counts[_UNLOGGED]


def test_nothing_is_left(group: Path) -> None:
    """After each end none of the tuner's programs, maps and links is in the kernel."""
    made = set()
    for _ in range(_TIMES):
        with InKernel(group, Rule(), lambda _: None):
            own = _own()
            assert {kind for kind, _ in own} == {"prog", "map", "link"}
            made |= own
    until(lambda: not made & _in_the_kernel())


def _own() -> set[tuple[str, int]]:
    """Return the kinds and numbers of this process's programs, maps and links of BPF."""
    found = set()
    for file in Path("/proc/self/fdinfo").iterdir():
        with suppress(FileNotFoundError):
            found |= {(kind, int(number)) for kind, number in _OF_BPF.findall(file.read_text())}
    return found


def _in_the_kernel() -> set[tuple[str, int]]:
    """Return those of all processes."""
    found = set()
    for kind in ("prog", "map", "link"):
        number = ctypes.c_uint32(0)
        while getattr(_library(), f"bpf_{kind}_get_next_id")(number, ctypes.byref(number)) == 0:
            found.add((kind, number.value))
    return found


@pytest.mark.usefixtures("clang")
@pytest.mark.parametrize("made", bpf_programs.PROGRAMS, ids=lambda made: made.name)
def test_the_objects_are_of_their_sources(tmp_path: Path, made: Path) -> None:
    """The same clang gives the same bytes, wherever the sources are. Another one gives what the kernel accepts."""
    again = tmp_path / made.name
    source, more = bpf_programs.PROGRAMS[made]
    copy = tmp_path / "sources"
    copy.mkdir()
    for file in (*source.parent.glob("*.c"), *source.parent.glob("*.h")):
        (copy / file.name).write_bytes(file.read_bytes())
    bpf_programs.compile_into(again, copy / source.name, more)
    if f"{bpf_programs.version()}\n" == bpf_programs.VERSION.read_text():
        assert again.read_bytes() == made.read_bytes(), "`make bpf` makes the objects anew"
    else:
        Loaded(again).close()


@pytest.mark.usefixtures("bpf", "clang")
def test_the_law_as_the_kernel_runs_it(tmp_path: Path) -> None:
    """In BPF, run by the kernel, law and caution give the same as in Python, also for the largest numbers."""
    source, made = tmp_path / "law.c", tmp_path / "law.o"
    source.write_text(replay.SOURCE)
    bpf_programs.compile_into(made, source, ["-I", str(SOURCES)])
    records = replay.inputs(_RECORDS)
    assert replay.replayed(made, records) == replay.expected(records)
