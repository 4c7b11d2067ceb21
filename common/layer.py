"""Shows files that a folder of the machine lacks, in a layer over the folder, which stays as it is."""

import ctypes
import os
import re
from collections.abc import Iterable
from pathlib import Path

_SPECIAL = re.compile(r"[\\:,]")  # in the options of overlayfs
_libc = ctypes.CDLL(None, use_errno=True)


def show_empty_files(places: Iterable[Path], layer: Path) -> None:
    """Shows empty files, in the mount namespace of this thread. Does nothing if there are no places.

    places: absolute paths in one folder. layer: the path of a folder to be made for them. Raises OSError.
    """
    places = list(places)
    if not places:
        return
    layer.mkdir()
    for place in places:
        (layer / place.name).touch()
    folder = places[0].parent
    lower = _SPECIAL.sub(r"\\\g<0>", str(layer))
    options = f"lowerdir={lower}:{folder}"
    if _libc.mount(b"overlay", os.fsencode(folder), b"overlay", None, os.fsencode(options)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(folder))
