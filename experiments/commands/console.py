"""The output to a terminal: progress during a run, then the table, the verdicts, and the paths of results."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from common.formats.scenario import ScenarioRecord
from experiments.commands.printable import printable, shown
from experiments.execution.progress import Progress
from experiments.execution.request import Request
from experiments.scenario.named import LAYERS, Entry
from experiments.scenario.scenario import as_record
from netem import units, words

if TYPE_CHECKING:
    from experiments.commands.doctor import Capability, LinkOption

_WIDTH_OF_A_FILE = 160
_TICK_S = 5.0
_LONGEST_COMPLAINT = 1500
_STYLES = {"kept": "bold green", "inverted": "bold red", "invalid": "bold red", "failed": "bold red"}


class Report:
    """Writes text for people. Output to a file or a pipe has no colours and no changing lines.

    aside: True to write everything to standard error, because a program reads standard output.
    """

    def __init__(self, *, aside: bool = False) -> None:
        self._console = Console(stderr=aside, highlight=False, soft_wrap=True, emoji=False)
        if not self._console.is_terminal:
            self._console.width = _WIDTH_OF_A_FILE
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

    def say(self, text: str, style: str = "") -> None:
        """Prints one line."""
        self._console.print(shown(text), style=style)

    def complain(self, text: str) -> None:
        """Prints one line on standard error; shortens a long text in the middle."""
        line = text.replace("\n", "\\n")
        if len(line) > _LONGEST_COMPLAINT:
            line = f"{line[: _LONGEST_COMPLAINT // 2]} ... {line[-_LONGEST_COMPLAINT // 2 :]}"
        self._errors.print(f"[bold red]priolab:[/] {shown(line)}")

    def note(self, text: str) -> None:
        """Prints one line that begins with `note:`."""
        self._console.print(f"[yellow]note:[/] {shown(text)}")

    def made_table(self, table: Table) -> None:
        """Prints a rich table."""
        self._console.print(table)

    @contextmanager
    def ticking(self, line: Callable[[], str]) -> Iterator[Callable[[], None]]:
        """Shows a line of progress. Yields a function, which the caller calls after each change of the line.

        line: returns the present text of the line. A terminal always shows the present text. To a file or a pipe, the
        yielded function prints the present text, at most once in five seconds.
        """
        if self._console.is_terminal:
            with Live(get_renderable=lambda: Text(line()), console=self._console, transient=True, refresh_per_second=2):
                yield lambda: None
            return
        shown_s = time.monotonic()

        def tick() -> None:
            nonlocal shown_s
            if time.monotonic() - shown_s >= _TICK_S:
                shown_s = time.monotonic()
                self.say(line())

        yield tick

    def announce(self, request: Request) -> None:
        """Prints the experiment's arms, servers, fabric and link."""
        scenario = request.arms[-1].scenario
        arms = ", ".join(arm.name for arm in request.arms)
        times = "" if request.repeat == 1 else f", {request.repeat} times each"
        servers = ", ".join(dict.fromkeys(arm.scenario.server for arm in request.arms))
        self.say(f"{request.name}: {arms}{times}; server {servers}")
        self.say(f"fabric: {request.manner.fabric.name} ({request.manner.fabric_reason})")
        self.link(as_record(scenario))

    def link(self, scenario: ScenarioRecord) -> None:
        """Prints the link: its rate in kbit/s and kB/s, delays, queue."""
        rate = "unlimited" if scenario.rate_bit_s is None else units.format_rate(scenario.rate_bit_s)
        down, up = units.format_time(scenario.delay_ns), units.format_time(scenario.delay_up_ns)
        queue = scenario.queue_packets
        if text := scenario.rate_steps:
            steps = words.WORDS["RATE_STEPS"].parse(text)
            rate += "".join(
                f", {units.format_rate(step.rate_bit_s)} from {units.format_time(step.at_ns)} into the measured load"
                for step in steps
            )
        place = " on the front's own egress" if scenario.shaper_at == "front" else ""
        self.say(f"link: {rate}; delay {down} to the client, {up} to the front; queue {queue} packets{place}")

    @contextmanager
    def progress(self, request: Request) -> Iterator[Progress]:
        """Shows what each run is doing now. Yields the functions to which the experiment reports its progress.

        A terminal shows the present step of every run that is not done. A file or a pipe gets a line for each step.
        """
        started = time.monotonic()
        names = [f"{arm.name}.{number}" for number in range(1, request.repeat + 1) for arm in request.arms]
        steps = dict.fromkeys(names, "waiting")
        if not self._console.is_terminal:
            yield self._plain_progress(started)
            return
        with Live(console=self._console, transient=True, refresh_per_second=8) as live:

            def show(name: str, step: str) -> None:
                if name in steps:
                    steps[name] = step
                done = sum(text in ("ok", "failed", "invalid", "unsupported") for text in steps.values())
                lines = [f"{name:<20} {text}" for name, text in steps.items() if text not in ("waiting", "ok")]
                lines += [] if name in steps else [f"{name}: {step}"]
                head = f"{done} of {len(steps)} runs done, {time.monotonic() - started:.0f} s"
                live.update(Text(printable("\n".join([head, *lines]))))

            yield Progress(step=show, ended=lambda name, status, _: show(name, status), reused=self.reused)

    def _plain_progress(self, started: float) -> Progress:
        def show(name: str, step: str) -> None:
            self.say(f"{time.monotonic() - started:6.1f} s  {name}: {step}")

        return Progress(
            step=show,
            ended=lambda name, status, reason: show(name, f"{status} {reason or ''}".strip()),
            reused=self.reused,
        )

    def reused(self, folder: Path) -> None:
        """Prints that the results in this folder are reused, and that no arm is run."""
        self.say(f"taken from {_short(folder)}: results of the same arms, programs, kernel and code")

    @contextmanager
    def kernel_progress(self) -> Iterator[Any]:
        """Shows the build of the guest kernel; yields a function to call with step, fraction done and seconds left."""
        started = time.monotonic()
        shown: dict[str, Any] = {"line": None, "at": 0.0}

        def words(step: str, fraction: float, left_s: float | None) -> str:
            left = "" if left_s is None else f", {_about(left_s)} left"
            return f"guest kernel (built once): {step}, {fraction:.0%}{left}"

        def plain(step: str, fraction: float, left_s: float | None) -> None:
            if step == shown["line"] and time.monotonic() - shown["at"] < 15:
                return
            shown.update(line=step, at=time.monotonic())
            self.say(f"{time.monotonic() - started:6.1f} s  {words(step, fraction, left_s)}")

        if not self._console.is_terminal:
            yield plain
            return
        with self._console.status("guest kernel") as status:
            yield lambda *told: status.update(f"{words(*told)}; {time.monotonic() - started:.0f} s")

    def summary(self, summary: Mapping[str, Any]) -> None:
        """Prints the table of arms, verdicts and warnings. A narrow terminal gets only the essential columns."""
        columns = [column for column in _COLUMNS if column.is_essential or self._console.width >= _WIDE]
        names = _names(summary["arms"])
        table = bare_table()
        table.add_column("arm", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        for column in columns:
            table.add_column(column.heading.format(**names), justify="right", no_wrap=True)
        for arm in summary["arms"]:
            word = arm["verdict"] if arm["status"] == "ok" else arm["status"]
            cells = [column.cell(arm) for column in columns]
            table.add_row(shown(arm["name"]), f"[{_STYLES.get(word, 'bold')}]{shown(word)}[/]", *cells)
        self._console.print(table)
        for arm in summary["arms"]:
            if arm["verdict_reason"]:
                verdict = f"[{_STYLES.get(arm['verdict'], 'bold')}]{shown(arm['verdict'])}[/]"
                self._console.print(f"{shown(arm['name'])}: {verdict} - {shown(arm['verdict_reason'])}")
            if arm["status"] != "ok":
                self._console.print(f"{shown(arm['name'])}: [bold red]{arm['status']}[/] - {shown(str(arm['reason']))}")
        self._loads(summary["arms"])
        self._gaps(summary["arms"])
        self._ledgers(summary["arms"])
        for sentence in dict.fromkeys(sentence for arm in summary["arms"] for sentence in arm["warnings"]):
            self.note(sentence)

    def _gaps(self, arms: Sequence[Mapping[str, Any]]) -> None:
        """Prints the times between the arrivals of chunks, for resources that the origin writes in chunks."""
        found = [(arm["name"], *each) for arm in arms for each in arm["resources"].items() if "gap_p50_ms" in each[1]]
        if not found:
            return
        table = bare_table("gaps between chunks")
        for heading in ("median", "99th percentile", "longest"):
            table.add_column(heading, justify="right")
        for arm, name, times in found:
            cells = (f"{times[key]:.1f} ms" for key in ("gap_p50_ms", "gap_p99_ms", "gap_longest_ms"))
            table.add_row(f"{shown(arm)}: {shown(name)}", *cells)
        self._console.print(table)

    def _ledgers(self, arms: Sequence[Mapping[str, Any]]) -> None:
        from msgspec import convert

        from analysis.loads.ledger import sentence
        from common.formats.run import LedgerRecord

        for arm in arms:
            if arm["ledger"]:
                told = sentence(convert(arm["ledger"], LedgerRecord))
                self._console.print(f"{shown(arm['name'])}: {shown(told)}")
            elif arm["ledger_reason"]:
                self._console.print(f"{shown(arm['name'])}: no ledger: {shown(arm['ledger_reason'])}")

    def _loads(self, arms: Sequence[Mapping[str, Any]]) -> None:
        if not any(len(arm["loads"]) > 1 for arm in arms):
            return
        table = bare_table(f"{_names(arms)['important']} first byte, by load")
        most = max(len(arm["loads"]) for arm in arms)
        for number in range(1, most + 1):
            table.add_column(f"load {number}", justify="right")
        for arm in arms:
            table.add_row(shown(arm["name"]), *(seconds(load["first_byte_ms"]) for load in arm["loads"]))
        self._console.print(table)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Prints cells in columns; a narrow terminal folds them."""
        table = bare_table(*head)
        for row in rows:
            table.add_row(*map(shown, row))
        self._console.print(table, soft_wrap=False)

    def figures(self, paths: Sequence[Path], folder: Path) -> None:
        """Prints the paths of the pictures, and of the results folder."""
        for path in paths:
            self.say(f"picture: {_short(path)}")
        self.say(f"results: {_short(folder)}")

    def exported(self, paths: Sequence[Path], notes: Sequence[str]) -> None:
        """Prints the paths of the files written, and notes on what was left out."""
        for path in paths:
            self.say(f"wrote {_short(path)}")
        for note in notes:
            self.note(note)

    def catalogue(self, entries: Mapping[str, Entry]) -> None:
        """Lists the named scenarios; the scenarios that spoil the effect of LOWAT come last."""
        for entry in entries.values():
            if not entry.card:
                self._entry(entry)
        self.say("")
        self.say("ways to spoil the effect of LOWAT", "bold underline")
        for entry in entries.values():
            if entry.card:
                self._entry(entry)
                self.say(f"    Layer: {LAYERS[entry.card.layer]}.")
                self.say(f"    How to recognize it: {entry.card.tell}")
                if entry.card.cure:
                    self.say(f"    Cure: {entry.card.cure}")

    def _entry(self, entry: Entry) -> None:
        knobs = " ".join(f"{name}={value}" for name, value in entry.knobs.items())
        self._console.print(f"[bold]{shown(entry.name)}[/]  {shown(knobs)}")
        self.say(f"    {entry.title}.")
        self.say(f"    Expect: {entry.expect}.")

    def capabilities(self, capabilities: "Sequence[Capability]") -> None:
        """Prints this machine's capabilities."""
        table = bare_table("part", "usable", "detail", "remedy")
        for capability in capabilities:
            usable = "[green]yes[/]" if capability.present else "[red]no[/]"
            table.add_row(shown(capability.name), usable, shown(capability.detail), shown(capability.remedy))
        self._console.print(table, soft_wrap=False)

    def link_options(self, link_options: "Sequence[LinkOption]") -> None:
        """Prints the usable and unusable fabrics and shapers."""
        table = bare_table("fabric", "shaper", "usable", "reason", "remedy")
        for option in link_options:
            usable = "[green]yes[/]" if option.usable else "[red]no[/]"
            table.add_row(option.fabric, option.shaper, usable, shown(option.reason), shown(option.remedy))
        self._console.print(table, soft_wrap=False)

    def document(self, document: object) -> None:
        """Prints JSON, and nothing else."""
        print(json.dumps(document, indent=2))


def bare_table(*headings: str) -> Table:
    """Returns a table without lines. headings: the headings of its columns."""
    return Table(*headings, box=None, pad_edge=False, header_style="bold")


def seconds(time_ms: float | None) -> str:
    """Formats a time in milliseconds as seconds; None as a dash."""
    return "-" if time_ms is None else f"{time_ms / 1000:.2f} s"


def _kib(size_bytes: float | None) -> str:
    return "-" if size_bytes is None else f"{size_bytes / 1024:.0f} KiB"


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


@dataclass(frozen=True, kw_only=True)
class _Column:
    """A column of the table of arms.

    cell: returns the column's text for an arm. is_essential: True if a narrow terminal shows the column, too.
    """

    heading: str
    cell: Callable[[Mapping[str, Any]], str]
    is_essential: bool = True


def _names(arms: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the words of the table's headings for the important resources, and for the others.

    The words are `important` and `others` or, for a single resource, its name.
    """
    resources: Mapping[str, Any] = next((arm["resources"] for arm in arms if arm["resources"]), {})
    documents = {each["after"] for arm in arms for each in arm["scenario"]["resources"]}
    important = [name for name, each in resources.items() if each["important"]]
    others = [name for name, each in resources.items() if not each["important"] and name not in documents]
    return {
        "important": shown(important[0]) if len(important) == 1 else "important",
        "others": shown(others[0]) if len(others) == 1 else "others",
    }


def _of_oracle(arm: Mapping[str, Any], key: str) -> float | None:
    """Returns the value of a key of the arm's oracle in the summary; None if the arm has no oracle."""
    found: float | None = (arm["oracle"] or {}).get(key)
    return found


_COLUMNS = (
    _Column(heading="{important}\npossible", cell=lambda arm: seconds(_of_oracle(arm, "first_byte_ms"))),
    _Column(heading="late\nby", cell=lambda arm: seconds(_of_oracle(arm, "inversion_ms")), is_essential=False),
    _Column(heading="{important}\nfirst", cell=lambda arm: seconds(arm["first_byte_ms"])),
    _Column(heading="{important}\nlast", cell=lambda arm: seconds(arm["important_last_byte_ms"])),
    _Column(heading="{others}\nfirst", cell=lambda arm: seconds(arm["others_first_byte_ms"]), is_essential=False),
    _Column(heading="{others}\nlast", cell=lambda arm: seconds(arm["others_last_byte_ms"])),
    _Column(heading="{others}\nbefore", cell=lambda arm: _kib(arm["other_bytes_before"])),
    _Column(
        heading="{others}\nneedless", cell=lambda arm: _kib(_of_oracle(arm, "inversion_bytes")), is_essential=False
    ),
    _Column(heading="wall\ntime", cell=lambda arm: f"{arm['wall_s']:.1f} s", is_essential=False),
)
"""The columns of the table of arms.

`possible` is the oracle's bound for the important resource's first byte. `late by` is the time from this bound to the
first byte. `needless` is the number of needless bytes.
"""

_WIDE = 120
"""The least width of a terminal, in characters, that shows all columns."""


def _about(seconds: float) -> str:
    """Formats an estimated time: below 90 s in steps of 5 s, otherwise in minutes."""
    return f"{5 * ceil(seconds / 5)} s" if seconds < 90 else f"{ceil(seconds / 60)} min"
