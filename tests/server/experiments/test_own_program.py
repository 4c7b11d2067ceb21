"""Tests of the check of a user's own program: what is found before the runs, and said in one line."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from priolab.common.elf import Elf, read_elf
from priolab.common.errors import Unavailable
from priolab.common.process.program_logs import first_complaint
from priolab.experiments.execution.server_record import origin_of
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.setup.programs import tools_for
from priolab.experiments.setup.user_files import digest_of
from priolab.experiments.setup.user_program import inspected, version_said
from tests.support.own_files import build, installed, server_folder, wrapper

_LOADER = b"/lib64/ld-linux-x86-64.so.2"
_EM_AARCH64, _EM_X86_64 = 183, 62


def _elf(path: Path, machine: int, loader: bytes) -> Path:
    """Write the headers of a 64-bit ELF file with one program header, which names the loader."""
    header = struct.pack(
        "<4sBBBBQHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 2, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    of_loader = struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(loader) + 1, len(loader) + 1, 1)
    path.write_bytes(header + of_loader + loader + b"\0")
    path.chmod(0o755)
    return path


def test_headers(tmp_path: Path) -> None:
    """The machine and the loader are read from an ELF file; other files are none, and damaged headers are an error."""
    assert read_elf(_elf(tmp_path / "a", _EM_AARCH64, b"/lib/ld-musl-aarch64.so.1")) == Elf(
        machine="aarch64", loader="/lib/ld-musl-aarch64.so.1"
    )
    script = tmp_path / "b"
    script.write_text("#!/bin/sh\n")
    assert read_elf(script) is None
    script.write_bytes(b"\x7fELF\x02\x01")
    with pytest.raises(ValueError, match="damaged"):
        read_elf(script)


def test_a_build(tmp_path: Path) -> None:
    """A build of one's own is found with its loader and libraries, and prints its version."""
    found = inspected(str(build(tmp_path / "nginx")), "PROGRAM=x")
    assert found.path == tmp_path / "nginx"
    assert found.loader
    assert any(library.name.startswith("libc.so") for library in found.libraries)
    assert version_said([str(found.path), "-v"], "PROGRAM=x").startswith("nginx version: nginx/")


def _written(text: str, mode: int = 0o755) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        path.write_text(text)
        path.chmod(mode)

    return write


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda _: None, "No such file or directory; name a program"),
        (Path.mkdir, "it is a folder; name the program in it, such as PROGRAM="),
        (_written("#!/bin/sh\n", 0o644), r"it is not executable; run `chmod \+x "),
        (_written("hello\n"), "it is neither an ELF program nor a script that begins with #!; build"),
        (_written("#!/no/such/shell -e\n"), "its first line names /no/such/shell, which cannot be executed; correct"),
        (lambda path: _elf(path, _EM_AARCH64, _LOADER), "it is a program for aarch64, and this machine is "),
        (
            lambda path: _elf(path, _EM_X86_64, b"/lib/ld-of-another-libc.so.1"),
            "its loader /lib/ld-of-another-libc.so.1 does not exist here: it was built for another C library or system",
        ),
        (
            lambda path: build(path, b"libz.so.1\0", b"libq.so.9\0"),
            r"the loader does not find its library libq.so.9; inst",
        ),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, make: Callable[[Path], object], told: str) -> None:
    """Each kind of file that cannot run here has a message of one line, with a remedy."""
    make(tmp_path / "mine")
    with pytest.raises(Unavailable, match=told) as caught:
        inspected(str(tmp_path / "mine"), "PROGRAM=./mine")
    assert str(caught.value).startswith("PROGRAM=./mine cannot be used here: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo starting; echo mine; exit 3", "mine -v` ended with exit code 3: mine; name a program that prints its"),
        ("exit 0", "mine -v` ended with exit code 0, and printed no version; name a program"),
        ("exec /no/such/nginx", "ended with exit code 127: .*/no/such/nginx: not found"),
        ("kill -SEGV $$", "was ended by signal 11: it printed nothing"),
    ],
)
def test_no_version(tmp_path: Path, script: str, told: str) -> None:
    """A program that does not print its version cannot be used, because results record it."""
    _written(f"#!/bin/sh\n{script}\n")(tmp_path / "mine")
    with pytest.raises(Unavailable, match=told):
        version_said([str(tmp_path / "mine"), "-v"], "PROGRAM=./mine")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["{folder}/absent", "-v"], r"`/\S+/front/absent -v` cannot be started: No such file or directory"),
        (
            ["env", "absent", "-v"],
            r"`env absent -v` ended with exit code 127: env: .absent.: No such file or directory",
        ),
        (["sh", "-c", "echo one; echo two; exit 3"], "`sh -c echo one; echo two; exit 3` ended with exit code 3: two"),
        (["true"], "`true` ended with exit code 0, and printed no version"),
    ],
)
def test_a_servers_command_prints_no_version(tmp_path: Path, command: list[str], told: str) -> None:
    """The error of one line quotes the command of server.toml, its exit code and its last line."""
    entry = server_folder(tmp_path / "front") / "server.toml"
    entry.write_text(entry.read_text().replace('["{program}", "-v"]', json.dumps(command)))
    with pytest.raises(Unavailable, match=told) as caught:
        tools_for(scenario_from({"SERVER": str(tmp_path / "front")}), capture=False)
    assert str(caught.value).startswith(f"SERVER={tmp_path}/front cannot be used here: ")
    assert str(caught.value).endswith(f"; install what it needs, or correct `version` in {entry}")
    assert "\n" not in str(caught.value)


