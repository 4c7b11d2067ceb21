"""Numbers for the tuner's law: Hypothesis strategies, the structures of law.h in ctypes, and law.h as a library."""

import ctypes
import subprocess
from pathlib import Path
from typing import Self

from hypothesis import strategies as st

from priolab.proxy.tuner.in_kernel import PROGRAM
from tests.support.tuner.law import Aim, Choice, Seen
from tests.support.tuner.replay import WHYS

SOURCES = PROGRAM.parent
"""The folder of law.h and caution.h."""

u32 = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 4, 5, 1448, 65535, 2**31, 2**32 - 1]))
u64 = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 10**10), st.sampled_from([0, 1, 2**63, 2**64 - 1]))
seen = st.builds(
    Seen,
    delivery_rate_bytes_s=u64,
    acked_rate_bytes_s=u64,
    highest_rate_bytes_s=u64,
    cwnd_segments=u32,
    mss_bytes=u32,
    rtt_us=u32,
)
_sizes = st.one_of(st.integers(1, 2**31 - 1), st.sampled_from([1, 4096, 2**31 - 1]))
aims = st.builds(
    lambda target_us, a, b: Aim(target_us=target_us, floor_bytes=min(a, b), ceiling_bytes=max(a, b)),
    st.integers(1, 2**32 - 1),
    _sizes,
    _sizes,
)


class CChoice(ctypes.Structure):
    """`struct choice` of law.h."""

    _fields_ = (("rate_bytes_s", ctypes.c_uint64), ("lowat_bytes", ctypes.c_uint32), ("why", ctypes.c_uint32))

    @classmethod
    def of(cls, choice: Choice) -> Self:
        """Return the same values as a C structure."""
        return cls(choice.rate_bytes_s, choice.lowat_bytes, WHYS.index(choice.why))


def choice_of(choice: CChoice) -> Choice:
    """Return the same values as a Python object."""
    return Choice(choice.rate_bytes_s, choice.lowat_bytes, WHYS[choice.why])


def compiled(source: str, folder: Path) -> ctypes.CDLL:
    """Compile C code, which may include law.h and caution.h, for this machine, and return the library."""
    file, library = folder / "code.c", folder / "code.so"
    file.write_text(source)
    words = ["gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-O2", "-I", str(SOURCES), "-o", str(library), str(file)]
    subprocess.run(words, check=True)
    return ctypes.CDLL(str(library))
