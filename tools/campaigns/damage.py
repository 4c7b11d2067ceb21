"""Random damage to files that the lab reads, and files outside the results, which no command may change."""

import contextlib
import gzip
import io
import json
import os
import random
import shutil
import socket
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LARGE_BYTES = 100 * 10**6
_SPARSE_BYTES = 20 * 2**30
_LARGE_EVERY = 100  # trials

_HOSTILE = (
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b31m", "\u202eabc", "\u2066abc", "a\rb", "a\nb", "\0", "\ud800"),
    *("[bold red]x[/]", "[/]", ":smile:", "{x}", "%s", "<script>", "../../outside", "/dev/zero", "", " ", "a" * 10**5),
    *("NaN", "-1", "\u200f", "\ufeff", "$(touch x)", "'; drop", "\u0301" * 50),
)
_NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 10**30, 10**400, -(2**63), -(10**30)),
    *(0.5, -0.5, 1.0, 1e308, -1e308, 1e-320, float("nan"), float("inf"), float("-inf"), 3e9),
)
_OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], [None], {"": None}, "text", [1, 2], {"a": {"b": 1}})
_DEEP = "@deep@"
_TOML = (
    *(
        "nan",
        "inf",
        "-1",
        "0",
        "1e400",
        "9" * 30,
        "9" * 5000,
        "true",
        "1979-05-27",
        "12:00:00",
        "[]",
        "{}",
        "[[1], [2]]",
    ),
    *('""', '"\\u001b[31m"', '"\\u202e"', '"[bold]"', "'''a\nb'''", '"a,b"', "[" * 3000 + "]" * 3000, "{a = {b = 1}}"),
    *(
        '"' + "1" * 10**6 + "kbps" + '"',
        "0x10",
        "1_000",
        "-0.0",
        '"\\u0000"',
        "[1, 'a', true]",
        '"1,' + "2," * 50000 + '3"',
    ),
)
_WRITTEN = (
    *("timeline.svg", "timeline.png", "timeline.html", "ledger-bar.svg", "knee.svg", "knee.md", ".knee.md.new"),
    *("knee.csv", "knee-values.csv", ".knee-values.csv.new", "exports", "exports/perfetto.json", "exports/loads.csv"),
    *("latest", ".experiment.json.new", ".sweep.json.new", ".timeline.svg", "exports/control.1.har", ".lock"),
)


Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of input that people give to the lab. make: writes it into a folder. commands: those that read it.

    share: its weight when the kind to damage is drawn. is_quick: False if it takes long to make.
    """

    make: Callable[[Path], None]
    commands: tuple[Words, ...]
    share: int
    is_quick: bool = True


@dataclass(kw_only=True)
class Trial:
    """A folder to damage. number: the trial's number. is_large: true if the damage is a journal of 100 MB."""

    folder: Path
    outside: Path
    number: int
    chance: random.Random
    is_large: bool = False

    def files(self, *endings: str) -> list[Path]:
        """Return regular files with these endings that are small enough to be read as a whole."""
        found = sorted(path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        found = [path for path in found if path.stat().st_size <= 2 * _LARGE_BYTES]
        return [path for path in found if path.name.endswith(endings)] if endings else found

    def one(self, *endings: str) -> Path:
        """Return a random file with these endings; in half of the cases experiment.json, sweep.json or run.json."""
        found = self.files(*endings) or self.files()
        heads = [path for path in found if path.name in ("experiment.json", "sweep.json", "run.json")]
        return self.chance.choice(heads if heads and self.chance.random() < 0.5 else found)


def fill(outside: Path) -> None:
    """Write files and folders that no command may change."""
    (outside / "folder").mkdir(parents=True)
    for name in ("file", "folder/file", "run.json", "experiment.json", "sweep.json", "latest"):
        (outside / name).write_text('{"format": 2, "arm": "outside"}\n')


def apply(trial: Trial) -> str:
    """Damage the trial's folder in one way, sometimes in two. Return a description of the damage."""
    if trial.number % _LARGE_EVERY == _LARGE_EVERY // 2 and trial.files(".jsonl"):
        return _large(trial)
    ways = _WAYS_OF_PACKED
    if trial.files(".json", ".jsonl", ".toml"):
        ways = _WAYS_OF_TOML if trial.files(".toml") else _WAYS
    told = []
    for _ in range(trial.chance.choice((1, 1, 1, 2))):
        told.append(trial.chance.choice(ways)(trial))
        if not trial.files():
            break
    return " and ".join(told)


def _told(trial: Trial, file: Path, what: str) -> str:
    return f"{file.relative_to(trial.folder)} {what}"


def _bits(trial: Trial) -> str:
    file = trial.one()
    content = bytearray(file.read_bytes())
    for _ in range(trial.chance.choice((1, 1, 3, 30)) if content else 0):
        content[trial.chance.randrange(len(content))] ^= 1 << trial.chance.randrange(8)
    file.write_bytes(content)
    return _told(trial, file, "with other bits")


def _cut(trial: Trial) -> str:
    file = trial.one()
    content = file.read_bytes()
    file.write_bytes(content[: trial.chance.randrange(len(content) + 1)])
    return _told(trial, file, "cut off")


def _garbage(trial: Trial) -> str:
    file = trial.one()
    file.write_bytes(
        trial.chance.choice((b"", b"\0" * 1000, b"\xff\xfe" * 50, trial.chance.randbytes(5000), b"null", b"0\n" * 9))
    )
    return _told(trial, file, "as garbage")


def _encoded(trial: Trial) -> str:
    file = trial.one()
    text = file.read_text(errors="replace")
    encoding = trial.chance.choice(("utf-16", "utf-32", "utf-8-sig", "cp037"))
    file.write_bytes(text.encode(encoding, errors="replace"))
    return _told(trial, file, f"in {encoding}")


def _inserted(trial: Trial) -> str:
    file = trial.one()
    content = file.read_bytes()
    at = trial.chance.randrange(len(content) + 1)
    what = trial.chance.choice((b"\0", b"\r\n", b"\x1b[2J", b"\xe2\x80\xae", b"\x0c", b"\xe2\x80\xa8", b"}{", b"NaN"))
    file.write_bytes(content[:at] + what + content[at:])
    return _told(trial, file, f"with {what!r} in it")


def _lines(trial: Trial) -> str:
    file = trial.one(".jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    way = trial.chance.choice(
        ("duplicated", "removed", "reordered", "reversed", "first alone", "last alone", "repeated")
    )
    at = trial.chance.randrange(len(lines)) if lines else 0
    match way:
        case "duplicated":
            lines[at:at] = lines[at : at + trial.chance.choice((1, 5, 50))]
        case "removed":
            del lines[at : at + trial.chance.choice((1, 5, 50))]
        case "reordered":
            trial.chance.shuffle(lines)
        case "reversed":
            lines.reverse()
        case "first alone":
            del lines[1:]
        case "last alone":
            del lines[:-1]
        case "repeated":
            lines *= 20
    file.write_bytes(b"".join(lines))
    return _told(trial, file, f"with lines {way}")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) for every value in a document, at any depth."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in list(pairs):
        yield value, key
        yield from _places(below)


