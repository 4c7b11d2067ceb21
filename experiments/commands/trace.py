"""`priolab trace`: writes a trace of packet opportunities, for the knob TRACE: synthetic, or from a recorded rate."""

import argparse
from pathlib import Path

from priolab.common.errors import ScenarioError, StepFailed
from priolab.common.formats.files import content, decoded, printable
from priolab.common.home import run_command
from priolab.common.trace import LONGEST_MS, MOST_BYTES, Trace
from priolab.experiments.commands.console import Report
from priolab.netem import units
from priolab.netem.rate_table import DOUBT, RateTable
from priolab.netem.table_cells import TIME_UNITS
from priolab.netem.trace_generator import KINDS, synthetic

_MOST_BYTES = 64 * 2**20
_SYNTHETIC_S = "60s"


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab trace` to its parser."""
    what = parser.add_subparsers(required=True, metavar="make|convert")
    make = what.add_parser("make", help="make a synthetic trace", description="Makes a synthetic trace.")
    make.add_argument("kind", help=f"{', '.join(KINDS)}; each follows from a random process, and is no measurement")
    make.add_argument("file", type=Path, nargs="?", help="the file to write (default: KIND-synthetic-SEED.trace)")
    make.add_argument("--seed", default="1", help="the seed of the random process (default: 1)")
    make.add_argument("--duration", default=_SYNTHETIC_S, metavar="TIME", help="then the trace repeats (60s)")
    make.add_argument("--rate", metavar="RATE", help="the rate around which the trace varies, such as 12mbit")
    make.set_defaults(do=_make)
    convert = what.add_parser(
        "convert",
        help="make a trace of a recorded rate",
        description="Makes a trace of a table with a column of times and one of rates. A heading says which they are,"
        " such as `time` and `throughput (Mbit/s)`; without a heading they are the first two. Times are numbers, or"
        " stamps such as 2026-11-27T10:15:30. Tabs, semicolons, commas or blanks separate the columns; with decimal"
        " commas not commas. The command says what it took.",
    )
    convert.add_argument("table", type=Path, help="the table, such as lines of `0.5, 12.3`")
    convert.add_argument("file", type=Path, nargs="?", help="the file to write (default: the table's name with .trace)")
    convert.add_argument(
        "--unit",
        help="the unit of the rates in tc's notation: bit, kbit, kbps for kilobytes (default: the table's, or mbit)",
    )
    convert.add_argument(
        "--time-unit",
        metavar="UNIT",
        help=f"the unit of the times: {', '.join(TIME_UNITS)} (default: the table's, or s)",
    )
    convert.add_argument(
        "--columns", metavar="TIME,RATE", help="the names or numbers of the two columns (default: what their names say)"
    )
    convert.add_argument("--duration", metavar="TIME", help="use only this much of the beginning (default: all)")
    convert.set_defaults(do=_convert)


def _make(options: argparse.Namespace, report: Report) -> int:
    """Writes a synthetic trace, and says that it is one. Raises ScenarioError, StepFailed."""
    if options.kind not in KINDS:
        raise ScenarioError("KIND", options.kind, ", ".join(KINDS))
    if not options.seed.isascii() or not options.seed.isdigit() or len(options.seed) > 12:
        raise ScenarioError("--seed", options.seed, "a whole number of up to 12 digits")
    duration_ms = _duration_ms(options.duration)
    try:
        rate_bit_s = None if options.rate is None else units.parse_rate_bit_s(options.rate)
    except ValueError:
        raise ScenarioError("--rate", options.rate, "a tc rate such as 12mbit") from None
    lines = (rate_bit_s or KINDS[options.kind][0]) * duration_ms / 1000 / 12_112
    if lines * len(f"{duration_ms}\n") > MOST_BYTES / 2:
        allowed = (
            f"less: a trace has at most {MOST_BYTES // 2**20} MiB, a line for each 1514 bytes, and some room to vary"
        )
        raise ScenarioError("--duration", options.duration, allowed)
    try:
        trace = synthetic(options.kind, seed=int(options.seed), duration_ms=duration_ms, rate_bit_s=rate_bit_s)
    except ValueError as error:
        raise ScenarioError("--rate", str(options.rate), f"more ({error})") from None
    told = "Synthetic: a random process made it, nobody measured it."
    return _written(options.file or Path(f"{trace.name}.trace"), trace, told, report)


def _convert(options: argparse.Namespace, report: Report) -> int:
    """Writes the trace of a recorded rate. Raises ScenarioError, StepFailed."""
    shown = printable(str(options.table))
    unit = None if options.unit is None else options.unit.lower()
    if unit is not None and unit not in units.UNITS_OF_RATES:
        raise ScenarioError("--unit", options.unit, "a unit of tc, such as mbit, kbit or kbps (kilobytes)")
    if options.time_unit not in (None, *TIME_UNITS):
        raise ScenarioError("--time-unit", options.time_unit, ", ".join(TIME_UNITS))
    columns = [] if options.columns is None else [each.strip() for each in options.columns.split(",")]
    if len(columns) not in (0, 2):
        raise ScenarioError("--columns", options.columns, "two names or numbers, such as time,rate or 1,3")
    duration_ms = None if options.duration is None else _duration_ms(options.duration)
    doubts: list[str] = []
    try:
        table = RateTable.read(_text(options.table), unit=unit, time_unit=options.time_unit, columns=columns)
        doubts = [note for note in table.notes if note.startswith(DOUBT)]
        trace = table.trace(options.table.stem, duration_ms)
    except (OSError, ValueError) as error:
        reason = printable("; ".join((getattr(error, "strerror", None) or str(error), *doubts)))
        allowed = f"a table of times and rates, of at most an hour and {MOST_BYTES // 2**20} MiB as a trace ({reason})"
        raise ScenarioError("TABLE", shown, allowed) from None
    for note in table.notes:
        report.note(printable(note))
    file = options.file or options.table.with_suffix(".trace")
    if file.exists() and file.samefile(options.table):
        raise ScenarioError("FILE", printable(str(file)), "another file than the table")
    return _written(file, trace, "", report)


def _text(file: Path) -> str:
    """Returns the text of a table. One that is not Unicode is Latin-1: only its headings can differ."""
    found = content(file, _MOST_BYTES)
    try:
        return decoded(found)
    except ValueError:
        return found.decode("latin-1")


def _written(file: Path, trace: Trace, told: str, report: Report) -> int:
    """Writes a trace, and says what is in it. told: a last sentence. Raises StepFailed."""
    try:
        file.write_text(trace.to_text())
    except OSError as error:
        raise StepFailed("writing the trace", f"{file}: {error.strerror}") from error
    report.say(
        f"{file}: {len(trace.times_ms)} opportunities in {units.format_time(trace.period_ns)}, on average"
        f" {trace.mean_bit_s / 10**6:.1f} Mbit/s, the longest gap {trace.longest_gap_ns / 10**6:.0f} ms. {told}".strip()
    )
    report.say(run_command(f"TRACE={file}"), whole=True)
    return 0


def _duration_ms(text: str) -> int:
    try:
        duration_ms = units.parse_time_ns(text) // 10**6
        if 1 <= duration_ms <= LONGEST_MS:
            return duration_ms
    except ValueError:
        pass
    raise ScenarioError("--duration", text, "a time from 1ms to 3600s")
