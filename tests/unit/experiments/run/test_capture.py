"""What a capture needs, and what is made of raw packets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.errors import StepFailed, Unavailable
from experiments.execution.experiment import Progress, run_experiment
from experiments.execution.request import Manner, Request, arms_for
from experiments.host import processes
from experiments.results.run_folder import RunFolder
from experiments.run import capture
from experiments.run.fabrics import FABRICS


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
    """In one line, with the packages; containers bring tcpdump with them."""
    monkeypatch.setattr(capture, "find", lambda program: None if program in missing else program)
    with pytest.raises(Unavailable) as caught:
        capture.check(own_tcpdump=own_tcpdump)
    assert str(caught.value) == f"CAPTURE=yes cannot be used here: {said}"


@pytest.mark.parametrize("fabric", FABRICS)
def test_nothing_is_run_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fabric: str) -> None:
    """No image is built and no folder made before it is known that packets can be captured."""
    monkeypatch.setattr(capture, "find", lambda _: None)
    request = Request(
        name="maps",
        arms=tuple(arms_for({}, control=False)),
        repeat=1,
        manner=Manner(
            fabric=FABRICS[fabric],
            fabric_reason="as asked",
            sample_ns=None,
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
    """A run folder with keys and the raw packets of both ends."""
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
    """And raw packets do not stay."""
    commands = _fake_editcap(monkeypatch)
    capture.finish(folder)
    assert _wire(folder) == {"client.pcapng", "server.pcapng"}
    assert [command[1:3] for command in commands] == 2 * [["--inject-secrets", f"tls,{folder.client / 'keys.log'}"]]


def test_without_a_handshake_there_are_no_keys(monkeypatch: pytest.MonkeyPatch, folder: RunFolder) -> None:
    """The packets of a run that failed so early can be looked at all the same."""
    (folder.client / "keys.log").unlink()
    commands = _fake_editcap(monkeypatch)
    capture.finish(folder)
    assert _wire(folder) == {"client.pcapng", "server.pcapng"}
    assert not any("--inject-secrets" in command for command in commands)


def test_a_file_is_whole_or_not_there(monkeypatch: pytest.MonkeyPatch, folder: RunFolder) -> None:
    """What was begun for one end is removed and the reason told; the other end's is made."""
    _fake_editcap(monkeypatch, fails_on="client.pcap")
    with pytest.raises(StepFailed, match=r"the capture wire/client\.pcapng: no space left"):
        capture.finish(folder)
    assert _wire(folder) == {"server.pcapng"}


def test_an_end_without_packets_is_told(monkeypatch: pytest.MonkeyPatch, folder: RunFolder) -> None:
    """The other end's are kept."""
    _fake_editcap(monkeypatch)
    (folder.wire / "server.pcap").unlink()
    with pytest.raises(StepFailed, match=r"the capture wire/server\.pcapng: no packets were recorded"):
        capture.finish(folder)
    assert _wire(folder) == {"client.pcapng"}
