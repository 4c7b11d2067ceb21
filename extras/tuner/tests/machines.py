"""Checks the tuner in emulated machines with the kernels of Debian's suites, and writes tables: `make tuner-machines`.

    python -m priolab.extras.tuner.tests.machines [SUITE ...]

Each machine starts a suite's own kernel, with systemd as its first process. There the package is checked
(package_check.sh), then what in_machine.py does. A kernel that is too old, and control groups of
version 1, have to give one clear line. Results are kept beside the tree, so that one suite can be tried again. Tables
are written to RELIABILITY.md and docs/guide/tuner.md. Needs root, and Debian's packages debootstrap, qemu-system-x86,
cpio, clang and llvm; takes half an hour.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from priolab.analysis.reports.markdown import Table, with_places
from priolab.common.formats.decisions import JOURNAL, Decision
from priolab.common.formats.reading import read_journal
from priolab.common.home import ROOT
from priolab.extras.tuner.debian_package import pack
from priolab.extras.tuner.program import LICENCES, NAME, built, digest
from priolab.extras.tuner.tests import suites
from priolab.extras.tuner.tests.in_machine import WAYS
from priolab.proxy.tuner.in_kernel import InKernel, Rule
from priolab.testbed import cgroup
from tests.support.echo import serving, talk
from tests.support.lab import make_lab
from tests.support.tuner.law import follows
from tests.support.tuner.numbers import SOURCES
from tests.support.tuner.replay import SOURCE, expected, inputs, replayed
from tools import bpf_programs
from tools.campaigns.reliability import write
from tools.suites import emulated, systemd
from tools.suites.tree import CannotMake, Tree

_SUITES = ("bullseye", "bookworm", "trixie", "sid")
_OLD, _WITH_VERSION_1 = "bullseye", "bookworm"
_VERSION_1 = ("systemd.unified_cgroup_hierarchy=0", "systemd.legacy_systemd_cgroup_controller=1")
_DOCUMENT = ROOT / "docs/guide/tuner.md"
_MOST_S = 7200.0
_INPUTS = 20_000
_CODE = re.compile(rf"^exit code \d+: (?:{NAME}: )?")
_LAB = (
    "priolab",
    "common",
    "proxy",
    "tests/support/tuner",
    "extras/tuner/bed_writer.py",
    "extras/tuner/tests/in_machine.py",
)
_SAID = f"""
echo "measured: kernel: $(uname -r)"
said() {{ name=$1; shift; "$@" >/tmp/said 2>&1; echo "measured: $name: exit code $?: $(cat /tmp/said)"; }}
cp /out/{NAME} /tmp/{NAME}
run="timeout --preserve-status 20 /tmp/{NAME} run --cgroup"
"""
_OF_ALL = """
sh -x /out/package_check.sh || exit
said "without root" setpriv --reuid=65534 --regid=65534 --clear-groups $run /sys/fs/cgroup/system.slice
mount -t tmpfs none /sys/kernel/btf
said "without BTF" $run /sys/fs/cgroup/system.slice
cd /out/lab && python3 -B -m priolab.extras.tuner.tests.in_machine /out
"""
_OF_OLD = 'said "Linux 5.10" $run /sys/fs/cgroup/system.slice\n'
_OF_VERSION_1 = f"""
said "cgroup v1 alone" $run /sys/fs/cgroup/memory
apt-get install --yes --no-install-recommends /out/{NAME}.deb
systemctl start {NAME} || true
echo "measured: cgroup v1 alone, the unit's log: $(journalctl --unit {NAME} --output cat --priority err | head -1)"
mkdir /tmp/two && mount -t cgroup2 none /tmp/two
said "cgroup v1 in use, v2 elsewhere" $run /sys/fs/cgroup/memory
"""

_IN_GUEST = """
import os
from pathlib import Path
from tests.support.tuner.replay import replayed
Path("kernel").write_text(os.uname().release)
Path("replayed").write_bytes(replayed(Path("law.o"), Path("inputs").read_bytes()))
"""

Found = Mapping[str, Any]
"""What one machine found."""


def _furnish(out: Path, script: str) -> None:
    """Put into the folder what the machine needs."""
    program = built()
    shutil.move(pack(program, program.with_name(LICENCES).read_text(), out), out / f"{NAME}.deb")
    shutil.copy(program, out)
    shutil.copy(suites.CHECK, out)
    (out / "check.sh").write_text(_SAID + script)
    (out / "law.c").write_text(SOURCE)
    bpf_programs.compile_into(out / "law.o", out / "law.c", ["-I", str(SOURCES)])
    (out / "inputs").write_bytes(inputs(_INPUTS))
    for name in _LAB:
        (out / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, out / "lab" / name, symlinks=True)
        else:
            shutil.copy(ROOT / name, out / "lab" / name)


def _booted(tree: Tree, script: str, words: Sequence[str] = ()) -> Found:
    """Boot a machine with a script; return what it found. Raises CannotMake."""
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as name:
        out = Path(name)
        _furnish(out, script)
        emulated.boot(tree, out, words=words, most_s=_MOST_S)
        if not (out / "check.log").exists():
            raise CannotMake(f"systemd did not start the check (log: {tree.folder / 'console.log'})")
        shutil.copy(out / "check.log", tree.folder / "machine.log")
        lines = systemd.said_lines(out / "check.log")
        found: dict[str, Any] = {"result": suites.WELL if suites.WELL in lines else (lines or ["nothing"])[-1]}
        for line in lines:
            if line.startswith("measured: "):
                key, _, value = line.removeprefix("measured: ").partition(": ")
                found[key] = value
        if (out / "sockets.json").exists():
            found["replayed"] = (out / "replayed").read_bytes() == expected(inputs(_INPUTS))
            found |= _following(read_journal(out / "decisions.jsonl", Decision))
            found["sockets"] = json.loads((out / "sockets.json").read_text())
    return found


def _found(suite: str, *, again: bool) -> Found:
    """Return what was found in a suite's machines. again: True if they have to run again. Raises CannotMake."""
    tree = systemd.systemd_tree(suite)
    kept = tree.folder / f"found-{digest()}.json"
    if again or not kept.exists():
        found = {"new": _booted(tree, _OF_OLD if suite == _OLD else _OF_ALL)}
        if suite == _WITH_VERSION_1:
            found["old"] = _booted(tree, _OF_VERSION_1, _VERSION_1)
        kept.write_text(json.dumps(found))
    return dict(json.loads(kept.read_text()))


