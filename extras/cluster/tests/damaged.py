"""Parcels for a cluster's head, to be damaged (tests/support/damaged_input.py)."""

from pathlib import Path

from priolab.common.formats.files import content
from priolab.common.home import ROOT
from priolab.experiments.commands.console import Report
from priolab.extras.cluster import parcel
from tests.support.damaged_input import Kind

_MOST_BYTES = 2**24


def _parcel(folder: Path) -> None:
    (folder / "given").write_bytes(parcel.pack(ROOT / "tests" / "golden" / "format-3" / "control.1"))


def _unpack(here: Path) -> int:
    """Unpacks a packed run folder as a cluster's head does with a worker's."""
    try:
        parcel.unpack(content(here / "given", _MOST_BYTES), here / "unpacked")
    except (parcel.BadParcel, OSError, ValueError) as error:
        Report().complain(f"given: {error}")
        return 1
    return 0


KINDS = {"a worker's parcel": Kind(make=_parcel, commands=(_unpack,))}
