"""Tests of `priolab gate` against a running server, on loopback: the tests' own front, sound and with faults."""

import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from priolab.client.plan import PROBE_LEAST_BYTES
from priolab.common.process.interruption import Interrupted
from priolab.experiments.cli import main
from priolab.extras.gate import runs
from priolab.extras.gate.checks import Check
from priolab.extras.gate.faults import Fault as Named
from priolab.extras.gate.tests.front.folder import front_folder
from priolab.extras.gate.tests.front.gates import NAMES
from priolab.extras.gate.tests.front.scheduler import Fault
from tests.support.capabilities import each
from tests.support.documented import documented, row_like
from tests.support.fronts import NAME, running_front
from tests.support.lab import priolab_here

_SHOWN = {
    Fault.FORGETS_UPDATES: "update",
    Fault.LOST_BY_RESET: "reset",
    Fault.MIXES_CONNECTIONS: "connections",
    Fault.WAITS_FOR_BLOCKED: "blocked",
    Fault.EARLY_UPDATE: "updates",
    Fault.BREAKS_AT_ENDED: "used",
}
"""Faults that differ from each other in what the client does before the probe; lab/test_gate.py has all."""


def gate(
    fault: Fault,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    *kinds: str,
    path: str = "/image.jpg",
    scheme: str = "https",
    more: str = "",
) -> tuple[int, str]:
    """Run the gate on a running front with this fault; return exit code and output.

    kinds: the checks; if none is given, those of the gate's own expectations. more: further lines of its server.toml.
    """
    expect = folder / "expect.toml"
    expect.write_text("format = 1\n" + "".join(f'[[check]]\nkind = "{kind}"\n' for kind in kinds))
    server = front_folder(folder / "server", fault, more=more)
    with running_front(str(server), folder, size_bytes=PROBE_LEAST_BYTES * 5 // 4) as (settings, _):
        url = f"{scheme}://{NAME}:{settings.port}{path}"
        words = ["--expect", str(expect)] if kinds else []
        words += ["--ca", str(settings.certificates.ca)] if scheme == "https" else []
        code = main(["gate", url, *words, "--connect", "127.0.0.1", "--limit", "300s"])
    out, err = capsys.readouterr()
    return code, out + err


def test_a_sound_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All probes hold; the load over the lab's link is not checked, and the last line says so."""
    code, out = gate(Fault.NONE, tmp_path, capsys)
    assert code == 0, out
    assert "15 of 15 checks hold; 1 not checked (" in out.splitlines()[-1]
    assert "not checked  late, header: needs the lab's link or origin" in out


@pytest.mark.parametrize("fault", [Fault.NONE, Fault.MIXES_CONNECTIONS], ids=str)
def test_without_tls(tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: Fault) -> None:
    """At an http:// URL the client speaks HTTP/2 with prior knowledge, on other connections, too."""
    words = ("urgency", "connections", "blocked")
    code, out = gate(fault, tmp_path, capsys, *words, scheme="http", more="tls = false\n")
    assert code == (fault is not Fault.NONE), out
    assert (f": 2 of 3 checks hold; {Named.MIXES_CONNECTIONS}" if code else ": 3 of 3 checks hold") in out


@pytest.mark.parametrize("fault", _SHOWN, ids=str)
def test_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: Fault) -> None:
    """The fault is named, and no other."""
    code, out = gate(fault, tmp_path, capsys, "urgency", _SHOWN[fault])
    assert code == 1, out
    named: Named = NAMES[fault]
    assert f": 1 of 2 checks hold; {named} (" in out.splitlines()[-1]


def test_a_server_that_dies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that ends in the middle: each check has one line with the reason."""
    code, out = gate(Fault.DIES, tmp_path, capsys, "urgency", "reset")
    assert code == 1
    failed = [line for line in out.splitlines() if line.startswith("FAIL ")]
    assert len(failed) == 2
    assert all("the front closed the connection" in line or "connect" in line for line in failed), out


def test_a_server_without_the_resource(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The reason has the server's status."""
    code, out = gate(Fault.NONE, tmp_path, capsys, "urgency", path="/nothing")
    assert code == 1
    assert "the front answered /nothing with status 404" in out


def test_a_summary_that_cannot_be_written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that the environment names is checked before the probes, as that of the option."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/proc/none/summary.md")
    assert main(["gate", "https://127.0.0.1:1/x"]) == 1
    assert capsys.readouterr().err == "priolab: gate: /proc/none/summary.md cannot be written\n"


def test_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with one line if nothing listens."""
    assert main(["gate", "https://127.0.0.1:1/x"]) == 1
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert "cannot connect to 127.0.0.1:1" in err


def test_the_time_limit() -> None:
    """A server that accepts connections and says nothing: the command ends at its limit, with one line."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = priolab_here("gate", f"https://127.0.0.1:{silent.getsockname()[1]}/x", "--limit", "1s")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "took more than 1 s; --limit gives more time" in done.stderr


def test_an_interruption(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the report has the checks that were finished, and the exit code is the signal's."""
    at_url = runs.at_url

    def interrupted(target: str, connect: str | None, ca: Path | None, checks: Sequence[Check], *others: Any) -> None:
        at_url(target, connect, ca, checks[:1], *others)
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(runs, "at_url", interrupted)
    code, out = gate(Fault.NONE, tmp_path, capsys, "urgency", "blocked")
    assert code == 128 + signal.SIGINT
    assert [line.partition(":")[0].split() for line in out.splitlines()[-4:-2]] == [
        ["pass", "urgency,", "header"],
        ["not", "checked", "blocked,", "header"],
    ], out
    assert out.splitlines()[-2].startswith("FAIL: ")
    assert out.endswith("priolab: interrupted by SIGINT; the report has the checks that were finished\n")


@pytest.mark.parametrize("name", each(("h2o", "caddy")))
def test_it_agrees_with_the_probe(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Gate and `priolab probe` have the matrix's word for one server, and name the same weights and expected shares."""
    word = documented()["servers"][row_like(name)]["dialects"]["plain"]["reading"]
    expect = tmp_path / "expect.toml"
    expect.write_text('format = 1\n[[check]]\nkind = "urgency"\ndialect = "plain"\n')
    with running_front(name, tmp_path, size_bytes=PROBE_LEAST_BYTES * 5 // 4) as (settings, _):
        url = f"https://{NAME}:{settings.port}/image.jpg"
        where = ["--connect", "127.0.0.1", "--ca", str(settings.certificates.ca)]
        assert main(["gate", url, "--expect", str(expect), *where]) == 1
        of_gate = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("FAIL "))
        assert main(["probe", url, "--dialect", "plain", *where]) == 0
    of_probe = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert f"; {word}: weights 183:147 ask for 55%; the stream asked for first got " in of_gate
    assert "; weights 256:32 ask for 89%; the stream asked for first got " in of_gate
    assert any(line.startswith(f"plain {word} weights 183:147 ask for 55% ") for line in of_probe), of_probe
    assert any(line.startswith("weights 256:32 ask for 89% ") for line in of_probe), of_probe
