"""Tests of the commands of README and guides, and of how their outcomes are judged."""

import json
from pathlib import Path

import pytest

from tools.suites.commands import LIST
from tools.suites.documented import Outcome, Tried, documented, judged

_RUN = "   8.7 s  control.1: load 1 of 3\n"
_REFUSAL = "setup: these packages are missing; install them with: sudo apt-get install nginx\n"


def test_the_pages_commands(tmp_path: Path) -> None:
    """Blocks of shell and blocks without a language have commands, and so has prose; outputs and comments are none."""
    (tmp_path / "docs/guide").mkdir(parents=True)
    (tmp_path / "README.md").write_text(
        "```sh\nmake list    # all\nmake sweep LOWAT=1 \\\n    CC=bbr\n(cd a && make)\n```\n\n`make show\nA=1`, `ls`\n"
        "```toml\nmake = 1\n```\n```\nmake it so\n```\n"
    )
    (tmp_path / "docs/guide/a.md").write_text("```sh\npriolab probe https://www.example.org/a\nmake list\n```\n")
    found = documented(tmp_path)
    assert [each.line for each in found] == [
        "make list",
        "make sweep LOWAT=1 CC=bbr",
        "(cd a && make)",
        "make it so",
        "make show A=1",
        "priolab probe https://www.example.org/a",
        "make list",
    ]
    assert [each.line for each in found if each.is_for_readers] == ["priolab probe https://www.example.org/a"]


@pytest.mark.parametrize(
    ("code", "log", "outcome", "said"),
    [
        (0, "done\n", Outcome.WORKS, ""),
        (None, _RUN, Outcome.BEGINS, ""),
        (None, "setup: installing nginx\n", Outcome.FAILS, "did not begin in time: setup: installing nginx"),
        (2, f"{_REFUSAL}make: *** [Makefile:1: list] Error 1\n", Outcome.SAYS, _REFUSAL.strip()),
        (1, "Traceback (most recent call last):\n  x\nValueError: 3\n", Outcome.FAILS, "ValueError: 3"),
        (0, "Traceback (most recent call last):\nValueError: 3\n", Outcome.FAILS, "ValueError: 3"),
        (2, "1 failed\nThe failed tests:\n  test_x\nLeft out: 1 test\n", Outcome.FAILS, "Left out: 1 test"),
        (1, "", Outcome.FAILS, "exit code 1"),
    ],
)
def test_outcomes(code: int | None, log: str, outcome: Outcome, said: str) -> None:
    """A traceback, no line and no beginning in time are failures; a line that ends a refused command is none."""
    assert judged(code, log) == Tried(outcome=outcome, said=said)


def test_no_command_in_the_list_fails() -> None:
    """Every command that was tried works, begins, or says why not; both commands of the README's first block work."""
    found = json.loads(LIST.read_text())
    failed = {
        (machine, line): told
        for machine, each in found.items()
        for line, told in each.items()
        if told["outcome"] == "fails"
    }
    assert failed == {}
    assert found["trixie, root"]["make experiment LOWAT=131072"]["outcome"] == "works"
