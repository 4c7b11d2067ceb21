"""Damages parcels for a cluster's head (tools/campaigns/mutations.py)."""

from pathlib import Path

from priolab.experiments.commands.console import Report
from priolab.experiments.host.home import ROOT
from priolab.extras.cluster import parcel
from tools.campaigns.damage import Kind


def _parcel(folder: Path) -> None:
    (folder / "given").write_bytes(parcel.pack(ROOT / "tests" / "golden" / "format-3" / "control.1"))


def _unpack() -> int:
    """Unpacks a packed run folder as a cluster's head does with a worker's."""
    try:
        parcel.unpack(Path("here/given").read_bytes(), Path("unpacked"))
        print("unpacked")
    except (parcel.BadParcel, OSError) as error:
        Report().complain(f"given: {error}")
        return 1
    return 0


PROGRAMS = {"unpack": _unpack}
KINDS = {"a worker's parcel": Kind(make=_parcel, commands=(("[unpack]",),), share=3)}
