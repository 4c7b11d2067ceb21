"""Reads netlink attributes into a picture: unknown ones stay what they are, as hexadecimal digits."""

import struct
from collections.abc import Container, Iterator, Mapping

from common.netlink import attributes

_NUMBER_BYTES = {1: "=B", 2: "=H", 4: "=I", 8: "=Q"}


def value(payload: bytes) -> str:
    """Returns an attribute's value: a number if it has the size of one, otherwise hexadecimal digits."""
    form = _NUMBER_BYTES.get(len(payload))
    return payload.hex() if form is None else str(struct.unpack(form, payload)[0])


def entries(
    data: bytes, start: int, names: Mapping[int, str], without: Container[int] = ()
) -> Iterator[tuple[str, str]]:
    """Yields the name and the value of each attribute. start: where the first one begins.

    names: the names by attribute type; an attribute without a name has its number. without: types to leave out.
    """
    for kind, payload in attributes(data, start).items():
        if kind not in without:
            yield names.get(kind, f"attribute {kind}"), value(payload)


def text(payload: bytes) -> str:
    """Returns an attribute's text without the zero that ends it."""
    return payload.rstrip(b"\0").decode(errors="replace")
