"""Reads what an ELF file says about the machine and the loader that it needs (elf(5))."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

MACHINES: Mapping[int, str] = MappingProxyType(
    {3: "i386", 8: "mips", 21: "ppc64le", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
)
"""The names of machines, as uname(1) prints them, by their number in an ELF file."""

_MAGIC = b"\x7fELF"
_MACHINE_AT = 18
_PROGRAM_HEADERS_AT = {1: 28, 2: 32}
_PT_INTERP = 3
_MOST_HEADERS = 512
_MOST_PATH_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class Elf:
    """An ELF file. machine: the name of its machine. loader: the path of its loader; None if it needs none."""

    machine: str
    loader: str | None


def read_elf(path: Path) -> Elf | None:
    """Reads the headers of an ELF file; returns None for any other file. Raises OSError, and ValueError if damaged."""
    with path.open("rb") as file:
        head = file.read(64)
        if head[:4] != _MAGIC:
            return None
        try:
            bits, order = head[4], {1: "<", 2: ">"}[head[5]]
            number = struct.unpack_from(f"{order}H", head, _MACHINE_AT)[0]
            word = {1: "I", 2: "Q"}[bits]
            at = struct.unpack_from(f"{order}{word}", head, _PROGRAM_HEADERS_AT[bits])[0]
            size, count = struct.unpack_from(f"{order}HH", head, {1: 42, 2: 54}[bits])
            loader = None
            for header in range(min(count, _MOST_HEADERS)):
                file.seek(at + header * size)
                found = file.read(size)
                if struct.unpack_from(f"{order}I", found)[0] == _PT_INTERP:
                    offset = struct.unpack_from(f"{order}{word}", found, {1: 4, 2: 8}[bits])[0]
                    file.seek(offset)
                    loader = file.read(_MOST_PATH_BYTES).split(b"\0")[0].decode()
        except (struct.error, KeyError, IndexError, UnicodeDecodeError) as error:
            raise ValueError("its ELF headers are damaged") from error
    return Elf(machine=MACHINES.get(number, f"machine {number}"), loader=loader)
