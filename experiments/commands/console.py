"""The output to a terminal: progress during a run, then the table, the verdicts, and the paths of results."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from priolab.experiments.commands.durations import about
from priolab.experiments.commands.printable import shown

_FURTHER = 2
"""By how many spaces more than its first line the further lines of a text are indented."""

_NARROWEST = 20
_WORD = re.compile(r"\S+(?: (?:s|ms|KiB|kB/s|kbit/s|packets?)(?!\w))? *")
"""A word; a number and its unit stay together."""


def wrapped(markup: str, width: int, style: str = "") -> Iterator[Text]:
    """Yields the lines of a text in rich's markup, each at most `width` characters wide.

    Further lines are indented. A word that is longer than a line, such as a path, stays whole, so that it can be
    copied.
    """
    for line in Text.from_markup(markup, style=style).split("\n", allow_blank=True):
        if line.cell_len <= width or width < _NARROWEST:
            yield line
            continue
        indent = len(line.plain) - len(line.plain.lstrip(" "))
        for number, piece in enumerate(line[indent:].divide(_breaks(line.plain[indent:], width - indent))):
            piece.rstrip()
            yield Text(" " * (indent + (_FURTHER if number else 0))) + piece


def _breaks(text: str, width: int) -> list[int]:
    """Returns the positions at which further lines begin. width: the width of the first line."""
    breaks: list[int] = []
    used = 0
    for word in _WORD.finditer(text):
        if used and used + cell_len(word[0].rstrip()) > width - (_FURTHER if breaks else 0):
            breaks.append(word.start())
            used = 0
        used += cell_len(word[0])
    return breaks


if TYPE_CHECKING:
    from rich.table import Table

    from priolab.common.formats.scenario import ScenarioRecord
    from priolab.experiments.commands.progress import Row
    from priolab.experiments.execution.progress import Progress
    from priolab.experiments.execution.request import Request
    from priolab.experiments.scenario.scenario import Scenario
    from priolab.experiments.setup.machine import Capability, LinkOption

_WIDTH_OF_A_FILE = 160
_TICK_S = 5.0
_LONGEST_COMPLAINT = 1500


class _Console(Console):
    """A console that leaves a closed pipe to the command line, which has an exit code for it."""

    def on_broken_pipe(self) -> None:
        """Raises the BrokenPipeError that is being handled."""
        raise


class Report:
    """Writes text for people. Output to a file or a pipe has no colours and no changing lines.

    aside: True to write everything to standard error, because a program reads standard output.
    """

    def __init__(self, *, aside: bool = False) -> None:
        self._console = _Console(stderr=aside, highlight=False, soft_wrap=True, emoji=False)
        if not self._console.is_terminal:
            self._console.width = _WIDTH_OF_A_FILE
        self._head: Sequence[str] = ()
        self._lines = 0  # since the head
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

    @property
    def is_live(self) -> bool:
        """True if lines can change: on a terminal that can move its cursor, whatever FORCE_COLOR says."""
        return self._console.file.isatty() and not self._console.is_dumb_terminal

    def say(self, text: str, style: str = "", *, whole: bool = False) -> None:
        """Prints one line. On a terminal, wraps its words. whole: True to wrap nothing, for paths and commands."""
        if whole:
            self._console.print(shown(text), style=style)
            self._lines += max(1, ceil(cell_len(text) / self._console.width))
        else:
            self._write(self._console, shown(text), style)

    def _write(self, console: Console, markup: str, style: str = "") -> None:
        if not console.file.isatty():
            console.print(markup, style=style)
            return
        for line in wrapped(markup, console.width, style):
            console.print(line)
            self._lines += 1

    def complain(self, text: str) -> None:
        """Prints one line on standard error; shortens a long text in the middle."""
        line = text.replace("\n", "\\n")
        if len(line) > _LONGEST_COMPLAINT:
            line = f"{line[: _LONGEST_COMPLAINT // 2]} ... {line[-_LONGEST_COMPLAINT // 2 :]}"
        self._write(self._errors, f"[bold red]priolab:[/] {shown(line)}")

    def note(self, text: str) -> None:
        """Prints one line that begins with `note:`."""
        self._write(self._console, f"[yellow]note:[/] {shown(text)}")

    def made_table(self, table: "Table", *, names: int = 1) -> None:
        """Prints a rich table; a narrow terminal gets it in parts. names: see `tables.put`."""
        from priolab.experiments.commands.tables import put

        put(self._console, table, names=names)

    @contextmanager
    def ticking(
        self,
        line: Callable[[], str],
        *,
        is_plain: bool = True,
        style: str = "",
        rows: "Callable[[], Sequence[Row]]" = tuple,
    ) -> Iterator[Callable[[], None]]:
        """Shows a line that changes; yields a function to call after a change. line: returns the present line.

        A terminal shows the line live, in this style. rows: returns the arms or runs that a terminal shows below. In a
        file or pipe, the function prints the line, at most once in five seconds, or not at all if is_plain is False.
        """
        if self.is_live:
            from priolab.experiments.commands.live_lines import live

            with live(self._console, lambda: (line(), style), rows):
                yield lambda: None
            return
        shown_s = time.monotonic()

        def tick() -> None:
            nonlocal shown_s
            if is_plain and time.monotonic() - shown_s >= _TICK_S:
                shown_s = time.monotonic()
                self.say(line())

        yield tick

    def announce(self, request: "Request") -> None:
        """Prints the experiment's arms, servers, fabric and link."""
        scenario = request.arms[-1].scenario
        arms = ", ".join(arm.name for arm in request.arms)
        times = "" if request.repeat == 1 else f", {request.repeat} times each"
        servers = ", ".join(dict.fromkeys(_fronts(arm.scenario) for arm in request.arms))
        self.say(f"{request.name}: {arms}{times}; server {servers}")
        self.say(f"fabric: {request.run_settings.fabric.name} ({request.run_settings.fabric_reason})")
        self.link(scenario)
        for note in dict.fromkeys(note for arm in request.arms for note in arm.scenario.whole_page.notes):
            self.note(note)

    def link(self, scenario: "ScenarioRecord") -> None:
        """Prints the link: its rate in kbit/s and kB/s, delays, queue, and what else is not as usual."""
        from priolab.analysis.records.link_words import link_words
        from priolab.netem import link_options, units

        rate = "unlimited" if scenario.rate_bit_s is None else units.format_rate(scenario.rate_bit_s)
        down, up = units.format_time(scenario.delay_ns), units.format_time(scenario.delay_up_ns)
        if text := scenario.rate_steps:
            steps = link_options.LINK_OPTIONS["RATE_STEPS"].parse(text)
            rate += "".join(
                f", {units.format_rate(step.rate_bit_s)} from {units.format_time(step.at_ns)} into the measured load"
                for step in steps
            )
        if scenario.trace is not None:
            rate += ", the mean of the trace, until the measured load replays it"
        others = "".join(f", {word}" for word in link_words(scenario))
        self.say(f"link: {rate}; delay {down} to the client, {up} to the front; queue {scenario.queue_words}{others}")

    @contextmanager
    def progress(self, request: "Request", *, steps: bool = True) -> "Iterator[Progress]":
        """Shows the runs' steps: on a terminal a live line for each arm, in a file or pipe a line for each step.

        steps: False to print in a file or pipe only how each run ended.
        """
        started = time.monotonic()
        if not self.is_live:
            yield self._plain_progress(started, steps=steps)
            return
        from priolab.experiments.commands import eta

        work = eta.work_of_experiment(request)

        def head() -> str:
            now_s = time.monotonic()
            return eta.head(request.name, work, now_s, now_s - started)

        with self.ticking(head, style="bold", rows=lambda: work.of_arms(time.monotonic())):
            yield eta.noted_in(work, self.reused, self.note)

    @contextmanager
    def busy(self, doing: str) -> Iterator[None]:
        """Shows on a terminal what the lab does, with a clock, until the context ends. doing: such as `drawing`."""
        started = time.monotonic()
        with self.ticking(lambda: f"{doing}, {time.monotonic() - started:.0f} s", is_plain=False):
            yield

    def _plain_progress(self, started: float, *, steps: bool) -> "Progress":
        from priolab.experiments.execution.progress import Progress

        def show(name: str, step: str) -> None:
            self.say(f"{time.monotonic() - started:6.1f} s  {name}: {step}")

        return Progress(
            step=show if steps else lambda *_: None,
            ended=lambda name, status, reason: show(name, f"{status} {reason or ''}".strip()),
            reused=self.reused,
            note=self.note,
        )

    def reused(self, folder: Path) -> None:
        """Prints that the results in this folder are reused, and that no arm is run."""
        self.say(f"taken from {short(folder)}: results of the same arms, programs, kernel and code")

    @contextmanager
    def kernel_progress(self) -> Iterator[Any]:
        """Shows the build of the guest kernel; yields a function to call with step, fraction done and seconds left."""
        started = time.monotonic()
        shown: dict[str, Any] = {"line": None, "at": 0.0}

        def words(step: str, fraction: float, left_s: float | None) -> str:
            left = "" if left_s is None else f", {about(left_s)} left"
            return f"guest kernel (built once): {step}, {fraction:.0%}{left}"

        def plain(step: str, fraction: float, left_s: float | None) -> None:
            if step == shown["line"] and time.monotonic() - shown["at"] < 15:
                return
            shown.update(line=step, at=time.monotonic())
            self.say(f"{time.monotonic() - started:6.1f} s  {words(step, fraction, left_s)}")

        if not self.is_live:
            yield plain
            return
        with self._console.status("guest kernel") as status:
            yield lambda *told: status.update(f"{words(*told)}; {time.monotonic() - started:.0f} s")

    def summary(self, summary: Mapping[str, Any]) -> None:
        """Prints the headline, the table of arms, verdicts, ledgers and notes."""
        from priolab.experiments.commands.arm_results import head, results
        from priolab.experiments.commands.tables import put

        self._head, self._lines = list(head(summary["arms"])), 0
        for each in results(summary):
            if isinstance(each, str):
                self._write(self._console, each)
            else:
                self._lines += put(self._console, each)

    def summary_ends(self) -> None:
        """Prints the lines above the table of arms once more, if they have left the terminal since."""
        if self._console.file.isatty() and self._lines >= self._console.height:
            for line in self._head:
                self._write(self._console, line)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], *, in_parts: bool = False) -> None:
        """Prints cells in columns. A narrow terminal folds the cells, or gets the table in parts (`tables.put`)."""
        from priolab.experiments.commands.tables import bare_table, put

        table = bare_table(*head)
        for row in rows:
            table.add_row(*map(shown, row))
        if in_parts and self._console.file.isatty():
            put(self._console, table)
        else:
            self._console.print(table, soft_wrap=False)

    def figures(self, paths: Sequence[Path], folder: Path) -> None:
        """Prints the paths of the pictures, and of the results folder."""
        for path in paths:
            self.say(f"picture: {short(path)}", whole=True)
        self.say(f"results: {short(folder)}", whole=True)

    def exported(self, paths: Sequence[Path], notes: Sequence[str]) -> None:
        """Prints the paths of the files written, and notes on what was left out."""
        for path in paths:
            self.say(f"wrote {short(path)}", whole=True)
        for note in notes:
            self.note(note)

    def lines(self, markup: Iterable[str]) -> None:
        """Prints lines in rich's markup, all at once, because rich takes three times as long line by line."""
        self._write(self._console, "\n".join(markup))

    def capabilities(self, capabilities: "Sequence[Capability]") -> None:
        """Prints this machine's capabilities."""
        from priolab.experiments.commands.tables import bare_table

        table = bare_table("part", "usable", "detail", "remedy")
        for capability in capabilities:
            usable = "[green]yes[/]" if capability.present else "[red]no[/]"
            table.add_row(shown(capability.name), usable, shown(capability.detail), shown(capability.remedy))
        self._console.print(table, soft_wrap=False)

    def link_options(self, link_options: "Sequence[LinkOption]") -> None:
        """Prints the usable and unusable fabrics and shapers."""
        from priolab.experiments.commands.tables import bare_table

        table = bare_table("fabric", "shaper", "usable", "reason", "remedy")
        for option in link_options:
            usable = "[green]yes[/]" if option.usable else "[red]no[/]"
            table.add_row(option.fabric, option.shaper, usable, shown(option.reason), shown(option.remedy))
        self._console.print(table, soft_wrap=False)

    def document(self, document: object) -> None:
        """Prints JSON, and nothing else."""
        print(json.dumps(document, indent=2))


def short(path: Path) -> str:
    """Returns a path as seen from the working directory, if it lies in it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _fronts(scenario: "Scenario") -> str:
    """Returns the names of the scenario's front and second front."""
    return f"{scenario.server} and {scenario.via.server} behind it" if scenario.via else scenario.server
