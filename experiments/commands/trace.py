"""`priolab trace`: writes a trace of packet opportunities, for the knob TRACE: synthetic, or from a recorded rate."""

import argparse
from pathlib import Path

from priolab.common.formats.files import content, printable
from priolab.common.trace import LONGEST_MS, MOST_OPPORTUNITIES, Trace
from priolab.experiments.commands.console import Report
from priolab.experiments.errors import ScenarioError, StepFailed
from priolab.experiments.host.home import run_command
from priolab.netem import units
from priolab.netem.recorded import recorded
from priolab.netem.synthetic import KINDS, synthetic

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
        "convert", help="make a trace of a recorded rate", description="Makes a trace of a recorded rate."
    )
    convert.add_argument("table", type=Path, help="lines of a time in seconds and a rate, such as `0.5, 12.3`")
    convert.add_argument("file", type=Path, nargs="?", help="the file to write (default: the table's name with .trace)")
    convert.add_argument("--unit", default="mbit", help="the unit of the rates in tc's notation (default: mbit)")
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
    if (rate_bit_s or KINDS[options.kind][0]) * duration_ms / 1000 / 12_112 > MOST_OPPORTUNITIES / 2:
        allowed = f"less: a trace has at most {MOST_OPPORTUNITIES} opportunities of 1514 bytes, and some room to vary"
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
    try:
        unit_bit_s = units.parse_rate_bit_s(f"1{options.unit}")
    except ValueError:
        raise ScenarioError("--unit", options.unit, "a unit of tc, such as mbit, kbit or kbps (kilobytes)") from None
    duration_ms = None if options.duration is None else _duration_ms(options.duration)
    try:
        text = content(options.table, _MOST_BYTES).decode()
        trace = recorded(options.table.stem, text, unit_bit_s=unit_bit_s, duration_ms=duration_ms)
    except (OSError, ValueError) as error:
        reason = printable(getattr(error, "strerror", None) or str(error))
        allowed = (
            f"a table of times in seconds and rates, of at most an hour and {MOST_OPPORTUNITIES} opportunities of 1514"
            f" bytes ({reason}); --duration takes the beginning"
        )
        raise ScenarioError("TABLE", shown, allowed) from None
    file = options.file or options.table.with_suffix(".trace")
    if file.exists() and file.samefile(options.table):
        raise ScenarioError("FILE", printable(str(file)), "another file than the table")
    return _written(file, trace, "", report)


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
