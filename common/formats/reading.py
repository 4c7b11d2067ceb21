"""Reads the records of a run folder and checks them. A run folder may come from anywhere, so its files are not trusted.

1. A line or a document becomes a value of its record's type. If it cannot, an error names the file, the position in
   the file and the reason.
2. Keys that the record does not have are ignored.
3. Numbers are finite and not beyond 2**63. In journals (.jsonl files) integers are not negative.
4. Text cannot control a terminal: unprintable characters are replaced by escapes.
5. A document must have the format number that its reader expects.

Programs that only write records need neither this module nor msgspec: records are dataclasses.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from priolab.common.formats.conversion import convert, decode, decode_lines
from priolab.common.formats.files import (
    MOST_DOCUMENT_BYTES,
    MOST_JOURNAL_BYTES,
    NO_MEMORY,
    content,
    from_json,
    parsed,
    printable,
)
from priolab.common.formats.files import FolderError as FolderError  # what this module raises

T = TypeVar("T")

_BOUND = 2**63
_AT_LEAST_ONE = "mss_bytes"
_PLAIN = bytes(range(0x20, 0x7F)).replace(b"\\", b"") + b"\n"
"""Printable ASCII without the backslash, which may begin the escape of an unprintable character."""


def read_journal(file: Path, record: type[T]) -> list[T]:
    """Reads each line of a file as a record of the given type. Raises FolderError."""
    text = _content(file, MOST_JOURNAL_BYTES)
    with _no_garbage():
        return _records(file, text, record)


def _records(file: Path, text: bytes, record: type[T]) -> list[T]:
    try:
        if text.translate(None, _PLAIN):
            return [_line(file, number, line, record) for number, line in enumerate(text.splitlines(), start=1)]
        made = decode_lines(text, record)
        _check_numbers(made, record)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # Parses line by line to find the line with the error.
        return [_line(file, number, line, record) for number, line in enumerate(text.splitlines(), start=1)]
    except MemoryError:
        raise FolderError(f"{file}: {NO_MEMORY}") from None
    return made


@contextmanager
def _no_garbage() -> Iterator[None]:
    """A context without searches for garbage: of ten thousands of new records, none is garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_document(
    file: Path, record: type[T], *, format_number: int | None = None, most_bytes: int = MOST_DOCUMENT_BYTES
) -> T:
    """Reads a JSON document as a record of the given type. Raises FolderError.

    format_number: the value that the document's key `format` must have; None for documents without that key.
    most_bytes: the largest allowed size of the file.
    """
    text = _content(file, most_bytes)
    try:
        document = parsed(from_json, text)
        found = document.get("format") if isinstance(document, dict) else None
        if format_number is not None and found != format_number:
            raise ValueError(f"format {found}; this version reads format {format_number}")
        return convert(_checked(document), record)
    except (msgspec.MsgspecError, ValueError) as error:
        raise FolderError(f"{file}: {error}") from error
    except MemoryError:
        raise FolderError(f"{file}: {NO_MEMORY}") from None


def _content(file: Path, most_bytes: int) -> bytes:
    try:
        return content(file, most_bytes)
    except FileNotFoundError:
        raise FolderError(f"{file}: missing; the folder is no results folder, or is unfinished") from None
    except OSError as error:
        raise FolderError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise FolderError(f"{file}: {error}") from error


def _line(file: Path, number: int, line: bytes, record: type[T]) -> T:
    try:
        made = _converted(line, record)
        _check_numbers([made], record)
    except MemoryError:
        raise FolderError(f"{file}: {NO_MEMORY}") from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise FolderError(f"{file}:{number}: not a valid line: {error}") from error
    return made


def _converted(text: bytes, record: type[T]) -> T:
    """Converts a line to a record. Raises msgspec.MsgspecError, UnicodeDecodeError, RecursionError."""
    if not text.translate(None, _PLAIN):
        return decode(text, record)
    return convert(_checked(decode(text, Any)), record)


def _check_numbers(records: Iterable[T], record: type[T]) -> None:
    """Raises ValueError for an integer outside the range that a measured value can have."""
    for name in _numbers(record):
        least = 1 if name == _AT_LEAST_ONE else 0
        found = [value for value in map(attrgetter(name), records) if value is not None]
        if found and not (least <= min(found) and max(found) < _BOUND):
            raise ValueError(
                f"{name} is {next(value for value in found if not least <= value < _BOUND)}; "
                f"allowed: {least} or more, and less than 2**63"
            )


def _numbers(record: Any) -> list[str]:
    return [field.name for field in fields(record) if field.type in (int, int | None)]


def _checked(value: Any, at: str = "$") -> Any:
    """Returns the value with all texts in it made printable, so that terminals, figures and pages can show them.

    Raises ValueError for a number beyond 2**63. at: the path of the value in the document.
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_checked(each, f"{at}[{index}]") for index, each in enumerate(value)]
    if isinstance(value, dict):
        return {printable(key): _checked(each, f"{at}.{key}") for key, each in value.items()}
    if isinstance(value, int | float) and not -_BOUND <= value <= _BOUND:
        raise ValueError(f"a number is beyond 2**63 - at `{printable(at)}`")
    return value
