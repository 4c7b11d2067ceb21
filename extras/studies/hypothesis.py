"""Hypotheses about TCP_NOTSENT_LOWAT: each with the arms that test it, and a verdict that follows from the figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from statistics import median

from priolab import Measure, Run
from priolab.analysis.reports.markdown import Table, filled
from priolab.common.amounts import kibibytes, milliseconds, rate
from priolab.common.home import ROOT
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.guest_kernel import built_kernel
from priolab.experiments.execution.cli_request import joined_words
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import with_defaults
from priolab.extras.studies.in_guest import run_in_guest
from priolab.testbed import Additions, added

LOST = 0.02
"""The part of the goodput from which on a loss counts."""
ALIKE = 0.1
"""Two times or sizes are alike if they differ by at most this part of the larger one."""
MUCH = 1.5
"""The ratio from which on one time or size is much larger than another."""

PAGES = "extras/studies/pages"
"""The folder of the study's pages, as a reader in a checkout types it."""

LABS = Additions()
"""The lab's own guest kernel."""


class Word(StrEnum):
    """The verdict on a hypothesis."""

    TRUE = "true"
    PARTLY = "true only in part"
    FALSE = "false"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A verdict. because: a sentence or two, with the figures from which the verdict follows."""

    word: Word
    because: str


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A figure of a run. name: the heading of its column. of: takes it from a run that is ok. said: formats it."""

    name: str
    of: Callable[[Run], float]
    said: Callable[[float], str]


Found = Mapping[str, Mapping[Quantity, float]]
"""The figures of a hypothesis: for each case, by its name, the quantities."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A case of a hypothesis: an arm.

    name: as in the table and in the picture. knobs: those that differ from defaults. kernel: what the guest kernel has
    beyond the lab's; no command but the study's runs on such a kernel.
    """

    name: str
    knobs: Mapping[str, str]
    kernel: Additions = LABS

    @property
    def is_limited(self) -> bool:
        """True if the kernel limits unsent bytes at a front."""
        limits = (self.knobs.get("LOWAT"), self.knobs.get("VIA_LOWAT", "none"), self.knobs.get("NATIVE", "off"))
        return limits != ("none", "none", "off")


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A part of a picture: a quantity as a bar for each case. cases: their names.

    claimed: a bar for what the hypothesis claims, as its name and its value; None without one.
    """

    quantity: Quantity
    cases: Sequence[str]
    claimed: tuple[str, float] | None = None


def in_guest(hypothesis: "Hypothesis", results: Path, report: Report) -> Found:
    """Runs the cases of a hypothesis in the guest, and returns their quantities. Raises LabError.

    results: the folder for results, in which the hypothesis's files are written, too.
    """
    paths = {name: results / name for name in hypothesis.files}
    for name, text in hypothesis.files.items():
        paths[name].write_text(text())
    found: dict[str, dict[Quantity, float]] = {case.name: {} for case in hypothesis.cases}
    for kernel in dict.fromkeys(case.kernel for case in hypothesis.cases):
        cases = [case for case in hypothesis.cases if case.kernel == kernel]
        arms = [Arm(name=f"{number}", knobs=placed(case.knobs, paths)) for number, case in enumerate(cases)]
        with added(kernel):
            built_kernel(report)
            made = run_in_guest(hypothesis.name, arms, results, report, repeat=hypothesis.repeat).check()
        for case, arm in zip(cases, arms, strict=True):
            found[case.name] = {each: median(map(each.of, made.arms[arm.name].runs)) for each in hypothesis.quantities}
    return found


def placed(knobs: Mapping[str, str], paths: Mapping[str, Path]) -> dict[str, str]:
    """Returns all knobs of a case, with the paths of the hypothesis's files and of the study's.

    knobs: those of the case. paths: by the names of the hypothesis's files.
    """
    own = {name: str(ROOT / value) for name, value in knobs.items() if value.startswith("extras/")}
    return with_defaults({name: str(paths.get(value, value)) for name, value in knobs.items()} | own)


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A hypothesis. The document has its words, who holds it and why it is so or not, and its marked place.

    name: that of its marked place and of its picture. quantities: the columns of its table. judge: returns the verdict
    that follows from the figures. expected: the verdict that the document explains. files: the texts of files that
    knobs name. before: shell commands that make these files for a reader. repeat: how often each case runs, of which a
    figure is the median. measure: makes the figures.
    """

    name: str
    cases: Sequence[Case]
    quantities: Sequence[Quantity]
    panels: Sequence[Panel]
    judge: Callable[[Found], Verdict]
    expected: Word
    files: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    before: Sequence[str] = ()
    repeat: int = 1
    measure: Callable[["Hypothesis", Path, Report], Found] = in_guest

    @property
    def commands(self) -> list[str]:
        """The commands that run the cases: cases that differ in LOWAT alone share one."""
        lowats: dict[str, list[str]] = {}
        for case in (each for each in self.cases if each.kernel == LABS):
            others = joined_words({name: value for name, value in case.knobs.items() if name != "LOWAT"})
            lowats.setdefault(others, []).append(case.knobs["LOWAT"])
        always = "CONTROL=no" if self.repeat == 1 else f"CONTROL=no REPEAT={self.repeat}"
        return [
            *self.before,
            *(f"make experiment {others} LOWAT={','.join(values)} {always}" for others, values in lowats.items()),
            *(["make myths    # the cases with a kernel of the study's own"] if self._has_own_kernel else []),
        ]

    @property
    def _has_own_kernel(self) -> bool:
        return any(case.kernel != LABS for case in self.cases)

    def places(self, found: Found) -> dict[str, str]:
        """Returns the hypothesis's marked place: commands, table, verdict."""
        verdict = self.judge(found)
        rows = [(name, *(each.said(figures[each]) for each in self.quantities)) for name, figures in found.items()]
        parts = (
            "\n".join(("```sh", *self.commands, "```")),
            table([each.name for each in self.quantities], rows).markdown(),
            filled(f"**{verdict.word.capitalize()}.** {verdict.because}"),
        )
        return {self.name: "\n\n".join(parts)}

    def holds(self, found: Found) -> bool:
        """True if the verdict is the one that the document explains."""
        return self.judge(found).word is self.expected


