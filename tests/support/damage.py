"""Damage to files that commands read, drawn by Hypothesis: bytes, values, lines, and what stands in a file's place."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

_SPARSE_BYTES, _READ_BYTES = 20 * 2**30, 2**27
_DEEP = "@deep@"
_HOSTILE = (
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b31m", "\u202eabc", "\u2066abc", "a\rb", "a\nb", "\0", "\ud800"),
    *("[bold red]x[/]", "[/]", ":smile:", "{x}", "%s", "<script>", "../../outside", "/dev/zero", "", " ", "a" * 10**5),
    *("NaN", "-1", "\u00b2", "\u0661", "9" * 5000, "1e400", "\ufeff", "\u0301" * 50, ".", "a/b", "x" * 300),
)
_NUMBERS = (
    *(0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 10**30, 10**400, -(2**63), 0.5, -0.5, 1e308, -1e308, 1e-320, 3e9),
    *(float("nan"), float("inf"), float("-inf")),
)
_TOML = (
    *("nan", "inf", "-1", "0", "1e400", "9" * 30, "9" * 5000, "true", "1979-05-27", "12:00:00", "[]", "{}", "''"),
    *("[[1], [2]]", '"\\u001b[31m"', '"\\u202e"', '"[bold]"', "'''a\nb'''", "[" * 3000 + "]" * 3000, "{a = {b = 1}}"),
    *('"\\u00b2"', '"\\u0661"', '"\\u0000"', "[1, 'a', true]", '"1,' + "2," * 5000 + '3"', "'" + "1" * 10**6 + "kbps'"),
    *("'../../outside'", "'/dev/zero'", "'" + "a" * 300 + "'", "[{}]", "[{a = 1}]"),
)
_KEYS = (
    *('"\\u001b[31m" = 1', '"" = 1', "a.b.c = 1", "knobs = 1", "[card]", "[[x]]", '"a\\nb" = 1', "LOWAT = 1"),
    *("a." * 2000 + "b = 1", "REPEAT = 1", "format = 2", "[[resource]]", "[[check]]"),
)
_GARBAGE = (b"", b"\0" * 1000, b"\xff\xfe" * 50, b"null", b"0\n" * 9, b"[" * 10**5, b'{"a":' * 10**5, b"\x1f\x8b\x08")
_PIECES = (b"\0", b"\r\n", b"\x1b[2J", b"\xe2\x80\xae", b"\xe2\x80\xa8", b"}{", b"NaN", b'"', b"\xff", b"#", b"=")
_WRITTEN = (
    *("timeline.svg", "timeline.png", "timeline.html", "ledger-bar.svg", "knee.svg", "knee.md", "knee.csv"),
    *("knee-values.csv", ".timeline.svg", "exports", ".experiment.json.new", ".sweep.json.new", "latest", ".lock"),
)
_HEADS = ("experiment.json", "sweep.json", "run.json")

_Way = Callable[[st.DataObject, Path, Path, Path], str]
"""Damages a file of a folder in some way; the second folder is the one that links may lead to."""

_scalars = st.none() | st.booleans() | st.sampled_from(_NUMBERS) | st.sampled_from(_HOSTILE) | st.just(_DEEP)
values = st.recursive(
    _scalars,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(_HOSTILE), below, max_size=2),
    max_leaves=4,
)
"""Values that have a wrong type, are out of every range, or would do harm if they were shown."""


def damage(data: st.DataObject, folder: Path, outside: Path) -> str:
    """Damage a folder's files in one way or two; return what was done. outside: a folder that links may lead to."""
    told = []
    for _ in range(data.draw(st.sampled_from((1, 1, 2)))):
        if not (there := _files(folder)):
            break
        heads = [path for path in there if path.name in _HEADS]
        is_head = data.draw(st.booleans())
        file: Path = data.draw(st.sampled_from(heads if heads and is_head else there))
        ways: list[_Way] = [_bytes, _bytes, _replaced, _symlinked, _swapped]
        if file.suffix in (".json", ".jsonl"):
            ways += [_document] * 8
        if file.suffix == ".toml":
            ways += [_toml] * 10
        way: _Way = data.draw(st.sampled_from(ways))
        told.append(f"{file.relative_to(folder)} {way(data, file, folder, outside)}")
    return ", ".join(told)


def _files(folder: Path) -> list[Path]:
    """Return the files that can be damaged further: those that this process can read as a whole."""
    there = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path for path in there if path.stat().st_size <= _READ_BYTES)


