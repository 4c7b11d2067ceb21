"""Both tuners against real sockets on loopback: what they set, what they leave alone, what is left when they die."""

import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from common.formats.decisions import DRY_RUN, SET, Decision, Trigger
from common.formats.reading import read_journal
from experiments.host.cache import cache_folder
from experiments.testbed.namespaces.cgroup import own_group
from proxy.tuner import compiler
from proxy.tuner.in_kernel import InKernel
from proxy.tuner.law import Aim, decide
from proxy.tuner.law import Seen as Known
from proxy.tuner.libbpf import Loaded
from proxy.tuner.tuner import CannotTune, Tuner
from proxy.tuner.userland import Userland
from tests.server.echo import lowat_of, serving, talk, until
from tests.tuner_numbers import CAim, CChoice, CSeen, aims, choice_of, seen

_MORE_THAN_THE_RING_HOLDS = 2500


@pytest.fixture
def group(bpf: None) -> Iterator[Path]:  # noqa: ARG001
    """A cgroup of the test's own."""
    with own_group(f"priolab-test-{os.getpid()}") as path:
        yield path


def test_in_the_kernel(tmp_path: Path, group: Path) -> None:
    """What a cgroup's server accepts is tuned, with the numbers in the journal; what it asks others for is not."""
    told: list[Decision] = []
    with serving(tmp_path, group) as (_, port):
        tuner = InKernel(compiler.compiled(cache_folder()), group, Aim(), told.append, pytest.fail)
        with tuner, socket.create_connection(("127.0.0.1", port)) as client:
            talk(client)
            tuner.look(0)
            assert lowat_of(client) == told[-1].new_bytes
            _check(told, client)
            # The client's end is in no cgroup of the tuner's.
            assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == 0
        told.clear()
        with socket.create_connection(("127.0.0.1", port)) as client:
            talk(client)
            assert lowat_of(client) == 0, "it is detached"
    assert told == []


def test_in_the_kernel_by_way_of_trial(tmp_path: Path, group: Path) -> None:
    """A dry run tells and sets nothing, and of another port it tells nothing."""
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
    """As when systemd starts a service again: its end is said, and its successor's connections are tuned."""
    told: list[Decision] = []
    said: list[str] = []
    program = compiler.compiled(cache_folder())
    with InKernel(program, group, Aim(), told.append, said.append) as tuner:
        waited_ns = tuner.look(0)
        for _ in range(2):
            group.rmdir()
            assert tuner.look(0) < waited_ns
            tuner.look(0)
            assert said.pop() == f"cgroup {group} is gone; waiting for another"
            group.mkdir()
            tuner.look(0)
            assert said.pop() == f"cgroup {group} is there again; tuning"
        group.rmdir()
        group.mkdir()
        tuner.look(0)
        assert [line.split(";")[0] for line in said] == [f"cgroup {group} is gone", f"cgroup {group} is there again"]
        with serving(tmp_path, group) as (_, port), socket.create_connection(("127.0.0.1", port)) as client:
            talk(client)
            tuner.look(0)
            assert lowat_of(client) == told[-1].new_bytes
            _check(told, client)


def test_a_journal_that_fails_at_the_end(tmp_path: Path, group: Path) -> None:
    """Whatever is told last, and whether or not it can be, the program is gone from the cgroup."""

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
    """Those that are lost are counted, and every connection has its value all the same."""
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
        assert lost + len(told) > _MORE_THAN_THE_RING_HOLDS
        tuner.look(0)
        assert said == [line], "once"


def test_from_beside(tmp_path: Path) -> None:
    """Connections that are there already are tuned, too; a dry run tells and sets nothing."""
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
    """The decisions follow from the numbers in them, each from the one before, and name the client."""
    assert (told[0].event, told[0].old_bytes) == (Trigger.ESTABLISHED, 0)
    for before, after in pairwise(told):
        assert after.old_bytes == before.new_bytes
    for decision in told:
        known = Known(
            delivery_rate_bytes_s=decision.delivery_rate_bytes_s,
            acked_rate_bytes_s=decision.acked_rate_bytes_s,
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
    """Killed outright, it leaves connections with what they have, and the server serves on."""
    group = request.getfixturevalue("group") if tuner == "--cgroup" else None
    log = tmp_path / "log"
    with serving(tmp_path, group) as (pid, port):
        whose = str(group or pid)
        command = [sys.executable, "-m", "experiments.cli", "tune", tuner, whose, "--log", str(log)]
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
    """There is nothing left to tune, and that is said."""
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
    """Compiled for BPF, verified and run by the kernel, it gives what law.py gives, the largest numbers included."""
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