def _here() -> Found:
    """Replay the inputs, and check decisions on a live connection, on this machine's kernel and in the lab's guest."""
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as name, cgroup.own_group("tuner-machines") as group:
        folder, told = Path(name), list[Decision]()
        _furnish(folder, "")
        with (
            serving(folder, group) as (_, port),
            InKernel(group, Rule(), told.append),
            socket.create_connection(("127.0.0.1", port)) as client,
        ):
            talk(client)
        here = {"kernel": os.uname().release.partition("-")[0], "replayed": replayed(folder / "law.o", inputs(_INPUTS))}
        lab = make_lab(folder)
        lab.run("FABRIC=virtual", "LOWAT=auto", "SEED=1")
        guest = [
            each for file in lab.results.glob(f"maps-*/*/front/{JOURNAL}") for each in read_journal(file, Decision)
        ]
        command = [sys.executable, "-m", "priolab.experiments", "sandbox", "--env", "PYTHONPATH", "--", sys.executable]
        environment = {**os.environ, "FABRIC": "virtual", "PYTHONPATH": str(ROOT)}
        subprocess.run([*command, "-B", "-c", _IN_GUEST], cwd=folder, env=environment, check=True)
        there = {"kernel": (folder / "kernel").read_text(), "replayed": (folder / "replayed").read_bytes()}
    return {"this machine": _same(here) | _following(told), "the lab's guest": _same(there) | _following(guest)}


