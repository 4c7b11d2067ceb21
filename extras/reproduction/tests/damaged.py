"""Experiments for `priolab reproduce`, to be damaged (tests/support/damaged_input.py)."""

from pathlib import Path

import priolab
from priolab.extras.reproduction.reproduce import FAST, GROWING, SLOW
from tests.support.damaged_input import Kind


def _reproduction(folder: Path) -> None:
    """Records the three experiments of `priolab reproduce`."""
    for knobs in (FAST, SLOW, GROWING):
        made = priolab.run(**knobs, FABRIC="virtual", RESULTS=folder, progress=lambda _: None)
        made.path.rename(folder / f"given-{len(list(folder.glob('given-*')))}")
    (folder / "latest").unlink()


_COMMAND = ("reproduce", "FABRIC=virtual", "RESULTS=here", "--out", "here/page")
KINDS = {"a folder for reproduce": Kind(make=_reproduction, commands=(_COMMAND,), guest=True, slow=True)}
