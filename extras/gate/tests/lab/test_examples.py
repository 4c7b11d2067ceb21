"""The examples of the guides: the servers of docs/guide/your-server.md, and the expectations of docs/guide/gate.md.

The servers are built by the guide's commands; what these build is kept in the cache (common/cache.py).
"""

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from priolab.common.cache import new_folder
from priolab.common.cache_folder import cache_folder
from priolab.common.home import ROOT
from priolab.experiments.setup.user_files import digest_of
from priolab.extras.gate.checks import read_expectations
from tests.support.lab import Lab, priolab_here

pytestmark = pytest.mark.usefixtures("guest")

PAGE = (ROOT / "docs/guide/your-server.md").read_text()
FOLLOWS = "follows from urgency, header"
FAILING: Mapping[str, Mapping[tuple[str, str], str]] = {
    "hypercorn": {("urgency", "header"): "ignores urgency", ("late", "plain"): "buffers"},
    "hyper": {
        ("urgency", "header"): "ignores urgency",
        ("update", "header+update"): FOLLOWS,
        ("reset", "header"): FOLLOWS,
        ("connections", "header"): FOLLOWS,
        ("late", "header"): FOLLOWS,
    },
}
"""For each example the kind and the dialect of the checks that fail, and the fault that the gate names."""

MARKS = {"hyper": (pytest.mark.needs("cargo"), pytest.mark.release), "hypercorn": (pytest.mark.release,)}
"""The marks of examples: what builds one that is no script, and which wait for releases."""

# A compiler that does not optimize takes half the time, and in the guest time stands still while a program works.
_HASTE = {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "0"}


def _commands(example: str) -> list[str]:
    """Return the guide's commands: the copy, the build and the gate."""
    (block,) = re.findall(rf"^```sh\n(cp -r docs/examples/{example} .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(block).splitlines()


def _built(example: str) -> Path:
    """Return the folder in which a reader is after the commands that copy and build the example."""
    copy, build, _ = _commands(example)
    made_of = " ".join((digest_of(ROOT / "docs/examples" / example, example), copy, build, platform.machine()))
    kept = cache_folder() / "examples" / f"{example}-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"
    if kept.exists():
        return kept / "lab"
    with new_folder(kept) as folder:
        (folder / "lab").mkdir()
        (folder / "lab" / "docs").symlink_to(ROOT / "docs")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # whose Python has pip
        for command in (copy, build):
            subprocess.run(
                command, shell=True, check=True, cwd=folder / "lab", env=os.environ | _HASTE | {"PATH": path}
            )
        (folder / "lab" / "docs").unlink()
        for spare in folder.glob("*/target/release/*/"):
            shutil.rmtree(spare)
    return kept / "lab"


@pytest.mark.parametrize("example", [pytest.param(each, marks=MARKS.get(each, ())) for each in FAILING])
def test_an_example(lab: Lab, monkeypatch: pytest.MonkeyPatch, example: str) -> None:
    """The guide's command passes, and the checks fail that the guide's table names, with their faults."""
    monkeypatch.chdir(_built(example))
    program, *words = shlex.split(_commands(example)[2])
    assert program == "priolab"
    options = ("FABRIC=virtual", f"RESULTS={lab.results}", "--limit", "300s")
    done = priolab_here(*words, *options, temporary=lab.temporary)
    assert done.returncode == 0, done.stdout + done.stderr
    claimed = {each.kind for each in read_expectations(Path("..", example, "order.toml")).check}

    tables = [f'[[check]]\nkind = "{kind}"\ndialect = "{dialect}"\n' for kind, dialect in FAILING[example]]
    (lab.root / "failing.toml").write_text("\n".join(["format = 1", *tables]))
    expect = ("--expect", str(lab.root / "failing.toml"), "--junit", str(lab.root / "junit.xml"))
    done = priolab_here("gate", f"../{example}", *options, *expect, temporary=lab.temporary)
    assert done.returncode == 1, done.stdout + done.stderr
    cases = ET.parse(lab.root / "junit.xml").getroot()[0]
    found = {case.attrib["name"]: [each.attrib["type"] for each in case.iter("failure")] for case in cases}
    assert found == {", ".join(check): [fault] for check, fault in FAILING[example].items()}

    (row,) = re.findall(rf"^\| \[{example}\]\(../examples/{example}\) .*$", PAGE, re.MULTILINE)
    _, _, holds, fails, _ = row.split("|")
    assert set(re.findall(r"`(\w+)`", holds)) - {"must", "plain"} == claimed
    assert set(re.findall(r"\*([a-z ]+)\*", fails)) == set(FAILING[example].values()) - {FOLLOWS}


def test_the_example_of_the_gates_guide(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's first example prints what the guide shows, on any nginx that follows weights but for the figures."""
    guide = (ROOT / "docs/guide/gate.md").read_text()
    _, section = guide.split("\n## An example from start to end\n")
    (expectations, *_) = re.findall(r"^```toml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    (command, *_) = re.findall(r"^`(priolab gate .*?)`", section, re.MULTILINE)
    (shown, *_) = re.findall(r"^```\n(pass .*?)^```$", section, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(lab.root)
    Path("weights.toml").write_text(expectations)
    done = priolab_here(*shlex.split(command)[1:], f"RESULTS={lab.results}", "--limit", "300s", temporary=lab.temporary)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.sub(r"[\d.]+", "#", done.stdout).endswith(re.sub(r"[\d.]+", "#", shown))
