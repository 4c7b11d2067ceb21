"""The commands in README.md and the guides: each target, knob and option exists."""

import re
import shlex
from itertools import takewhile
from pathlib import Path

import pytest

from priolab.experiments.cli import command_line
from priolab.experiments.execution.cli_request import RUN_KNOBS, run_values, split_words
from priolab.experiments.execution.request import arms_for
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.named import catalogue, entry_of
from priolab.experiments.sweep.sweep_request import sweep_request_from

ROOT = Path(__file__).resolve().parents[2]
OF_ONES_OWN = re.compile(r"my\.conf|my\.trace|\.\./my-front|my-scenario\.toml")
"""Files that a page tells its reader to make."""
LIST = ROOT / "docs" / "measured" / "commands.md"
"""The list of all commands with their outcomes, which repeats the other pages."""
PAGES = ("README.md", *(str(path.relative_to(ROOT)) for path in sorted({*ROOT.glob("docs/*/*.md")} - {LIST})))
TARGETS = {
    target
    for file in (ROOT / "Makefile", *ROOT.glob("extras/*/targets.mk"))
    for line in re.findall(r"^([a-z][a-z0-9 -]*):", file.read_text(), re.MULTILINE)
    for target in line.split()
} | {f"test-{file.parent.name}" for file in ROOT.glob("extras/*/extra.toml")}


def _commands() -> list[tuple[str, str]]:
    """Return page and text of each `make` or `priolab` command in shell blocks, and of each `make` in backquotes."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text()
        for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found += [(page, line) for line in block.replace("\\\n", " ").splitlines()]
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        found += [(page, code) for code in re.findall(r"`(make [^`]+)`", prose)]
    return [(page, line) for page, line in found if line.startswith(("make ", "priolab "))]


@pytest.mark.parametrize(("page", "line"), _commands())
def test_it_can_be_typed(page: str, line: str) -> None:
    """A documented command's target exists and its words are accepted."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        _, target, *knobs = words
        assert target in TARGETS, (page, target)
        if target in ("experiment", "sweep") and not OF_ONES_OWN.search(line):
            _check(target, knobs)
    else:
        # The command line takes `-- COMMAND` away before it is parsed, and a shell takes `>FILE`.
        own = list(takewhile(lambda word: word != "--" and not word.startswith(">"), words[1:]))
        command_line(own).parse_args(own)


def _check(target: str, words: list[str]) -> None:
    if target == "sweep":
        assert sweep_request_from(words).runs
        return
    given = split_words(word for word in words if not word.endswith(".toml"))
    values = run_values(given)
    assert values["SCENARIO"] in catalogue()
    knobs = dict(entry_of(values["SCENARIO"]).knobs) | {name: text for name, text in given.items() if name in KNOBS}
    assert arms_for(knobs, control=values["CONTROL"])
    assert set(given) <= {*KNOBS, *RUN_KNOBS}


def test_there_are_some() -> None:
    """README.md and the guides have `make experiment`, `make sweep`, `make demo` and `priolab` commands."""
    lines = [line for _, line in _commands()]
    for kind in ("make experiment", "make sweep", "make demo", "priolab "):
        assert any(line.startswith(kind) for line in lines)
