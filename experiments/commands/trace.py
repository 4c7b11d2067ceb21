"""`priolab trace make KIND FILE`: writes a synthetic trace of packet opportunities, for the knob TRACE."""

import argparse
from pathlib import Path

from priolab.common.trace import MOST_OPPORTUNITIES
from priolab.experiments.commands.console import Report
from priolab.experiments.errors import ScenarioError, StepFailed
from priolab.experiments.host.home import run_command
from priolab.netem import units
from priolab.netem.synthetic import KINDS, synthetic

_LONGEST_MS = 3600 * 1000


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab trace` to its parser."""
    parser.add_argument("make", choices=["make"], help="make a trace")
    parser.add_argument("kind", help=f"{', '.join(KINDS)}; each follows from a random process, and is no measurement")
    parser.add_argument("file", type=Path, nargs="?", help="the file to write (default: KIND-synthetic-SEED.trace)")
    parser.add_argument("--seed", default="1", help="the seed of the random process (default: 1)")
    parser.add_argument("--duration", default="60s", metavar="TIME", help="after this time the trace repeats (60s)")
    parser.add_argument("--rate", metavar="RATE", help="the rate around which the trace varies, such as 12mbit")
    parser.set_defaults(do=make)


def make(options: argparse.Namespace, report: Report) -> int:
    """Writes the trace, and says that it is synthetic. Raises ScenarioError, StepFailed."""
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
    file = options.file or Path(f"{trace.name}.trace")
    try:
        file.write_text(trace.to_text())
    except OSError as error:
        raise StepFailed("writing the trace", f"{file}: {error.strerror}") from error
    report.say(
        f"{file}: {len(trace.times_ms)} opportunities in {units.format_time(trace.period_ns)}, on average"
        f" {trace.mean_bit_s / 10**6:.1f} Mbit/s, the longest gap {trace.longest_gap_ns / 10**6:.0f} ms. Synthetic: a"
        " random process made it, nobody measured it."
    )
    report.say(run_command(f"TRACE={file}"), whole=True)
    return 0


def _duration_ms(text: str) -> int:
    try:
        duration_ms = units.parse_time_ns(text) // 10**6
        if 1 <= duration_ms <= _LONGEST_MS:
            return duration_ms
    except ValueError:
        pass
    raise ScenarioError("--duration", text, "a time from 1ms to 3600s")
