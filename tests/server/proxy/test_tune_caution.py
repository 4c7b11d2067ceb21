"""Tests of the tuners beside servers with limits: existing limits hold, two tuners conflict, values are restored.

The sysctl in these tests is net.ipv4.tcp_notsent_lowat.
"""

import ctypes
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from priolab.common.cache_folder import cache_folder
from priolab.common.formats.decisions import Decision, Why
from priolab.experiments.testbed.namespaces.cgroup import own_group
from priolab.proxy.tuner import compiler, namespaces
from priolab.proxy.tuner.caution import HOLD_NS, Caution
from priolab.proxy.tuner.claim import Claimed, claimed_cgroup, claimed_process
from priolab.proxy.tuner.in_kernel import InKernel
from priolab.proxy.tuner.law import Aim
from priolab.proxy.tuner.namespaces import Sysctls
from priolab.proxy.tuner.tuner import CannotTune, Tuner
from priolab.proxy.tuner.userland import Userland
from tests.support.echo import have_set, lowat_of, serving, talk
from tests.support.waiting import until

_CLONE_NEWNET = 0x40000000
_SYSCTL = 131_072
_STRICT, _LOOSE, _CEILING = 50_000, 200_000, 100_000
_LONG_NS = 10**15
_libc = ctypes.CDLL(None, use_errno=True)
_Do = Callable[..., Any]
_Tune = Callable[..., AbstractContextManager[Tuner]]


@pytest.fixture
def group(bpf: None) -> Iterator[Path]:  # noqa: ARG001
    """Return a new cgroup for the test."""
    with own_group(f"priolab-test-{os.getpid()}") as path:
        yield path


@pytest.fixture
def apart(bpf: None) -> Iterator[_Do]:  # noqa: ARG001
    """Return a function that calls `do` in a network namespace with a strict sysctl.
    Processes and sockets that `do` creates stay in this namespace.
    """

    def leave() -> None:
        assert _libc.unshare(_CLONE_NEWNET) == 0
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        Path("/proc/sys/net/ipv4/tcp_notsent_lowat").write_text(str(_SYSCTL))

    with ThreadPoolExecutor(1) as thread:
        thread.submit(leave).result()
        yield lambda do, *args: thread.submit(do, *args).result()


@pytest.fixture
def told() -> list[Decision]:
    """Return the list of the tuner's decisions."""
    return []


@pytest.fixture(params=["bpf", "userland"])
def tune(request: pytest.FixtureRequest, told: list[Decision], group: Path) -> _Tune:
    """Return a function that makes a tuner for the process `pid`, which is in the cgroup."""

    def make(pid: int, aim: Aim | None = None, *, keeps_sysctl: bool = True, hold_ns: int = HOLD_NS) -> Tuner:
        sysctls, aim = Sysctls() if keeps_sysctl else None, aim or Aim()
        if request.param == "userland":
            caution = Caution(claim=claimed_process, sysctls=sysctls, hold_ns=hold_ns)
            return Userland(pid, aim, told.append, caution=caution)
        program, caution = (
            compiler.compiled(cache_folder()),
            Caution(claim=claimed_cgroup, sysctls=sysctls, hold_ns=hold_ns),
        )
        return InKernel(program, group, aim, told.append, pytest.fail, caution=caution)

    return make


def _looked_at(tuner: Tuner, client: socket.socket) -> int:
    """Return LOWAT of the server's end after the tuner had occasions to change it."""
    for seconds in range(3):
        talk(client)
        tuner.look(time.monotonic_ns() + seconds * 10**9)
    return lowat_of(client)


def test_never_more_than_the_sysctl(tune: _Tune, apart: _Do, group: Path, tmp_path: Path, told: list[Decision]) -> None:
    """LOWAT stays below the sysctl of the connection's network namespace, unless a ceiling is given."""
    with ExitStack() as stack:
        pid, port = apart(stack.enter_context, serving(tmp_path, group))
        for keeps_sysctl in (True, False):
            with (
                tune(pid, keeps_sysctl=keeps_sysctl) as tuner,
                apart(socket.create_connection, ("127.0.0.1", port)) as client,
            ):
                lowat_bytes = _looked_at(tuner, client)
                assert (lowat_bytes <= _SYSCTL) == keeps_sysctl
                assert all(decision.new_bytes <= _SYSCTL for decision in told) == keeps_sysctl
                assert {decision.why for decision in told} <= set(Why)


def test_the_servers_own_limit(tune: _Tune, group: Path, tmp_path: Path) -> None:
    """A LOWAT that the server set is an upper limit for the tuner, and `restore` sets it again."""
    aim = Aim(ceiling_bytes=_CEILING)
    with serving(tmp_path, group) as (pid, port), ExitStack() as stack:
        with tune(pid, aim) as tuner:
            strict, loose, unset = (
                stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(3)
            )
            have_set(strict, _STRICT)
            have_set(loose, _LOOSE)
            assert _looked_at(tuner, strict) == _STRICT
            assert 0 < _looked_at(tuner, loose) <= _CEILING
            assert 0 < _looked_at(tuner, unset) <= _CEILING
            have_set(unset, _STRICT)
            assert _looked_at(tuner, unset) <= _STRICT
            have_set(unset, 0)
            assert 0 < _looked_at(tuner, unset) <= _CEILING
            assert tuner.restore() == 2
        assert [lowat_of(client) for client in (strict, loose, unset)] == [_STRICT, _LOOSE, 0]


