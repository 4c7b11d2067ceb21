"""The commands of README.md and the guides, and the outcome of each on a bare machine. Pure.

A command has one of these outcomes:
works: it ended with exit code 0. begins: its set-up passed and its work began; then it was ended, because it takes long
or runs until it is interrupted. says: it ended with another exit code, and its last line says why. fails: it printed a
traceback, or ended without a line, or did not begin in time.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from priolab.analysis.reports.markdown import Table

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IN_PROSE = re.compile(r"`(make [^`]+)`")
_PLACEHOLDER = re.compile(
    r"HOST|DIGEST|FILE\b|NAME\b|URL\b|example\.org|localhost:|10\.0\.0\.1|COMMAND|SERVER=\.\.\.|SPEC|linux-6\.17|0123456789ab"
    r"|maps-2026"
)
"""Words for things that only the reader has: hosts, other machines, files that are there already."""
_BEGUN = re.compile(
    r"load \d+ of \d+|\b\d+ of \d+\b|^open http|Jupyter Server|: ok$|bringing up nodes|^running|measurement \d",
    re.MULTILINE,
)
_PROGRAMS = ("make", "priolab", "cp", "cargo", "curl", "python", "python3", ".venv/bin/pip", ".venv/bin/python", "(cd")
_LONGEST = 240


class Outcome(StrEnum):
    """The outcome of a command."""

    WORKS = "works"
    BEGINS = "begins"
    SAYS = "says"
    FAILS = "fails"


@dataclass(frozen=True, kw_only=True)
class Documented:
    """A command as a page has it. page: its path in the checkout. line: the command, without a comment."""

    page: str
    line: str

    @property
    def is_for_readers(self) -> bool:
        """True if it names what only the reader has, such as a host."""
        return _PLACEHOLDER.search(self.line) is not None


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A command that was tried. said: the line that it ended with, for SAYS and FAILS. first: True if it was the first
    command on the machine.
    """

    outcome: Outcome
    said: str = ""
    first: bool = False


def documented(root: Path) -> list[Documented]:
    """Returns the commands of README.md and the guides, each once for each page, in the order of the pages."""
    found: dict[Documented, None] = {}
    for path in (root / "README.md", *sorted((root / "docs" / "guide").glob("*.md"))):
        page, text = str(path.relative_to(root)), path.read_text()
        for kind, block in _BLOCK.findall(text):
            if kind not in ("", "sh"):
                continue
            lines = [without_comment(line) for line in block.replace("\\\n", " ").splitlines()]
            found |= dict.fromkeys(
                Documented(page=page, line=" ".join(line.split()) if "'" not in line else line)
                for line in lines
                if line.startswith(tuple(f"{program} " for program in _PROGRAMS))
            )
        prose = _BLOCK.sub("", text)
        codes = (" ".join(code.split()) for code in _IN_PROSE.findall(prose))
        found |= dict.fromkeys(Documented(page=page, line=code) for code in codes)
    return list(found)


def without_comment(line: str) -> str:
    """Returns a line of a shell block without the comment at its end."""
    return re.sub(r"\s+# .*$", "", line).strip()


def has_begun(log: str) -> bool:
    """True if the log shows that the command's work has begun, after its set-up."""
    return _BEGUN.search(log) is not None


def judged(code: int | None, log: str, *, first: bool = False) -> Tried:
    """Returns the outcome of a command. code: its exit code; None if it was ended after some time."""
    last = _last(log)
    if "Traceback (most recent call last)" in log or "\nThe failed tests:\n" in log:
        return Tried(outcome=Outcome.FAILS, said=last, first=first)
    if code == 0:
        return Tried(outcome=Outcome.WORKS, first=first)
    if code is None:
        begun = has_begun(log)
        outcome = Outcome.BEGINS if begun else Outcome.FAILS
        return Tried(outcome=outcome, said="" if begun else f"did not begin in time: {last}", first=first)
    return Tried(outcome=Outcome.SAYS if last else Outcome.FAILS, said=last or f"exit code {code}", first=first)


def _last(log: str) -> str:
    """Returns the line with which a command ended, and the line before it if it is the set-up's remedy."""
    lines = [
        line.strip() for line in log.splitlines() if line.strip() and not re.match(r"make(\[\d+\])?: \*\*\*", line)
    ]
    if not lines:
        return ""
    remedies = [
        line for line in lines[-4:] if line.startswith(("setup: these packages are missing", "setup: install "))
    ]
    line = remedies[-1] if remedies else lines[-1]
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def page(asked: Sequence[Documented], tried: Mapping[str, Mapping[str, Tried]]) -> str:
    """Returns the table, in Markdown. tried: for each machine, such as `trixie, root`, the outcomes by command."""
    rows = tuple(
        (each.page.removeprefix("docs/guide/"), f"`{each.line}`", *_cells(each, tried.values())) for each in asked
    )
    return Table(head=("page", "command", *tried), rows=rows).markdown()


def _cells(each: Documented, machines: Iterable[Mapping[str, Tried]]) -> Iterable[str]:
    for machine in machines:
        found = machine.get(each.line)
        if found is None:
            yield "for the reader's own" if each.is_for_readers else "not tried"
            continue
        said = f": {found.said}" if found.said else ""
        yield f"{found.outcome}{', as the first' if found.first else ''}{said}"


def counts(tried: Iterable[Tried]) -> str:
    """Returns how many commands have each outcome."""
    outcomes = [each.outcome for each in tried]
    return ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in Outcome)
