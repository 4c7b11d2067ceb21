"""Reads records and checks them. A run folder may come from anywhere: nothing in it is believed.

1. A line or a document is a value of its record's type, or an error that names the file, the place and the trouble.
2. Keys that the record does not know are passed over.
3. Numbers are finite, and nowhere beyond 2**63; whole ones are 0 or more in journals.
4. Text holds nothing that a terminal obeys.
5. A document has the format that its reader asks for.

Writers do not need this module: records are dataclasses, and msgspec is asked for only by those who read.
"""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from re import compile as pattern
from typing import Any, TypeVar

import msgspec

from common.formats.files import (
    MOST_DOCUMENT_BYTES,
    MOST_JOURNAL_BYTES,
    NO_MEMORY,
    content,
    from_json,
    parsed,
    printable,
)

T = TypeVar("T")

_BOUND = 2**63
_AT_LEAST_ONE = "mss_bytes"
_DOUBTFUL = pattern(rb"[^\x20-\x7e\n]|\\")
"""A byte that may be, or may stand for, something that is not printable ASCII."""


class FolderError(Exception):
    """Not a run folder, or a damaged one: the file, the line where there is one, and the trouble."""


def read_journal(file: Path, record: type[T]) -> list[T]:
    """Returns the lines of a file as records. Raises FolderError."""
    text = _content(file, MOST_JOURNAL_BYTES)
    try:
        if _DOUBTFUL.search(text):
            return [_line(file, number, line, record) for number, line in enumerate(text.splitlines(), start=1)]
        made = msgspec.json.Decoder(record).decode_lines(text)
        _check_numbers(made, record)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # Line by line, to find the one that is wrong.
        return [_line(file, number, line, record) for number, line in enumerate(text.splitlines(), start=1)]
    except MemoryError:
        raise FolderError(f"{file}: {NO_MEMORY}") from None
    return made


def read_document(
    file: Path, record: type[T], *, format_number: int | None = None, most_bytes: int = MOST_DOCUMENT_BYTES
) -> T:
    """Returns a JSON document as a record. format_number: its `format`, if it has one. Raises FolderError."""
    text = _content(file, most_bytes)
    try:
        document = parsed(from_json, text)
        found = document.get("format") if isinstance(document, dict) else None
        if format_number is not None and found != format_number:
            raise ValueError(f"format {found}; this version reads format {format_number}")
        return msgspec.convert(_checked(document), record)
    except (msgspec.MsgspecError, ValueError) as error:
        raise FolderError(f"{file}: {error}") from error
    except MemoryError:
        raise FolderError(f"{file}: {NO_MEMORY}") from None


def _content(file: Path, most_bytes: int) -> bytes:
    try:
        return content(file, most_bytes)
    except FileNotFoundError:
        raise FolderError(f"{file}: missing; not a results folder, or an unfinished one") from None
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
        raise FolderError(f"{file}:{number}: not an event: {error}") from error
    return made


def _converted(text: bytes, record: type[T]) -> T:
    """Raises msgspec.MsgspecError, UnicodeDecodeError, RecursionError."""
    if not _DOUBTFUL.search(text):
        return msgspec.json.decode(text, type=record)
    return msgspec.convert(_checked(msgspec.json.decode(text)), record)


def _check_numbers(records: Iterable[T], record: type[T]) -> None:
    """Raises ValueError for a whole number that nothing measured can be."""
    for name in _numbers(record):
        least = 1 if name == _AT_LEAST_ONE else 0
        found = [value for each in records if (value := getattr(each, name)) is not None]
        if found and not (least <= min(found) and max(found) < _BOUND):
            raise ValueError(f"{name} is {next(value for value in found if not least <= value < _BOUND)}")


def _numbers(record: Any) -> list[str]:
    return [field.name for field in fields(record) if field.type in (int, int | None)]


def _checked(value: Any, at: str = "$") -> Any:
    """Returns the value with every text in it as it can be shown: on terminals, in pictures and in pages.

    Raises ValueError for a number that nothing measured can be. at: the value's place in the document.
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