def _document_changed(trial: Trial, change: Callable[[random.Random, Any, Any], None], what: str, most: int = 3) -> str:
    """Change random values of a JSON document, or of lines of a journal."""
    file = trial.one(".json", ".jsonl")
    try:
        lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
        chosen = trial.chance.sample(range(len(lines)), min(len(lines), trial.chance.choice((1, 3, len(lines)))))
        documents = {index: json.loads(lines[index]) for index in chosen}
    except (ValueError, IndexError):
        return _told(trial, file, "as it was")
    keys = None
    for index, document in documents.items():
        places = [(within, key) for within, key in _places(document) if keys is None or key in keys]
        picked = trial.chance.sample(places, min(len(places), trial.chance.randint(1, most)))
        if file.suffix == ".jsonl":
            keys = keys or {key for _, key in picked}
        for within, key in picked:
            change(trial.chance, within, key)
        lines[index] = json.dumps(document).replace(f'"{_DEEP}"', "[" * 3000 + "1" + "]" * 3000)
    file.write_text("\n".join(lines) + "\n")
    return _told(trial, file, what)


def _number(chance: random.Random, within: Any, key: Any) -> None:
    within[key] = chance.choice(_NUMBERS)


def _other(chance: random.Random, within: Any, key: Any) -> None:
    within[key] = chance.choice(_OTHERS)


