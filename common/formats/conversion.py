"""Makes values of declared types by msgspec, also in several threads.

When a type is first used, msgspec looks at its fields, and keeps what it has found. Two threads that do so at the same
time end the process by SIGSEGV (msgspec 0.22). So one thread at a time looks at a type, before any value is made of it.
No lock is held while a value is made: its `__post_init__` may wait for a thread that converts, too.
"""

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_alone = threading.RLock()
# A child that is forked while another thread looks at a type would wait for ever.
os.register_at_fork(before=_alone.acquire, after_in_parent=_alone.release, after_in_child=_alone.release)
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def convert(value: Any, kind: type[T], hook: Callable[[Any, Any], Any] | None = None) -> T:
    """Converts what JSON or TOML has to a type. hook: msgspec's dec_hook. Raises msgspec.ValidationError."""
    _decoder(kind)
    return msgspec.convert(value, kind, dec_hook=hook)


def decode(text: bytes | str, kind: type[T]) -> T:
    """Converts a JSON document to a type. Raises msgspec.MsgspecError, UnicodeDecodeError, RecursionError."""
    return _decoder(kind).decode(text)


def decode_lines(text: bytes, kind: type[T]) -> list[T]:
    """Converts lines, a JSON document in each, to values of a type. Raises as `decode`."""
    return _decoder(kind).decode_lines(text)


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    if kind not in _decoders:
        with _alone:
            _decoders[kind] = msgspec.json.Decoder(kind)
    return _decoders[kind]
