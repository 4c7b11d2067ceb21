"""Tests of a guest kernel that was built elsewhere: it is checked, and then kept like one that is built here."""

import hashlib
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from priolab.common.errors import LabError, ScenarioError, Unavailable
from priolab.testbed.guest import kernel, kernel_source, prebuilt
from priolab.testbed.guest.kernel import BuildRecord
from priolab.testbed.guest.kernel_source import SourceChoice

pytestmark = pytest.mark.usefixtures("gcc")

_RECORD = BuildRecord(
    version="7.2.13",
    source="linux-7.2.13.tar.xz",
    compiler="gcc 12",
    changes=["one"],
    lacking=[],
    stands_in=False,
    sha256="",
)
_PROGRAM = '#include <stdio.h>\nint main(void) { puts("CONFIG_BUILD_SALT=\\"%s\\""); return 0; }\n'


def _silent(step: str, fraction: float, left_s: float | None) -> None:
    assert step
    assert 0 <= fraction <= 1
    assert left_s is None


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a program that says the name of this lab's kernel, its record beside it. The cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(kernel_source.VARIABLE, raising=False)
    name = kernel._file(SourceChoice(version=(7, 2))).name
    return _built(tmp_path / name, name)


def _built(file: Path, name: str) -> Path:
    subprocess.run(["gcc", "-x", "c", "-", "-o", file], input=_PROGRAM % name, text=True, check=True)
    file.with_name(f"{file.name}.json").write_text(json.dumps(asdict(_record(file))))
    return file


def _record(file: Path) -> BuildRecord:
    return replace(_RECORD, sha256=kernel.digest_of(file))


def _bring_in(monkeypatch: pytest.MonkeyPatch, wish: str | Path) -> Path:
    monkeypatch.setenv(kernel_source.VARIABLE, str(wish))
    return kernel.build(_silent)


@pytest.fixture
def address(built: Path) -> Iterator[str]:
    """Serve the folder of the program by HTTP, on loopback."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(built.parent))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_kernel_is_brought_in_by_its_path(monkeypatch: pytest.MonkeyPatch, built: Path) -> None:
    """The kernel and its record get into the cache, and runs without KERNEL use them, too."""
    target = _bring_in(monkeypatch, built)
    assert target.read_bytes() == built.read_bytes()
    monkeypatch.delenv(kernel_source.VARIABLE)
    assert kernel.path() == target
    assert kernel.record() == _record(built)
    assert {path.name for path in target.parent.iterdir()} == {target.name, f"{target.name}.json", "build.lock"}


def test_an_archive_comes_by_http(monkeypatch: pytest.MonkeyPatch, built: Path, address: str) -> None:
    """A packed kernel is fetched and unpacked. The same kernel makes the same archive."""
    wish = prebuilt.archive(built, built.parent)
    archive, _, digest = Path(wish).name.partition("#sha256=")
    assert prebuilt.archive(built, built.parent) == wish
    target = _bring_in(monkeypatch, f"{address}/{archive}#sha256={digest}")
    assert target.read_bytes() == built.read_bytes()
    assert kernel.record() == _record(built)


def _refused(
    monkeypatch: pytest.MonkeyPatch, wish: str | Path, pattern: str, error: type[LabError] = Unavailable
) -> None:
    with pytest.raises(error, match=pattern) as caught:
        _bring_in(monkeypatch, wish)
    assert "\n" not in str(caught.value)
    monkeypatch.delenv(kernel_source.VARIABLE)
    assert not kernel.is_built()


def test_the_digest_is_checked(monkeypatch: pytest.MonkeyPatch, built: Path, address: str) -> None:
    """A URL needs a digest. If the digest differs, the error shows the beginnings of both."""
    archive = Path(prebuilt.archive(built, built.parent).partition("#")[0])
    here = hashlib.sha256(archive.read_bytes()).hexdigest()
    _refused(monkeypatch, f"{address}/{archive.name}", r"its digest is missing; add it: KERNEL=http:.*#sha256=\.\.\.$")
    for place in (f"{address}/{archive.name}", str(archive)):
        _refused(
            monkeypatch, f"{place}#sha256={64 * '0'}", rf"its sha256 is {here[:12]}\.\.\., not 000000000000\.\.\.;"
        )
    _refused(monkeypatch, f"{address}/nowhere/{archive.name}#sha256={here}", "it cannot be fetched: ")


def test_a_file_that_is_no_kernel_is_refused(monkeypatch: pytest.MonkeyPatch, built: Path) -> None:
    """The error says why: no program, another machine, another name, no record, no archive, no file."""
    elsewhere = built.parent / "elsewhere"
    elsewhere.mkdir()
    file, record = elsewhere / built.name, elsewhere / f"{built.name}.json"
    _refused(monkeypatch, file, "No such file or directory")
    _built(file, "another")
    _refused(monkeypatch, file, "it is not a kernel of the lab, or has another name")
    shutil.copyfile(built, file)
    record.write_text("{}")
    _refused(monkeypatch, file, "it has no record of its build")
    record.write_text(json.dumps(asdict(_RECORD)))
    _refused(monkeypatch, file, "it differs from the kernel that its record describes")
    content = bytearray(built.read_bytes())
    content[18] = 243
    file.write_bytes(content)
    _refused(monkeypatch, file, "it is for riscv64, and this machine is ")
    file.write_text("no program\n")
    _refused(monkeypatch, file, "it is not a kernel of the lab;")
    packed = elsewhere / f"{built.name}.tar.gz"
    packed.write_text("no archive\n")
    _refused(monkeypatch, packed, "it is not an archive of a guest kernel and its record")


def test_a_kernel_of_another_recipe_is_refused(monkeypatch: pytest.MonkeyPatch, built: Path) -> None:
    """The error names the kernel that this version of the lab needs, before anything is read."""
    _refused(monkeypatch, "/nowhere/linux-7.2-0123456789ab", rf"allowed: {built.name}, which this", ScenarioError)