def test_a_rate_that_flaps(tune: _Tune, group: Path, tmp_path: Path, told: list[Decision]) -> None:
    """The rate on loopback varies with every burst, but LOWAT only rises while no drop lasts for `hold_ns`."""
    with (
        serving(tmp_path, group) as (pid, port),
        tune(pid, hold_ns=_LONG_NS) as tuner,
        socket.create_connection(("127.0.0.1", port)) as client,
    ):
        for _ in range(20):
            _looked_at(tuner, client)
    assert told
    for before, after in pairwise(told):
        assert before.new_bytes == after.old_bytes < after.new_bytes


def test_a_second_tuner(tune: _Tune, group: Path, tmp_path: Path) -> None:
    """A second tuner is refused while the first one is running, and accepted afterwards."""
    with serving(tmp_path, group) as (pid, _):
        with (
            tune(pid),
            pytest.raises(Claimed, match=f"another tuner is at work (in cgroup {group}|on process {pid})"),
        ):
            tune(pid)
        with tune(pid):
            pass


def test_a_tuner_of_a_cgroup_above(group: Path) -> None:
    """A tuner of a cgroup excludes tuners of cgroups above and below it, but not of cgroups beside it."""
    program = compiler.compiled(cache_folder())
    inner, beside = group / "inner", group / "beside"
    with ExitStack() as stack:
        for folder in (inner, beside):
            folder.mkdir()
            stack.callback(folder.rmdir)
        caution = Caution(claim=claimed_cgroup, sysctls=None)
        make = partial(InKernel, program, aim=Aim(), note=lambda _: None, say=pytest.fail, caution=caution)
        with make(group), pytest.raises(Claimed, match=f"in cgroup {group};?"):
            make(inner)
        with make(inner), make(beside), pytest.raises(Claimed):
            make(group)


@pytest.mark.parametrize(
    ("error", "needed"),
    [(errno.EPERM, "run as root with CAP_SYS_ADMIN"), (errno.ENOPROTOOPT, "use Linux 5.14 or newer")],
)
def test_a_namespace_that_cannot_be_read(
    tune: _Tune, apart: _Do, group: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, needed: str
) -> None:
    """The tuner refuses to start if it cannot read the namespace's sysctl and no ceiling is given."""

    def refused(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    with ExitStack() as stack:
        pid, _ = apart(stack.enter_context, serving(tmp_path, group))
        monkeypatch.setattr(namespaces, "_enter_and_read", refused)
        with pytest.raises(CannotTune, match=f"process {pid}: .* cannot be read: {os.strerror(error)}") as raised:
            tune(pid)
        assert raised.value.remedy == f"{needed}, or give --ceiling BYTES"
        with tune(pid, keeps_sysctl=False):
            pass


@contextmanager
def _command(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Start `priolab tune`, and return its process when it is tuning."""
    command = [sys.executable, "-m", "priolab.experiments", "tune", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("tuning ")
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("how", ["--cgroup", "--pid"])
def test_values_put_back_on_a_signal(group: Path, tmp_path: Path, how: str, number: signal.Signals) -> None:
    """With `--restore`, connections get their earlier values back on a signal.
    Without it, they keep the tuner's values.
    """
    with serving(tmp_path, group) as (pid, port):
        words = [how, str(group if how == "--cgroup" else pid), "--ceiling", str(_CEILING), "--quiet"]
        for more, end in (
            (["--restore"], "stopped; connections given back their previous LOWAT: 1\n"),
            ([], "stopped; connections keep their LOWAT\n"),
        ):
            with _command(*words, *more) as process, socket.create_connection(("127.0.0.1", port)) as client:
                talk(client)
                until(partial(lowat_of, client))
                process.send_signal(number)
                assert process.communicate(timeout=10) == (end, "")
                assert process.returncode == 0
                assert (lowat_of(client) == 0) == bool(more)


@pytest.mark.parametrize("how", ["--cgroup", "--pid"])
def test_a_second_command(group: Path, tmp_path: Path, how: str) -> None:
    """A second command prints one line with the remedy, and exits with code 1."""
    with serving(tmp_path, group) as (pid, _):
        words = [how, str(group if how == "--cgroup" else pid)]
        where = f"in cgroup {group}" if how == "--cgroup" else f"on process {pid}"
        command = [sys.executable, "-m", "priolab.experiments", "tune", *words]
        with _command(*words):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = f"priolab: priolab tune cannot be used here: another tuner is at work {where}; end the other tuner first"
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{said}\n")


@pytest.mark.parametrize("words", [(), ("--ceiling", str(_LOOSE))])
def test_the_command_keeps_the_sysctl(apart: _Do, group: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """The command keeps LOWAT below the sysctl unless it is given a ceiling."""
    with ExitStack() as stack:
        _, port = apart(stack.enter_context, serving(tmp_path, group))
        stack.enter_context(_command("--cgroup", str(group), *words))
        client = stack.enter_context(apart(socket.create_connection, ("127.0.0.1", port)))
        talk(client)
        assert (lowat_of(client) > _SYSCTL) == bool(words)
