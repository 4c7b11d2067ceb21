"""Tests of the tuners in BPF and in user space, with sockets on loopback: what they set, and what they leave behind."""

import ctypes
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from priolab.common.cache_folder import cache_folder
from priolab.common.formats.decisions import DRY_RUN, SET, Decision, Trigger
from priolab.common.formats.reading import read_journal
from priolab.experiments.testbed.namespaces.cgroup import own_group
from priolab.proxy.tuner import compiler
from priolab.proxy.tuner.in_kernel import InKernel
from priolab.proxy.tuner.law import Aim, decide
from priolab.proxy.tuner.law import Seen as Known
from priolab.proxy.tuner.libbpf import Loaded
from priolab.proxy.tuner.tuner import CannotTune, Tuner
from priolab.proxy.tuner.userland import Userland
from tests.support.echo import lowat_of, serving, talk
from tests.support.tuner_numbers import CAim, CChoice, CSeen, aims, choice_of, seen
from tests.support.waiting import until

_MORE_THAN_THE_RING_HOLDS = 2500
_CALL, _LOOK_UP = 0x85, 1
_CLASS, _JUMP, _WITH_REGISTER = 0x07, 0x05, 0x08
"""Parts of an instruction's first byte: its class, the class of jumps, and the source of a comparison."""


@pytest.fixture
def group(bpf: None) -> Iterator[Path]:  # noqa: ARG001
    """Return a new cgroup for the test."""
    with own_group(f"priolab-test-{os.getpid()}") as path:
        yield path


def test_in_the_kernel(tmp_path: Path, group: Path) -> None:
    """The tuner tunes connections that a server in the cgroup accepted, and not the client's end.
    Each decision follows from the numbers that it records.
    """
    told: list[Decision] = []
    with serving(tmp_path, group) as (_, port):
        tuner = InKernel(compiler.compiled(cache_folder()), group, Aim(), told.append, pytest.fail)
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