def _text(chance: random.Random, within: Any, key: Any) -> None:
    within[key] = chance.choice(_HOSTILE)


def _gone(_: random.Random, within: Any, key: Any) -> None:
    within.pop(key, None) if isinstance(within, dict) else within.clear()


def _renamed(chance: random.Random, within: Any, key: Any) -> None:
    if isinstance(within, dict) and key in within:
        within[chance.choice(_HOSTILE)] = within.pop(key)


def _deep(chance: random.Random, within: Any, key: Any) -> None:
    below: Any = 1
    for _ in range(chance.choice((90, 300, 700, 940))):
        below = [below] if chance.random() < 0.5 else {"a": below}
    within[key] = chance.choice((_DEEP, below))


def _numbers_only(chance: random.Random, within: Any, key: Any) -> None:
    if type(within[key]) in (int, float):
        within[key] = chance.choice(_NUMBERS)


def _numbers(trial: Trial) -> str:
    return _document_changed(trial, _number, "with other numbers")


def _all_numbers(trial: Trial) -> str:
    return _document_changed(trial, _numbers_only, "with other numbers throughout", most=40)


def _others(trial: Trial) -> str:
    return _document_changed(trial, _other, "with values of other types")


def _texts(trial: Trial) -> str:
    return _document_changed(trial, _text, "with hostile texts")


def _missing(trial: Trial) -> str:
    return _document_changed(trial, _gone, "without some keys")


def _names(trial: Trial) -> str:
    return _document_changed(trial, _renamed, "with hostile names")


def _nested(trial: Trial) -> str:
    return _document_changed(trial, _deep, "nested deeply", most=1)


def _every_text(trial: Trial) -> str:
    """Append a terminal escape sequence, or other hostile text, to every text of a document."""
    file = trial.one(".json")
    hostile = trial.chance.choice(_HOSTILE[:12])

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(below) for key, below in value.items()}
        if isinstance(value, list):
            return [changed(below) for below in value]
        return value + hostile if isinstance(value, str) and value not in _WORDS else value

    with contextlib.suppress(ValueError):  # damaged before
        file.write_text(json.dumps(changed(json.loads(file.read_text()))))
    return _told(trial, file, f"with {hostile!a} in every text")


_WORDS = ("ok", "control", "lowat-16384", "control.1", "lowat-16384.1", "off", "on", "stock", "spdy", "h2", "maps")


def _removed(trial: Trial) -> str:
    file = trial.one()
    file.unlink()
    return _told(trial, file, "missing")


def _no_file(trial: Trial) -> str:
    """Replace a file by a FIFO, socket, folder, device or symlink."""
    file = trial.one()
    file.unlink()
    what = trial.chance.choice(
        (
            "FIFO",
            "socket",
            "folder",
            "/dev/zero",
            "/dev/full",
            "/dev/tty",
            "loop",
            "outside",
            "nowhere",
            "/proc/self/mem",
            "/dev/stdin",
        )
    )
    match what:
        case "FIFO":
            os.mkfifo(file)
        case "socket":
            here = Path.cwd()
            os.chdir(file.parent)  # a socket's path has to be short
            with socket.socket(socket.AF_UNIX) as end:
                end.bind(file.name)
            os.chdir(here)
        case "folder":
            file.mkdir()
        case "loop":
            file.symlink_to(file.name)
        case "outside":
            file.symlink_to(trial.outside / trial.chance.choice(("file", "run.json", "folder")))
        case "nowhere":
            file.symlink_to("/nowhere/at/all")
        case _:
            file.symlink_to(what)
    return _told(trial, file, f"as {what}")


def _no_folder(trial: Trial) -> str:
    """Replace a folder by a file, FIFO or symlink."""
    folder = trial.chance.choice(sorted({file.parent for file in trial.files()}))
    if folder == trial.folder:
        return _removed(trial)
    shutil.rmtree(folder)
    what = trial.chance.choice(("file", "FIFO", "loop", "outside", "nowhere"))
    match what:
        case "file":
            folder.write_text("{}")
        case "FIFO":
            os.mkfifo(folder)
        case "loop":
            folder.symlink_to(folder.name)
        case "outside":
            folder.symlink_to(trial.outside / "folder")
        case _:
            folder.symlink_to("/nowhere/at/all")
    return _told(trial, folder, f"as {what}")


