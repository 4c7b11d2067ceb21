"""Carries out the examples of docs/guide/sandbox.md here and on an emulated machine: `make sandbox-machine`.

    python -m tools.campaigns.sandbox_machine [EXAMPLE ...]

The emulated machine has Debian's kernel and another processor. The programs, their paths and the guest's kernel are
those of this machine, whose file system it has; the loader searches the same folders on both. Each example must write
the same at the same times there, and have packets of the same times and lengths. The table is written into the
reference, if all examples are tried. Needs root, and Debian's packages debootstrap, qemu-system-x86 and cpio; takes
half an hour.
"""

import argparse
import hashlib
import json
import struct
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path

from priolab.analysis.reports.markdown import Table, with_place
from priolab.common.cache_folder import cache_folder
from priolab.common.home import ROOT
from tools.campaigns.sandbox_examples import REFERENCE, Repetition, copied, examples, repetition
from tools.suites import emulated
from tools.suites.systemd import systemd_tree
from tools.suites.tree import CannotMake

_SUITE = "bookworm"
_MOST_S = 4 * 3600.0
LOADER = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-BMI2,-AVX512CD"
"""Has the loader search for libraries as on a processor without these extensions: in the same folders everywhere."""
_RECORDS = "records.json"
_PACKET = 6  # the block of a packet, draft-ietf-opsawg-pcapng, 4.3
_HEAD = struct.Struct("=IIIIIII")  # kind and length of the block; interface, two halves of the time, two lengths

Record = Mapping[str, Sequence[str]]
"""The output, times, counts and packets of one example."""


def record(done: Repetition) -> Record:
    """Returns what an example's repetition did."""
    found: dict[str, Sequence[object]] = {
        "output": [(frame.place, frame.stream, frame.data) for frame in done.frames],
        "times of the output": [frame.at_ns for frame in done.frames],
        "counts": [*asdict(done.outcome).items()],
        "times and lengths of packets": [*_times_and_lengths(done.packets)],
        "bytes of packets": [hashlib.sha256(done.packets).hexdigest()],
    }
    return {name: [repr(each) for each in lines] for name, lines in found.items()}


def _times_and_lengths(pcapng: bytes) -> Iterator[tuple[int, ...]]:
    """Yields interface, time and length of each packet."""
    at = 0
    while at < len(pcapng):
        kind, size = struct.unpack_from("=II", pcapng, at)
        if kind == _PACKET:
            _, _, *packet, _, length = _HEAD.unpack_from(pcapng, at)
            yield *packet, length
        at += size


def carried_out(names: Sequence[str], folder: Path) -> dict[str, Record]:
    """Carries out examples, each in a new guest, in the folder of their files. Returns their records."""
    found = {}
    for name in names:
        sandbox, *words = examples()[name]
        found[name] = record(repetition([sandbox, "--env", LOADER, *words], folder, fresh=True))
        print(f"{name}: carried out", flush=True)
    return found


def _there(names: Sequence[str], folder: Path, out: Path) -> dict[str, Record]:
    """Carries out examples on the emulated machine; returns their records. Raises CannotMake."""
    command = [sys.executable, "-m", __spec__.name, *names, "--folder", str(folder)]
    script = f"env TMPDIR=/tmp PYTHONPATH={ROOT} chroot {emulated.SHARED} sh -c 'cd {ROOT} && {' '.join(command)}'\n"
    emulated.run(systemd_tree(_SUITE), script, out, shared=True, most_s=_MOST_S)
    records = out / _RECORDS
    if not records.exists():
        kept = cache_folder() / "sandbox-machine.log"
        kept.write_text((out / "log").read_text())
        raise CannotMake(f"the examples failed there (log: {kept})")
    return dict(json.loads(records.read_text()))


def _table(here: Mapping[str, Record], there: Mapping[str, Record]) -> Table:
    heads = [*next(iter(here.values()))]
    rows = [
        (name.replace("-", " "), *("same" if own[head] == there[name][head] else "other" for head in heads))
        for name, own in here.items()
    ]
    return Table(head=("example", *heads), rows=tuple(rows))


def _differences(here: Mapping[str, Record], there: Mapping[str, Record]) -> Iterator[str]:
    """Yields for each part of a record that differs how many of its lines do, and the first."""
    for name, own in here.items():
        for head, lines in own.items():
            pairs = [*zip_longest(lines, there[name][head])]
            if differing := [number for number, (one, other) in enumerate(pairs) if one != other]:
                one, other = pairs[differing[0]]
                yield f"{name}: {head}: {len(differing)} of {len(pairs)} differ, the first: {one}, there {other}"


def main() -> int:
    """Returns the exit code: 1 if an example wrote something else, or had packets of other times or lengths."""
    parser = argparse.ArgumentParser(prog="make sandbox-machine", allow_abbrev=False)
    parser.add_argument("names", nargs="*", metavar="EXAMPLE")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # on the emulated machine
    given = parser.parse_args()
    names = given.names or [*examples()]
    if given.folder is not None:
        Path("/out", _RECORDS).write_text(json.dumps(carried_out(names, given.folder)))
        return 0
    with tempfile.TemporaryDirectory(prefix="priolab-machine-") as scratch:
        out = Path(scratch, "out")
        out.mkdir()
        folder = copied(Path(scratch))
        try:
            emulated.check()
            here, there = carried_out(names, folder), _there(names, folder, out)
        except CannotMake as error:
            print(f"sandbox-machine: {error}", file=sys.stderr)
            return 1
    table = _table(here, there)
    print(table.markdown(), *_differences(here, there), sep="\n")
    if not given.names:
        text = REFERENCE.read_text()
        REFERENCE.write_text(with_place(text, "on-another-machine", table.markdown()))
    return int(any("other" in row[1:-1] for row in table.rows))


if __name__ == "__main__":
    sys.exit(main())