def test_a_program_outside_of_the_servers_folder(tmp_path: Path) -> None:
    """The digest of the folder does not have such a program, so the records have its digest, too."""
    folder = server_folder(tmp_path / "front")
    (folder / "server").rename(tmp_path / "server")
    entry = (folder / "server.toml").read_text()
    (folder / "server.toml").write_text(entry.replace('"./server"', '"../server"'))
    scenario = scenario_from({"SERVER": str(folder)})
    versions = tools_for(scenario, capture=False).versions
    digest = digest_of(tmp_path / "server", "x")
    assert versions[f"program of SERVER={folder}"] == digest
    assert origin_of(scenario, versions)["own"]["program"] == digest.removeprefix("sha256 ")


def test_versions_and_digests(tmp_path: Path) -> None:
    """The record has the version that the program prints, and digests of the content of the user's files."""
    mine, folder = wrapper(tmp_path / "mine", "mine/7.1"), server_folder(tmp_path / "front")
    tools = tools_for(scenario_from({"PROGRAM": str(mine)}), capture=False)
    assert tools.programs["front"] == str(mine)
    assert tools.versions["nginx"] == "nginx version: mine/7.1"
    digest = digest_of(mine, "x")
    assert tools.versions[f"PROGRAM={mine}"] == f"nginx version: mine/7.1, {digest}"
    wrapper(mine, "mine/7.2")
    assert digest_of(mine, "x") != digest
    own = tools_for(scenario_from({"SERVER": str(folder)}), capture=False)
    assert own.programs["front"] == str(folder / "server")
    before = own.versions[f"SERVER={folder}"]
    assert before == digest_of(folder, "x")
    (folder / "more").touch()
    assert digest_of(folder, "x") != before
    stock = tools_for(scenario_from({}), capture=False)
    assert stock.programs["front"] == installed()
    assert set(stock.versions) == {"node", "nginx", "iproute2"}


def test_the_first_complaint(tmp_path: Path) -> None:
    """The first line that looks like an error is found, in the order of the logs; else the first line of all."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("starting\n\n2026 [notice] fine\n")
    assert first_complaint([tmp_path / "absent", one]) == ("starting", one)
    other.write_text("hello\nnginx: [emerg] unknown directive\nerror again\n")
    assert first_complaint([one, other]) == ("nginx: [emerg] unknown directive", other)
    assert first_complaint([tmp_path / "absent"]) is None