def _bytes(data: st.DataObject, file: Path, *_: Path) -> str:
    """Change a file's bytes."""
    text = file.read_bytes()
    at = data.draw(st.integers(0, len(text)))
    match how := data.draw(st.sampled_from(("cut", "bits", "piece", "garbage", "encoded", "lines", "sparse"))):
        case "cut":
            text = text[:at]
        case "bits":
            other = bytes(byte ^ (1 << data.draw(st.integers(0, 7))) for byte in text[at : at + 1])
            text = text[:at] + other + text[at + 1 :]
        case "piece":
            text = text[:at] + data.draw(st.sampled_from(_PIECES)) + text[at:]
        case "garbage":
            text = data.draw(st.sampled_from(_GARBAGE) | st.binary(max_size=200))
        case "encoded":
            encoding = data.draw(st.sampled_from(("utf-16", "utf-32", "utf-8-sig", "cp037")))
            text = text.decode(errors="replace").encode(encoding, errors="replace")
        case "lines":
            lines = text.splitlines(keepends=True)
            text = b"".join(data.draw(st.permutations(lines)) if len(lines) < 100 else lines[::-1])[: at + 1]
    file.write_bytes(text)
    if how == "sparse":
        os.truncate(file, _SPARSE_BYTES)
    return how


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) for every value in a document, at any depth."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in list(pairs):
        yield value, key
        yield from _places(below)


def _document(data: st.DataObject, file: Path, *_: Path) -> str:
    """Change values, remove keys or rename them, in a JSON document or in lines of a journal."""
    try:
        lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
        chosen = data.draw(st.lists(st.integers(0, len(lines) - 1), min_size=1, max_size=3)) if lines else []
        documents = {number: json.loads(lines[number]) for number in chosen}
    except (ValueError, OSError):
        return "as it was"
    for number, document in documents.items():
        for _again in range(data.draw(st.sampled_from((1, 1, 3, 20)))):
            if not (places := list(_places(document))):
                break
            within, key = places[data.draw(st.integers(0, len(places) - 1))]
            match data.draw(st.sampled_from(("value", "value", "number", "text", "gone", "name"))):
                case "value":
                    within[key] = data.draw(values)
                case "number":
                    within[key] = data.draw(st.sampled_from(_NUMBERS))
                case "text":
                    within[key] = data.draw(st.sampled_from(_HOSTILE))
                case "gone":
                    del within[key]
                case "name" if isinstance(within, dict):
                    within[data.draw(st.sampled_from(_HOSTILE))] = within.pop(key)
        lines[number] = json.dumps(document).replace(f'"{_DEEP}"', "[" * 3000 + "1" + "]" * 3000)
    file.write_text("\n".join(lines) + "\n")
    return "with other values"


def _toml(data: st.DataObject, file: Path, *_: Path) -> str:
    """Change a value of a TOML file, or add a key."""
    lines = file.read_text(errors="replace").splitlines()
    with_value = [index for index, line in enumerate(lines) if "=" in line]
    changes = data.draw(st.integers(0, 2))
    if with_value and changes:
        index, value = with_value[data.draw(st.integers(0, len(with_value) - 1))], data.draw(st.sampled_from(_TOML))
        lines[index] = f"{lines[index].partition('=')[0]}= {value}"
    else:
        lines.insert(data.draw(st.integers(0, len(lines))), data.draw(st.sampled_from(_KEYS)))
    file.write_text("\n".join(lines) + "\n")
    return "with another value"


def _replaced(data: st.DataObject, file: Path, folder: Path, outside: Path) -> str:
    """Put something else in the place of a file, or of its folder; or take it away."""
    path = data.draw(st.sampled_from((file, file, file.parent if file.parent != folder else file)))
    path.unlink() if path == file else shutil.rmtree(path)
    targets = {
        "loop": path.name,
        "outside": outside,
        "nowhere": "/nowhere/at/all",
        **{name: name for name in ("/dev/zero", "/dev/full", "/dev/tty", "/proc/self/mem", "/dev/stdin", "/")},
    }
    match what := data.draw(st.sampled_from(("nothing", "a FIFO", "a folder", "unreadable", *targets))):
        case "a FIFO":
            os.mkfifo(path)
        case "a folder":
            path.mkdir()
        case "unreadable":
            path.write_text("{}")
            path.chmod(0)
        case "nothing":
            pass
        case _:
            path.symlink_to(targets[what])
    return f"as {what}"


def _symlinked(data: st.DataObject, file: Path, _: Path, outside: Path) -> str:
    """Make links out of the folder that have the names of files which commands write."""
    for name in _WRITTEN:
        if not os.path.lexists(path := file.parent / name):
            path.symlink_to(outside / data.draw(st.sampled_from(("file", "new", "folder"))))
    return f"and links in {file.parent.name} that lead outside"


def _swapped(data: st.DataObject, file: Path, folder: Path, _: Path) -> str:
    other = data.draw(st.sampled_from(_files(folder)))
    one, two = file.read_bytes(), other.read_bytes()
    file.write_bytes(two)
    other.write_bytes(one)
    return f"and {other.relative_to(folder)} swapped"