def _sparse(trial: Trial) -> str:
    file = trial.one()
    os.truncate(file, _SPARSE_BYTES)
    return _told(trial, file, "of 20 GB")


def _large_document(trial: Trial) -> str:
    file = trial.one(".json")
    file.write_text(
        trial.chance.choice(
            ("[" + "[]," * 15 * 10**6 + "1]", '{"format": 2, "runs": [' + '"a",' * 10**7 + '"b"]}', "9" * 30 * 10**6)
        )
    )
    return _told(trial, file, "of some ten MB")


def _swapped(trial: Trial) -> str:
    one, other = trial.one(), trial.one()
    text = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(text)
    return f"{_told(trial, one, 'and')} {_told(trial, other, 'swapped')}"


def _symlinked(trial: Trial) -> str:
    """Make symlinks that have the names of files that the lab will write, and lead out of the trial's folder."""
    folder = trial.chance.choice([path for path in trial.folder.iterdir() if path.is_dir()] or [trial.folder])
    for name in _WRITTEN:
        path = folder / name
        if name == "exports":
            if trial.chance.random() < 0.5:
                path.symlink_to(trial.outside / "folder")
            else:
                path.mkdir(exist_ok=True)
        elif path.parent.is_dir() and not path.parent.is_symlink() and not os.path.lexists(path):
            path.symlink_to(trial.outside / trial.chance.choice(("file", "new", "folder/new")))
    if not os.path.lexists(trial.folder / "latest"):
        (trial.folder / "latest").symlink_to(trial.outside / "folder")
    return f"symlinks in {folder.name} that lead outside"


def _elsewhere(trial: Trial) -> str:
    """Change experiment.json or sweep.json so that it names a run outside the folder, or no run at all, such as `.`."""
    heads = trial.files("experiment.json", "sweep.json")
    if not heads:
        return _removed(trial)
    file = trial.chance.choice(heads)
    name = trial.chance.choice(
        (
            "../outside",
            str(trial.outside),
            ".",
            "..",
            "",
            "/dev",
            "a/b",
            "control.1/.",
            "x" * 300,
            "a\0b",
            "control",
            "*",
        )
    )
    try:
        document = json.loads(file.read_text())
        for key in ("runs", "order"):
            if key in document:
                document[key] = trial.chance.choice(([name], [*document[key], name], [*document[key], *document[key]]))
        for arm in document.get("arms", [])[:1]:
            arm["arm"] = name
    except (ValueError, TypeError, AttributeError):
        return _removed(trial)
    file.write_text(json.dumps(document))
    return _told(trial, file, f"with a run {name[:20]!r}")


