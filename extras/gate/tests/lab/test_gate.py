"""The gate in the guest: every planted fault is reported under its name, and the sound front passes."""

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from priolab.extras.gate import reports
from priolab.extras.gate.checks import KINDS, Check
from priolab.extras.gate.faults import Fault as Named
from priolab.extras.gate.findings import Result
from priolab.extras.gate.tests.front.folder import front_folder
from priolab.extras.gate.tests.front.gates import NAMES, few_checks, gates
from priolab.extras.gate.tests.front.scheduler import Fault
from tests.support.lab import Lab, priolab_here
from tests.support.selection import values_to_test

_CHECKS = len(KINDS)


_QUOTED = {Fault.INVERTS, Fault.BUFFERS}
_ONE_OF_A_KIND = {few_checks(fault): fault for fault in NAMES if fault not in _QUOTED}
_ALWAYS = {*_QUOTED, *_ONE_OF_A_KIND.values()}
_EACH = [fault if fault in _ALWAYS else pytest.param(fault, marks=pytest.mark.release) for fault in NAMES]


@pytest.fixture(scope="module")
def found(
    guest: None, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Mapping[Fault, Result]:
    """Return the result of the gate for the sound front, for each fault to be tested, and for a front that dies.

    A fault's gate has few checks; `make gates` runs all of them for each fault.
    """
    del guest
    folder = tmp_path_factory.mktemp("gate")
    wanted = values_to_test(request, "fault") | _QUOTED
    planted = [fault for fault in NAMES if fault in wanted]
    return dict(gates([Fault.NONE, *planted, Fault.DIES], folder, checks_of=few_checks))


@pytest.mark.parametrize("fault", _EACH, ids=str)
def test_each_fault_has_its_name(found: Mapping[Fault, Result], fault: Fault) -> None:
    """The gate fails, names this fault and no other, and quotes frames of both streams."""
    result = found[fault]
    assert not result.passed
    assert result.faults == [NAMES[fault]], list(reports.lines(result))
    named = next(finding for finding in result.findings if finding.faults)
    streams = {line.partition("DATA of stream ")[2].partition(":")[0] for line in named.frames if "DATA of" in line}
    assert len(streams) >= 2, named.frames
    assert any(f"{folder}/client/events.jsonl" in line for folder in named.folders for line in reports.lines(result))


def test_the_sound_front_passes(found: Mapping[Fault, Result]) -> None:
    """All checks hold."""
    result = found[Fault.NONE]
    assert [finding.passed for finding in result.findings] == [True] * _CHECKS, list(reports.lines(result))


@pytest.mark.release
@pytest.mark.usefixtures("guest")
def test_the_sound_front_passes_twenty_times(tmp_path: Path) -> None:
    """No gate of twenty raises an alarm. `make gates` makes a thousand."""
    results = [result for _, result in gates([Fault.NONE], tmp_path, repeat=20)]
    assert [result.faults for result in results] == [[]] * 20
    assert all(result.passed for result in results)


@pytest.mark.usefixtures("guest")
def test_limits_of_the_late_check(tmp_path: Path) -> None:
    """A front that keeps 128 KiB in its own queue fails where needless bytes are limited, and only there."""
    free, limited = Check(kind="late"), Check(kind="late", needless_bytes=65536)
    fault = Fault.BUFFERS_LITTLE
    verdicts = []
    for number, check in enumerate((free, limited)):
        folder = tmp_path / str(number)
        folder.mkdir()
        ((_, result),) = gates([fault], folder, checks_of=lambda _, check=check: (check,))  # type: ignore[misc]
        verdicts.append((result.passed, result.faults))
    assert verdicts == [(True, []), (False, [Named.BUFFERS])]


def test_frames_are_in_the_events(found: Mapping[Fault, Result]) -> None:
    """The bytes that a finding quotes add up to those in the recorded events."""
    (named,) = (finding for finding in found[Fault.INVERTS].findings if finding.faults)
    quoted = [int(line.split(": ")[1].split(" ")[0].replace(",", "")) for line in named.frames if "DATA of" in line]
    sizes = set()
    for folder in named.folders:
        lines = (Path(folder) / "client" / "events.jsonl").read_text().splitlines()
        data = [line for line in lines if '"kind": "data",' in line]
        sizes.add(sum(int(line.split('"size_bytes": ')[1].split(",")[0]) for line in data))
    assert sum(quoted) in sizes


def test_the_ledger_of_a_front_that_buffers(found: Mapping[Fault, Result]) -> None:
    """The finding has the ledger, in which the wait is in the front's output queue."""
    (named,) = (finding for finding in found[Fault.BUFFERS].findings if finding.faults)
    assert named.ledger is not None
    assert "in the front's output queue" in named.ledger


def test_a_front_that_dies(found: Mapping[Fault, Result]) -> None:
    """Every check has no result; each reason is one line that names the front and its exit code."""
    result = found[Fault.DIES]
    assert not result.passed
    assert all(finding.error for finding in result.findings)
    for finding in result.findings:
        assert "\n" not in finding.text
        assert "exit code 3" in finding.text, finding.text
        assert "front" in finding.text


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize("variable", [None, "inverts"])
def test_without_tls(lab: Lab, monkeypatch: pytest.MonkeyPatch, variable: str | None) -> None:
    """A server without TLS is gated if its entry says so, and gets the caller's variables that it names."""
    expect = lab.root / "expect.toml"
    expect.write_text('format = 1\n[[check]]\nkind = "urgency"\n[[check]]\nkind = "late"\nloads = 1\n')
    front = front_folder(lab.root / "front", more='tls = false\nenv = ["FRONT_FAULT"]\n')
    if variable is not None:
        monkeypatch.setenv("FRONT_FAULT", variable)
    words = (str(front), "FABRIC=virtual", f"RESULTS={lab.results}", "--expect", str(expect))
    done = priolab_here("gate", *words, temporary=lab.temporary)
    last = done.stdout.splitlines()[-1]
    assert ("FAIL: " if variable else "pass: ") in last, done.stdout + done.stderr
    assert (variable or "2 of 2 checks hold") in last


@pytest.mark.usefixtures("guest")
def test_a_server_that_is_not_ready(lab: Lab) -> None:
    """The first run is the last one, and its reason says what the server speaks instead."""
    front = front_folder(lab.root / "front", more="tls = false\n")
    entry = (front / "server.toml").read_text()
    (front / "server.toml").write_text(entry.replace("tls = false", "tls = true"))
    words = (str(front), "FABRIC=virtual", f"RESULTS={lab.results}")
    done = priolab_here("gate", *words, temporary=lab.temporary)
    assert done.returncode == 1
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL  ")]
    assert len(failed) == 1
    assert "the front speaks HTTP/2 without TLS (if it is to: tls = false in server.toml)" in failed[0]
    assert "1 check without a result; 15 not checked (" in done.stdout.splitlines()[-1]


@pytest.mark.usefixtures("guest")
def test_the_command(lab: Lab) -> None:
    """The command exits with 1, and writes JUnit XML and Markdown that name the fault."""
    expect = lab.root / "expect.toml"
    expect.write_text('format = 1\n[[check]]\nkind = "urgency"\n[[check]]\nkind = "incremental"\n')
    front = front_folder(lab.root / "front", Fault.INVERTS)
    junit, markdown = lab.root / "junit.xml", lab.root / "summary.md"
    words = (str(front), "FABRIC=virtual", f"RESULTS={lab.results}", "--expect", str(expect))
    done = priolab_here("gate", *words, "--junit", str(junit), "--summary", str(markdown), temporary=lab.temporary)
    assert done.returncode == 1, done.stderr
    assert "FAIL: " in done.stdout.splitlines()[-2]
    suite = ET.parse(junit).getroot()[0]
    assert {name: suite.attrib[name] for name in ("tests", "failures", "errors")} == {
        "tests": "2",
        "failures": "1",
        "errors": "0",
    }
    (failure,) = suite.iter("failure")
    assert failure.attrib["type"] == "inverts"
    assert "DATA of stream" in str(failure.text)
    assert "| urgency, header | FAIL | inverts: " in markdown.read_text()
