"""Makes values of declared types by msgspec, in one thread at a time.

When a type is first used, msgspec looks at its fields, and keeps what it has found. Two threads that do so at the same
time end the process by SIGSEGV (msgspec 0.22).
"""

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_alone = threading.RLock()  # the hook of a type may convert a part of the value
# A child that is forked while another thread converts would wait for ever.
os.register_at_fork(before=_alone.acquire, after_in_parent=_alone.release, after_in_child=_alone.release)


def convert(value: Any, kind: type[T], hook: Callable[[Any, Any], Any] | None = None) -> T:
    """Converts what JSON or TOML has to a type. hook: msgspec's dec_hook. Raises msgspec.ValidationError."""
    with _alone:
        return msgspec.convert(value, kind, dec_hook=hook)


def decode(text: bytes | str, kind: type[T]) -> T:
    """Converts a JSON document to a type. Raises msgspec.MsgspecError, UnicodeDecodeError, RecursionError."""
    with _alone:
        return msgspec.json.decode(text, type=kind)


def decode_lines(text: bytes, kind: type[T]) -> list[T]:
    """Converts lines, a JSON document in each, to values of a type. Raises as `decode`."""
    with _alone:
        return msgspec.json.Decoder(kind).decode_lines(text)
