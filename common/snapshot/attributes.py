"""Reads netlink attributes into a picture: unknown ones stay what they are, as hexadecimal digits."""

import struct
from collections.abc import Container, Iterator, Mapping

_NUMBER_BYTES = {1: "=B", 2: "=H", 4: "=I", 8: "=Q"}


def value(payload: bytes) -> str:
    """Returns an attribute's value: a number if it has the size of one, a text, or hexadecimal digits."""
    form = _NUMBER_BYTES.get(len(payload))
    if form is not None:
        return str(struct.unpack(form, payload)[0])
    return text(payload) if payload[:-1].isalnum() and payload.endswith(b"\0") else payload.hex()


def entries(
    found: Mapping[int, bytes], names: Mapping[int, str], without: Container[int] = ()
) -> Iterator[tuple[str, str]]:
    """Yields the name and the value of each attribute. found: the attributes' payloads by their types.

    names: the names by attribute type; an attribute without a name has its number. without: types to leave out.
    """
    for kind, payload in found.items():
        if kind not in without:
            yield names.get(kind, f"attribute {kind}"), value(payload)


def text(payload: bytes) -> str:
    """Returns an attribute's text without the zero that ends it."""
    return payload.rstrip(b"\0").decode(errors="replace")
