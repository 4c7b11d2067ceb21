"""Runs the default experiment by namespaces in an emulated arm64 machine, with its kernel's own netem: `make arm64`.

    python -m tools.campaigns.arm64 [RUNS]

The machine has Debian 12 for arm64 with Debian's kernel, a clone of this checkout's HEAD, and what `make
setup-experiment` installs. The verdicts have to be those of the default experiment in this machine's guest, and the
first bytes of the scripts those within 5 %. The table is written into docs/guide/fabrics.md. Needs root and Debian's
packages debootstrap, qemu-user-static, qemu-system-arm and cpio; keeps two gigabytes in ~/.cache/priolab/suites. The
exit code is 0 if every run is as expected.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from priolab.analysis.records.runs import load_experiment
from priolab.analysis.reports.markdown import Table, with_places
from priolab.analysis.reports.summary import summarize
from priolab.common.cache_folder import cache_folder
from tests.support.lab import make_lab
from tools.suites import emulated
from tools.suites import tree as trees
from tools.suites.tree import CannotMake

_SUITE = "bookworm"
_CHECKOUT = Path(__file__).resolve().parents[2]
_DOCUMENT = _CHECKOUT / "docs/guide/fabrics.md"
_ALLOWED = 0.05
_WORDS = ("LOWAT=131072", "SEED=1")
_NEEDED = {
    "debootstrap": "debootstrap",
    "qemu-aarch64-static": "qemu-user-static",
    "qemu-system-aarch64": "qemu-system-arm",
    "cpio": "cpio",
}
"""The programs, each with Debian's package that has it."""

_MOST_S = 3600.0
"""The most time in which the machine starts, or carries out one experiment."""

_WITHOUT_FIGURES = "rm -r .venv/lib/python3*/site-packages/vl_convert*"
"""In the emulation drawing takes longer than the runs."""

Arms = Mapping[str, Mapping[str, Any]]
"""The arms of an experiment's summary, by name."""


def main() -> int:
    """Run the campaign. Return the exit code."""
    parser = argparse.ArgumentParser(prog="tools.campaigns.arm64")
    parser.add_argument("runs", nargs="?", type=int, default=3)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        out.mkdir()
        try:
            trees.check_installed(_NEEDED)
            usual = _by_name(make_lab(Path(scratch)).run("FABRIC=virtual", *_WORDS).summary or {"arms": ()})
            print(_in_machine(out, runs))
        except CannotMake as error:
            print(f"arm64: {error}", file=sys.stderr)
            return 1
        measured = [_by_name(summarize(load_experiment(folder))) for folder in sorted(out.glob("results/maps-*[!l]"))]
    trouble = [f"{len(measured)} of {runs} experiments have a result"] if len(measured) < runs else []
    trouble += [line for arms in measured for line in differences(arms, usual)]
    print("\n".join(trouble))
    if not trouble:
        _DOCUMENT.write_text(with_places(_DOCUMENT.read_text(), {"arm64": table(measured, usual).markdown()}))
    return 1 if trouble else 0


def _in_machine(out: Path, runs: int) -> str:
    """Make the experiments in the machine, and copy their folders to `out`. Return its output. Raises CannotMake."""
    tree = trees.foreign_in(cache_folder().parent, _SUITE)
    trees.make(tree)
    clone = trees.clone(tree, _CHECKOUT, "root")
    # The set-up's own policy does not work: qemu-user shows a process another start time than other processes see.
    policy = tree.root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    for command in (["update-ca-certificates"], ["make", "setup-experiment"]):
        log = tree.folder / f"{command[0]}.log"
        if code := trees.run(tree, "root", str(clone), command, log):
            raise CannotMake(f"{' '.join(command)} ended with {code} (log: {log})")
    experiment = f".venv/bin/priolab run {' '.join(_WORDS)} FABRIC=netns SHAPER=netem"
    script = "\n".join([f"cd {clone}", _WITHOUT_FIGURES, *[experiment] * runs, "cp -r results /out"])
    emulated.run(tree, script, out, most_s=(1 + runs) * _MOST_S)
    return (out / "log").read_text()


def _by_name(summary: Mapping[str, Any]) -> Arms:
    return {arm["name"]: arm for arm in summary["arms"]}


def differences(arms: Arms, usual: Arms) -> list[str]:
    """Return a line for each arm that is invalid, has another verdict than usual, or another first byte of the script.

    The first bytes may differ by 5 %.
    """
    lines = []
    for name, expected in usual.items():
        arm = arms[name]
        if arm["status"] != "ok":
            lines.append(f"{name}: {arm['reason']}")
        elif arm["verdict"] != expected["verdict"] or _off(arm, expected) > _ALLOWED:
            lines.append(f"{name}: {_said(arm)}, not {_said(expected)}")
    return lines


def table(measured: Sequence[Arms], usual: Arms) -> Table:
    """Return the table of the document, with a row for each arm."""
    rows = []
    for name, expected in usual.items():
        arms = [each[name] for each in measured]
        first_ms = ", ".join(f"{arm['script']['first_byte_ms']:.0f}" for arm in arms)
        most = max(_off(arm, expected) for arm in arms)
        here = f"{expected['script']['first_byte_ms']:.0f}"
        rows.append((name, expected["verdict"], first_ms, here, f"{most:.1%}"))
    head = ("arm", "verdict", "script first byte, arm64:", "x86-64:", "largest difference:")
    return Table(head=head, rows=tuple(rows))


def _said(arm: Mapping[str, Any]) -> str:
    return f"{arm['verdict']} at {arm['script']['first_byte_ms']:.0f} ms"


def _off(arm: Mapping[str, Any], expected: Mapping[str, Any]) -> float:
    """Return the difference of the first bytes as a part of the expected one."""
    first_ms, expected_ms = (float(each["script"]["first_byte_ms"]) for each in (arm, expected))
    return abs(first_ms / expected_ms - 1)


if __name__ == "__main__":
    sys.exit(main())