def _same(replayed_there: Found) -> dict[str, Any]:
    return {**replayed_there, "replayed": replayed_there["replayed"] == expected(inputs(_INPUTS))}


def _following(decisions: Sequence[Decision]) -> dict[str, Any]:
    return {"decisions": len(decisions), "follow": sum(map(follows, decisions))}


def _of_machines(found: Mapping[str, Found]) -> Table:
    """Return the table of what the package does in each machine, and of the decisions that have to be the same."""
    head = ("machine", "Linux", "systemd", "the package", "tunes again after a kill:", "after its process stopped:")
    keys = ("kernel", "systemd", "result", "after a kill", "after a stop")
    rows = [
        (
            name,
            *(str(each.get(key, "")) for key in keys),
            f"{_INPUTS if each['replayed'] else 0:,}",
            f"{each['follow']} of {each['decisions']}",
        )
        for name, each in found.items()
    ]
    return Table(head=(*head, "inputs replayed:", "decisions that follow:"), rows=tuple(rows))


def _of_errors(found: Sequence[Found]) -> Table:
    """Return the table of what the tuner says where it cannot tune."""
    version_1 = ("cgroup v1 alone", "cgroup v1 alone, the unit's log", "cgroup v1 in use, v2 elsewhere")
    names = ("Linux 5.10", *version_1, "without root", "without BTF")
    said = {name: each[name] for each in found for name in names if name in each}
    rows = tuple((name, _CODE.sub("", line)) for name, line in said.items())
    return Table(head=("where", "what it says"), rows=rows).merged()


def _of_sockets(found: Mapping[str, Found]) -> Table:
    """Return the table of the ways to send, with a column for each kernel."""
    rows = [(name, *(_cell(each["sockets"].get(name)) for each in found.values())) for name in WAYS]
    return Table(head=("", *(f"Linux {each['kernel']}:" for each in found.values())), rows=tuple(rows))


def _cell(way: Found | None) -> str:
    """Return how many bytes were unsent, without the tuner and with it, and the LOWATs that it set."""
    if way is None:
        return "not tried"
    unset, tuned = way["unset"], way["tuned"]
    if trouble := unset["trouble"] or tuned["trouble"]:
        return str(trouble)
    lowats = ", ".join(f"{each:,}" for each in tuned["lowats"]) or "none"
    return f"{unset['most_unsent_bytes']:,} to {tuned['most_unsent_bytes']:,} (LOWAT {lowats})"


def main() -> int:
    """Try all machines and write the tables; return 1 if something is not as it must be."""
    parser = argparse.ArgumentParser(prog="priolab.extras.tuner.tests.machines", allow_abbrev=False)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="suites whose machines run again")
    again = parser.parse_args().suites or _SUITES
    try:
        emulated.check()
        found = {suite: _found(suite, again=suite in again) for suite in _SUITES}
        machines = {suite: each["new"] for suite, each in found.items() if suite != _OLD}
        decisions = {**_here(), **machines}
    except (CannotMake, OSError, RuntimeError) as error:
        print(f"tuner-machines: {error}", file=sys.stderr)
        return 1
    errors = [each for suite in found.values() for each in suite.values()]
    tables = (_of_machines(decisions), _of_errors(errors))
    write("tuner-machines", "\n\n".join(each.markdown() for each in tables) + "\n")
    document = with_places(_DOCUMENT.read_text(), {"sockets": _of_sockets(machines).markdown()})
    _DOCUMENT.write_text(document)
    same = all(each["replayed"] and each["decisions"] == each["follow"] > 0 for each in decisions.values())
    return int(not same or any(each["result"] != suites.WELL for each in machines.values()))


if __name__ == "__main__":
    sys.exit(main())