@pytest.mark.usefixtures("bpf_compiler")
@pytest.mark.parametrize("sources", [compiler.SOCK_OPS, compiler.CALLS], ids=["tuner", "calls"])
def test_linux_6_1_understands_the_look_ups(sources: Sequence[Path]) -> None:
    """After a look-up in a map the next comparison is with a number.

    Linux 6.1 does not understand that a comparison with a register that is zero excludes a null pointer.
    """
    program = compiler.compiled(cache_folder(), sources).read_bytes()
    code = [(code, number) for code, _, number in struct.iter_unpack("<BxhI", program[: len(program) // 8 * 8])]
    lookups = [at for at, instruction in enumerate(code) if instruction == (_CALL, _LOOK_UP)]
    assert len(lookups) > 4
    for at in lookups:
        compares = next(code for code, _ in code[at + 1 :] if code & _CLASS == _JUMP)
        assert not compares & _WITH_REGISTER


def _is_as_decided(tuner: InKernel, told: Sequence[Decision], client: socket.socket) -> bool:
    """Return True if the connection has the LOWAT of the last decision.

    False also if a decision came meanwhile: the question for LOWAT crosses the connection, and can bring one about.
    """
    tuner.look(0)
    decisions = len(told)
    found = lowat_of(client)
    tuner.look(0)
    return len(told) == decisions and found == told[-1].new_bytes


def test_in_the_kernel_by_way_of_trial(tmp_path: Path, group: Path) -> None:
    """A dry run reports decisions and sets nothing. For another port it reports no decisions."""
    told: list[Decision] = []
    program = compiler.compiled(cache_folder())
    with serving(tmp_path, group) as (_, port):
        for only in (port, port + 1):
            with (
                InKernel(program, group, Aim(), told.append, pytest.fail, port=only, dry_run=True),
                socket.create_connection(("127.0.0.1", port)) as client,
            ):
                talk(client)
                assert lowat_of(client) == 0
            assert {decision.outcome for decision in told} == ({DRY_RUN} if only == port else set())
            told.clear()


def test_a_cgroup_that_is_made_anew(tmp_path: Path, group: Path) -> None:
    """If the cgroup is removed and created again, as when systemd restarts a service, the tuner reports both.
    It tunes connections in the new cgroup.
    """
    told: list[Decision] = []
    said: list[str] = []
    program = compiler.compiled(cache_folder())
    with InKernel(program, group, Aim(), told.append, said.append) as tuner:
        waited_ns = tuner.look(0)
        for _ in range(2):
            group.rmdir()
            assert tuner.look(0) < waited_ns
            tuner.look(0)
            assert said.pop() == f"cgroup {group} is gone; tuning continues when it exists again"
            group.mkdir()
            tuner.look(0)
            assert said.pop() == f"cgroup {group} exists again; tuning continues"
        group.rmdir()
        group.mkdir()
        tuner.look(0)
        assert [line.split(";")[0] for line in said] == [f"cgroup {group} is gone", f"cgroup {group} exists again"]
        with serving(tmp_path, group) as (_, port), socket.create_connection(("127.0.0.1", port)) as client:
            talk(client)
            until(lambda: _is_as_decided(tuner, told, client))
            _check(told, client)


def test_a_journal_that_fails_at_the_end(tmp_path: Path, group: Path) -> None:
    """The BPF program is detached from the cgroup even if writing the last decisions fails."""

    def full(_: Decision) -> None:
        raise OSError("no space left")

    with serving(tmp_path, group) as (_, port):
        with (
            pytest.raises(OSError, match="no space left"),
            InKernel(compiler.compiled(cache_folder()), group, Aim(), full, pytest.fail),
            socket.create_connection(("127.0.0.1", port)) as client,
        ):
            assert lowat_of(client) > 0
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert lowat_of(client) == 0


def test_more_decisions_than_the_ring_holds(tmp_path: Path, group: Path) -> None:
    """Every connection is tuned even if the ring buffer overflows, and the lost decisions are counted once."""
    told: list[Decision] = []
    said: list[str] = []
    program = compiler.compiled(cache_folder())
    with serving(tmp_path, group) as (_, port), InKernel(program, group, Aim(), told.append, said.append) as tuner:
        assert not select.select([tuner.readable], [], [], 0)[0]
        for _ in range(_MORE_THAN_THE_RING_HOLDS):
            with socket.create_connection(("127.0.0.1", port)) as client:
                assert lowat_of(client) > 0
        assert select.select([tuner.readable], [], [], 0)[0]
        tuner.look(0)
        (line,) = said
        lost = int(line.removesuffix(" decisions were not recorded, because the ring buffer was full"))
        assert lost + len(told) >= _MORE_THAN_THE_RING_HOLDS
        tuner.look(0)
        assert said == [line], "once"


def test_from_beside(tmp_path: Path) -> None:
    """Connections that existed before the tuner are tuned. A dry run reports decisions and sets nothing."""
    told: list[Decision] = []
    with serving(tmp_path) as (pid, port), socket.create_connection(("127.0.0.1", port)) as client:
        talk(client)
        with Userland(pid, Aim(), told.append, dry_run=True) as tuner:
            tuner.look(time.monotonic_ns())
        assert [decision.outcome for decision in told] == [DRY_RUN]
        assert lowat_of(client) == 0
        told.clear()
        with Userland(pid, Aim(), told.append) as tuner:
            tuner.look(time.monotonic_ns())
        assert lowat_of(client) == told[-1].new_bytes
        _check(told, client)
        with Userland(pid, Aim(), told.append, port=port + 1) as tuner:
            told.clear()
            tuner.look(time.monotonic_ns())
        assert told == [], "another port was asked for"


def _check(told: list[Decision], client: socket.socket) -> None:
    """Check that each decision follows from its numbers and from the decision before, and names the client."""
    assert (told[0].event, told[0].old_bytes) == (Trigger.ESTABLISHED, 0)
    for before, after in pairwise(told):
        assert after.old_bytes == before.new_bytes
    for decision in told:
        known = Known(
            delivery_rate_bytes_s=decision.delivery_rate_bytes_s,
            acked_rate_bytes_s=decision.acked_rate_bytes_s,
            highest_rate_bytes_s=decision.highest_rate_bytes_s,
            cwnd_segments=decision.cwnd_segments,
            mss_bytes=decision.mss_bytes,
            rtt_us=decision.rtt_ns // 1000,
        )
        choice = decide(known, Aim())
        assert (decision.new_bytes, decision.why) == (choice.lowat_bytes, choice.why)
        assert decision.outcome == SET
        assert (decision.peer, decision.peer_port) == client.getsockname()
        assert decision.port == client.getpeername()[1]


@pytest.mark.parametrize("tuner", ["--cgroup", "--pid"])
def test_when_it_dies(tmp_path: Path, tuner: str, request: pytest.FixtureRequest) -> None:
    """A killed tuner leaves connections their values, and the server continues."""
    group = request.getfixturevalue("group") if tuner == "--cgroup" else None
    log = tmp_path / "log"
    with serving(tmp_path, group) as (pid, port):
        whose = str(group or pid)
        command = [sys.executable, "-m", "priolab.experiments", "tune", tuner, whose, "--log", str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("tuning ")
            with socket.create_connection(("127.0.0.1", port)) as client:
                talk(client)
                until(lambda: lowat_of(client) > 0)
                until(lambda: log.exists() and log.read_text())
                process.send_signal(signal.SIGKILL)
                process.wait()
                lowat_bytes = lowat_of(client)
                assert lowat_bytes > 0
                talk(client)
                assert lowat_of(client) == lowat_bytes
        with socket.create_connection(("127.0.0.1", port)) as client:
            talk(client)
            assert lowat_of(client) == 0
    assert {decision.port for decision in read_journal(log, Decision)} == {port}


def test_when_the_server_ends(tmp_path: Path) -> None:
    """The tuner raises CannotTune if the server's process has ended."""
    with ExitStack() as stack:
        with serving(tmp_path) as (pid, _):
            tuner: Tuner = stack.enter_context(Userland(pid, Aim(), lambda _: None))
        with pytest.raises(CannotTune, match=f"there is no process {pid}"):
            tuner.look(time.monotonic_ns())


_RUN_OF_THE_LAW = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "law.h"
struct numbers { struct seen seen; struct aim aim; __u32 padding; struct choice choice; };
SEC("syscall") int law(struct numbers *n)
{
    struct seen seen = n->seen;
    struct aim aim = n->aim;
    struct choice choice;
    decide(&seen, &aim, &choice);
    n->choice.rate_bytes_s = choice.rate_bytes_s;
    n->choice.lowat_bytes = choice.lowat_bytes;
    n->choice.why = choice.why;
    return 0;
}
char licence[] SEC("license") = "Dual MIT/GPL";
"""


class _TestRun(ctypes.Structure):
    """`struct bpf_test_run_opts`."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_void_p * 2),
        ("data_bytes", ctypes.c_uint32 * 2),
        ("context_in", ctypes.c_void_p),
        ("context_out", ctypes.c_void_p),
        ("context_in_bytes", ctypes.c_uint32),
        ("context_out_bytes", ctypes.c_uint32),
        ("rest", ctypes.c_uint32 * 6),
    )


class _Numbers(ctypes.Structure):
    _fields_ = (("seen", CSeen), ("aim", CAim), ("padding", ctypes.c_uint32), ("choice", CChoice))


@pytest.mark.usefixtures("bpf")
def test_the_law_as_the_kernel_runs_it(tmp_path: Path) -> None:
    """Compiled for BPF and run by the kernel, the law gives the same as law.py, also for the largest numbers."""
    source, made = tmp_path / "law.c", tmp_path / "law.o"
    source.write_text(_RUN_OF_THE_LAW)
    folder = Path(compiler.__file__).parent
    subprocess.run([*compiler.command(), "-I", folder, "-c", source, "-o", made], check=True)
    with Loaded(made) as loaded:
        program = loaded._lib.bpf_object__find_program_by_name(loaded._object, b"law")
        descriptor = loaded._lib.bpf_program__fd(ctypes.c_void_p(program))

        @settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(seen, aims)
        def same(known: Known, aim: Aim) -> None:
            numbers = _Numbers(seen=CSeen.of(known), aim=CAim.of(aim))
            run = _TestRun(
                size=ctypes.sizeof(_TestRun),
                context_in=ctypes.addressof(numbers),
                context_in_bytes=ctypes.sizeof(numbers),
            )
            assert loaded._lib.bpf_prog_test_run_opts(descriptor, ctypes.byref(run)) == 0
            assert choice_of(numbers.choice) == decide(known, aim)

        same()
