"""Tests of a capture's requirements, and of the files made from raw packets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.process import processes
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress
from priolab.experiments.execution.request import Request, RunSettings, arms_for
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.run import capture
from priolab.experiments.run.fabrics import FABRICS


@pytest.mark.parametrize(
    ("own_tcpdump", "missing", "said"),
    [
        (False, ["tcpdump"], "tcpdump is not installed; run `apt-get install tcpdump`"),
        (False, ["editcap"], "editcap is not installed; run `apt-get install wireshark-common`"),
        (
            False,
            ["tcpdump", "editcap"],
            "tcpdump and editcap are not installed; run `apt-get install tcpdump wireshark-common`",
        ),
        (True, ["tcpdump", "editcap"], "editcap is not installed; run `apt-get install wireshark-common`"),
    ],
)
def test_all_that_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch,
    own_tcpdump: bool,  # noqa: FBT001
    missing: Sequence[str],
    said: str,
) -> None:
    """A single line names all missing programs and their packages. Containers have their own tcpdump."""
    monkeypatch.setattr(capture, "find", lambda program: None if program in missing else program)
    with pytest.raises(Unavailable) as caught:
        capture.check(own_tcpdump=own_tcpdump)
    assert str(caught.value) == f"CAPTURE=yes cannot be used here: {said}"


@pytest.mark.parametrize("fabric", FABRICS)
def test_nothing_is_run_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fabric: str) -> None:
    """A request for packets that cannot be captured fails before an image is built or a folder made."""
    monkeypatch.setattr(capture, "find", lambda _: None)
    request = Request(
        name="maps",
        arms=tuple(arms_for({}, control=False)),
        repeat=1,
        run_settings=RunSettings(
            fabric=FABRICS[fabric],
            fabric_reason="as asked",
            sample=None,
            capture=True,
        ),
        results=tmp_path / "results",
    )
    steps: list[Any] = []
    with pytest.raises(Unavailable, match="CAPTURE=yes"):
        run_experiment(request, Progress(step=lambda *step: steps.append(step), ended=lambda *_: None))
    assert steps == []
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Return a run folder with TLS keys and the raw packets of both ends."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    folder.wire.mkdir()
    (folder.client / "keys.log").write_text("keys")
    for end in ("client", "server"):
        (folder.wire / f"{end}.pcap").write_text(f"packets of the {end}")
    return folder


def _fake_editcap(monkeypatch: pytest.MonkeyPatch, *, fails_on: str = "") -> list[list[str]]:
    commands: list[list[str]] = []

    def run(command: Sequence[str], *, step: str, **_: Any) -> str:
        commands.append(list(command))
        raw, made = map(Path, command[-2:])
        made.write_text(raw.read_text())
        if raw.name == fails_on:
            raise StepFailed(step, "no space left")
        return ""

    monkeypatch.setattr(processes, "run", run)
    return commands


def _wire(folder: RunFolder) -> set[str]:
    return {path.name for path in folder.wire.iterdir()}


def test_both_ends_get_the_keys(monkeypatch: pytest.MonkeyPatch, folder: RunFolder) -> None:
    """The keys are added to the packets of both ends, and the raw packets are removed."""
    commands = _fake_editcap(monkeypatch)
    capture.finish(folder)
    assert _wire(folder) == {"client.pcapng", "server.pcapng"}
    assert [command[1:3] for command in commands] == 2 * [["--inject-secrets", f"tls,{folder.client / 'keys.log'}"]]


def test_without_a_handshake_there_are_no_keys(monkeypatch: pytest.MonkeyPatch, folder: RunFolder) -> None:
    """A run without keys, which failed before the TLS handshake, still has its packets."""
    (folder.client / "keys.log").unlink()
    commands = _fake_editcap(monkeypatch)
    capture.finish(folder)
    assert _wire(folder) == {"client.pcapng", "server.pcapng"}
    assert not any("--inject-secrets" in command for command in commands)


def test_a_file_is_whole_or_not_there(monkeypatch: pytest.MonkeyPatch, folder: RunFolder) -> None:
    """If the file of one end cannot be made, it is removed and the reason given. The other end's file is made."""
    _fake_editcap(monkeypatch, fails_on="client.pcap")
    with pytest.raises(StepFailed, match=r"the capture wire/client\.pcapng: no space left"):
        capture.finish(folder)
    assert _wire(folder) == {"server.pcapng"}


def test_an_end_without_packets_is_told(monkeypatch: pytest.MonkeyPatch, folder: RunFolder) -> None:
    """An end without packets is reported, and the other end's packets are kept."""
    _fake_editcap(monkeypatch)
    (folder.wire / "server.pcap").unlink()
    with pytest.raises(StepFailed, match=r"the capture wire/server\.pcapng: no packets were recorded"):
        capture.finish(folder)
    assert _wire(folder) == {"client.pcapng"}
