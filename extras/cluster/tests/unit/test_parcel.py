"""Tests of run folders as archives."""

import gzip
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from priolab.extras.cluster.parcel import BadParcel, pack, unpack


def archive(*members: tarfile.TarInfo) -> bytes:
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as made:
        for member in members:
            made.addfile(member, BytesIO(bytes(member.size)))
    return content.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
    return info


def test_what_was_packed_comes_out(tmp_path: Path) -> None:
    """Unpacked folders have all files and folders, including empty ones, and their permissions."""
    made = tmp_path / "made"
    (made / "asked").mkdir(parents=True)
    (made / "wire").mkdir()
    (made / "run.json").write_bytes(b"{}\n")
    (made / "asked" / "front.key").write_bytes(bytes(range(256)) * 1000)
    (made / "asked" / "front.key").chmod(0o600)
    (made / "output.log").touch()
    unpack(pack(made), tmp_path / "there")
    for folder in (made, tmp_path / "there"):
        found = {
            str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
        }
        assert found == {
            "asked": None,
            "wire": None,
            "run.json": b"{}\n",
            "asked/front.key": bytes(range(256)) * 1000,
            "output.log": b"",
        }
        assert (folder / "asked" / "front.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "bad",
    [
        member("/etc/passwd"),
        member("../outside"),
        member("client/../../outside"),
        member("link", tarfile.SYMTYPE, "/etc"),
        member("link", tarfile.LNKTYPE, "run.json"),
        member("pipe", tarfile.FIFOTYPE),
        member("null", tarfile.CHRTYPE),
    ],
    ids=lambda info: f"{info.name} {info.type!r}",
)
def test_what_no_run_folder_holds(tmp_path: Path, bad: tarfile.TarInfo) -> None:
    """Paths outside the folder, links, and devices are refused, and not written."""
    room = tmp_path / "room"
    room.mkdir()
    with pytest.raises(BadParcel):
        unpack(archive(member("run.json"), bad), room / "there")
    assert [path.name for path in room.rglob("*")] == ["there", "run.json"]
    assert list(tmp_path.iterdir()) == [room]


def test_what_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that would exceed the size limit is not unpacked to its end."""
    monkeypatch.setattr("priolab.extras.cluster.parcel._MOST_BYTES", 2**20)
    with pytest.raises(BadParcel, match="its files have more than 1 MiB"):
        unpack(gzip.compress(bytes(2**20 + 1)), tmp_path / "there")


def test_what_was_damaged(tmp_path: Path) -> None:
    """An incomplete archive or one with a changed byte is refused."""
    content = archive(*(member(f"file-{number}") for number in range(100)))
    middle = len(content) // 2
    other = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    for number, bad in enumerate((b"", content[:20], content[:-8], other)):
        with pytest.raises(BadParcel):
            unpack(bad, tmp_path / str(number))