def table(quantities: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Returns the table of the cases. Cases whose names differ in the last part alone share a row.

    A cell of such a row has the cases' values, or one value if all are equal. The last parts are in the heading if they
    are the same in all rows. quantities: the headings. rows: for each case its name, and its values as text.
    """
    groups: dict[str, list[Sequence[str]]] = {}
    for name, *values in rows:
        group, _, last = name.rpartition(", ")
        groups.setdefault(group or "plain", []).append((last, *values))
    lines = [(group, *map(_joined, zip(*cases, strict=True))) for group, cases in groups.items()]
    head = tuple(f"{name}:" for name in quantities)
    if len({line[1] for line in lines}) == 1:
        return Table(head=(f"case: {lines[0][1]}", *head), rows=tuple((line[0], *line[2:]) for line in lines))
    return Table(head=("case", "with", *head), rows=tuple(lines))


def _joined(values: Sequence[str]) -> str:
    """Returns values as a list, in which a unit stands after the last of the values that have it; or the only value."""
    if len(set(values)) == 1:
        return values[0]
    units = [value.partition(" ")[2] for value in values]
    pairs = zip(values, units, [*units[1:], None], strict=True)
    return ", ".join(value.partition(" ")[0] if unit and unit == later else value for value, unit, later in pairs)


def alike(found: Found, case: str, compared: str, quantity: Quantity) -> bool:
    """True if a quantity is about the same in two cases."""
    less, more = sorted((found[case][quantity], found[compared][quantity]))
    return less >= (1 - ALIKE) * more


def lost(found: Found, case: str, compared: str) -> float:
    """Returns the part of the goodput of `compared` that `case` loses."""
    return 1 - found[case][GOODPUT] / found[compared][GOODPUT]


def times(found: Found, case: str, compared: str, quantity: Quantity) -> float:
    """Returns how many times as large a quantity is in `case` as in `compared`."""
    return found[case][quantity] / found[compared][quantity]


def counted(value: float) -> str:
    """Formats a count per MB."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _measure(measure: Measure) -> Callable[[Run], float]:
    def of(run: Run) -> float:
        found = run.measures[measure]
        assert found is not None, "in the guest every ok run has it"
        return found

    return of


def _wakeups_per_mb(run: Run) -> float:
    cost = run.record.measured.cost
    assert cost is not None, "in the guest every load has its costs"
    assert cost.wakeups is not None
    return cost.wakeups * 10**6 / run.scenario.whole_page.contents_bytes


def _most(name: str) -> Callable[[Run], float]:
    def of(run: Run) -> float:
        value = getattr(run.observed, name)
        assert value is not None, "the front's socket was sampled"
        return float(value)

    return of


def _longest_delay_ms(run: Run) -> float:
    """Returns how long the latest event of the important stream took from the origin to the client."""
    stream = run.loads[-1].focal
    (chunk,) = stream.resource.chunks
    due_ns = (stream.available_ns + number * chunk.every_ns for number in range(chunk.count))
    ends = zip(due_ns, stream.resource.ends_bytes, strict=True)
    return max(stream.traffic.reached_ns(end) - at_ns for at_ns, end in ends) / 10**6


FIRST_BYTE = Quantity(name="first byte", of=_measure(Measure.FIRST_BYTE), said=milliseconds)
GOODPUT = Quantity(name="goodput", of=_measure(Measure.GOODPUT), said=rate)
WAKEUPS = Quantity(name="wake-ups per MB", of=_wakeups_per_mb, said=counted)
MEMORY = Quantity(name="send buffer, at most", of=_measure(Measure.MEMORY), said=kibibytes)
DELAY = Quantity(name="longest delay of an event", of=_longest_delay_ms, said=milliseconds)
LAST_BYTE = Quantity(name="last byte", of=lambda run: run.record.measured.important_last_byte_ms, said=milliseconds)
BEFORE = Quantity(
    name="of the others before it",
    of=lambda run: run.record.measured.other_bytes_before,
    said=kibibytes,
)
UNSENT = Quantity(name="unsent, at most", of=_most("notsent_most_bytes"), said=kibibytes)
ON_THE_WAY = Quantity(name="on their way, at most", of=_most("unacked_most_bytes"), said=kibibytes)