def _large(trial: Trial) -> str:
    """Fill a journal with 100 MB of its own lines, of one line, or of empty lines."""
    trial.is_large = True
    file = trial.chance.choice(trial.files(".jsonl"))
    lines = file.read_bytes().splitlines(keepends=True)
    way = trial.chance.choice(("its own lines", "its own lines", "its shortest line", "one line", "lines of nothing"))
    unit = {"its own lines": b"".join(lines), "its shortest line": min(lines, key=len, default=b"{}\n")}.get(way)
    unit = unit or (b"[]," if way == "one line" else b"\n")
    with file.open("wb") as opened:
        opened.write(unit * (_LARGE_BYTES // len(unit)))
    return _told(trial, file, f"of 100 MB of {way}")


def _toml_value(trial: Trial) -> str:
    file = trial.one(".toml")
    lines = file.read_text(errors="replace").splitlines()
    with_value = [index for index, line in enumerate(lines) if "=" in line]
    if not with_value:
        return _told(trial, file, "as it was")
    index, value = trial.chance.choice(with_value), trial.chance.choice(_TOML)
    lines[index] = f"{lines[index].partition('=')[0]}= {value}"
    file.write_text("\n".join(lines) + "\n")
    return _told(trial, file, f"with {value[:20]!r}")


def _toml_key(trial: Trial) -> str:
    file = trial.one(".toml")
    lines = file.read_text(errors="replace").splitlines()
    key = trial.chance.choice(
        (
            '"\\u001b[31m"',
            '"\\u202e"',
            '""',
            "a.b.c",
            "REPEAT",
            '"[bold]"',
            "knobs",
            "[card]",
            "[[x]]",
            '"a\\nb"',
            "a." * 2000 + "b",
            "LOWAT",
            "FABRIC",
        )
    )
    lines.insert(trial.chance.randrange(len(lines) + 1), key if key.startswith("[") else f"{key} = 1")
    file.write_text("\n".join(lines) + "\n")
    return _told(trial, file, f"with the key {key[:20]!r}")


def _toml_lines(trial: Trial) -> str:
    file = trial.one(".toml")
    lines = file.read_text(errors="replace").splitlines(keepends=True)
    trial.chance.shuffle(lines)
    file.write_text("".join(lines[: trial.chance.randint(1, len(lines))]) if lines else "")
    return _told(trial, file, "with lines removed and reordered")


def _toml_large(trial: Trial) -> str:
    file = trial.one(".toml")
    file.write_text(
        trial.chance.choice(
            (
                "a = [" + "1," * 5 * 10**5 + "]",
                "# comment\n" * 7 * 10**6,
                'title = "' + "a" * 10**7 + '"',
                "[knobs]\nRATE = '" + "9" * 10**6 + "'",
            )
        )
    )
    return _told(trial, file, "of many MB")


def _bomb(trial: Trial) -> str:
    """Replace a packed run folder with a few MB that unpack to 1.2 GB."""
    (file,) = trial.files()
    content = io.BytesIO()
    with gzip.open(content, "wb", compresslevel=1) as packed:
        for _ in range(1200):
            packed.write(b"\0" * 2**20)
    file.write_bytes(content.getvalue())
    return _told(trial, file, "as 1.2 GB of nothing")


def _members(trial: Trial) -> str:
    """Replace a packed run folder with an archive of symlinks, devices or other members that no run folder has."""
    (file,) = trial.files()
    content = io.BytesIO()
    kind = trial.chance.choice(
        (
            tarfile.SYMTYPE,
            tarfile.LNKTYPE,
            tarfile.CHRTYPE,
            tarfile.FIFOTYPE,
            tarfile.REGTYPE,
            tarfile.DIRTYPE,
            tarfile.CONTTYPE,
        )
    )
    name = trial.chance.choice(
        ("../outside/file", "/tmp/x", "a", "a/b/c", "run.json", ".", "", "a\nb", "x" * 300, "\x1b[31m")
    )
    with tarfile.open(fileobj=content, mode="w") as archive:
        for each in (name, "a/b", name):
            member = tarfile.TarInfo(each)
            member.type, member.linkname, member.mode = kind, str(trial.outside / "file"), 0o7777
            archive.addfile(member, io.BytesIO(b""))
    file.write_bytes(gzip.compress(content.getvalue()))
    return _told(trial, file, f"with {name[:20]!r} of type {kind!r}")


_Way = Callable[[Trial], str]
_ANY: tuple[_Way, ...] = (_bits, _cut, _garbage, _encoded, _inserted, _removed, _no_file, _sparse)
_WAYS: tuple[_Way, ...] = (
    *_ANY,
    *(
        _lines,
        _lines,
        _numbers,
        _numbers,
        _numbers,
        _all_numbers,
        _all_numbers,
        _others,
        _others,
        _others,
        _texts,
        _texts,
    ),
    *(_missing, _missing, _names, _nested, _nested, _every_text, _every_text, _no_file, _no_folder, _swapped),
    *(_symlinked, _symlinked, _elsewhere, _elsewhere, _large_document),
)
_WAYS_OF_TOML: tuple[_Way, ...] = (*_ANY, *(_toml_value,) * 8, *(_toml_key,) * 4, _toml_lines, _toml_large)
_WAYS_OF_PACKED: tuple[_Way, ...] = (_bits, _bits, _cut, _garbage, _bomb, _members, _members, _members)
