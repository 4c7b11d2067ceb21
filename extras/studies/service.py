"""Measures what LOWAT costs a server whose work takes time: `make service` fills docs/measured/service.md."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median
from typing import Self

from priolab import Run
from priolab.analysis.reports.markdown import Table
from priolab.common.packets import PACKET_BYTES, SEGMENT_BYTES
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.cli_request import joined_words
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import scenario_from, with_defaults
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.scenario.service import Service
from priolab.extras.studies.in_guest import run_in_guest

_SERVERS = ("nginx", "h2o", "caddy")
_LOWATS = (4096, 65_536, 131_072, 262_144)
_SERVICES = ("none", "10ms+1us/KB")
_LINK = {"RATE": "100mbit", "DELAY": "1ms", "QUEUE": "20", "SIZE": "8M", "JS_DELAY": "0ms", "RELOADS": "1"}
_BUFFER_BYTES = 45 * SEGMENT_BYTES
"""The largest packet buffer: whole segments, up to 64 KiB."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Goodput from a load's first byte to its last, and the front's wake-ups per MB that it handed to its kernel."""

    goodput_bit_s: float
    wakeups_per_mb: float

    @classmethod
    def predicted(cls, scenario: Scenario) -> Self:
        """Returns the figures by the law in the document. The scenario has a rate, and a number as LOWAT."""
        assert scenario.link.rate_bit_s is not None
        assert isinstance(scenario.lowat, int)
        service = scenario.service_time or Service(wake_ns=0, kb_ns=0)
        full_bit_s = scenario.link.rate_bit_s * SEGMENT_BYTES / PACKET_BYTES
        filled_bytes = ceil(scenario.lowat / _BUFFER_BYTES) * _BUFFER_BYTES
        cycle_s = (filled_bytes - scenario.lowat / 2) * 8 / full_bit_s + service.wake_ns / 10**9
        queue_bytes = scenario.link.queue_packets / 2 * SEGMENT_BYTES
        sent_bytes = min(cycle_s * full_bit_s / 8, filled_bytes + queue_bytes)
        return cls(goodput_bit_s=sent_bytes * 8 / cycle_s, wakeups_per_mb=10**6 / sent_bytes)

    @classmethod
    def measured(cls, run: Run) -> Self:
        """Returns the figures of the measured load of a run that is ok."""
        load, cost = run.record.measured, run.record.measured.cost
        assert cost is not None
        assert cost.wakeups is not None
        assert cost.handed_bytes is not None
        files = [load.resources[each.name] for each in run.scenario.whole_page.contents]
        took_ms = max(each.last_byte_ms for each in files) - min(each.first_byte_ms for each in files)
        return cls(
            goodput_bit_s=sum(each.size_bytes for each in files) * 8000 / took_ms,
            wakeups_per_mb=cost.wakeups * 10**6 / cost.handed_bytes,
        )


@dataclass(frozen=True, kw_only=True)
class Row:
    """An arm: its knobs, and both figures as predicted and as measured."""

    server: str
    service: str
    lowat: str
    predicted: Figures
    measured: Figures

    @property
    def errors(self) -> tuple[float, float]:
        """The errors of the predictions, as parts of what was measured: goodput, wake-ups."""
        asked, seen = self.predicted, self.measured
        return asked.goodput_bit_s / seen.goodput_bit_s - 1, asked.wakeups_per_mb / seen.wakeups_per_mb - 1

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        of_goodput, of_wakeups = (f"{error:+.0%}" for error in self.errors)
        goodputs = (f"{each.goodput_bit_s / 10**6:.1f}" for each in (self.predicted, self.measured))
        wakeups = (f"{each.wakeups_per_mb:.1f}" for each in (self.predicted, self.measured))
        return self.server, f"`{self.service}`", self.lowat, *goodputs, of_goodput, *wakeups, of_wakeups


_HEAD = (
    "server",
    "SERVICE",
    "LOWAT",
    "goodput in Mbit/s, predicted:",
    "measured:",
    "error:",
    "wake-ups per MB, predicted:",
    "measured:",
    "error:",
)


def arms() -> list[Arm]:
    """Returns the arms, in the order of the table's rows."""
    return [
        Arm(
            name=f"{server}-{lowat}-{number}",
            knobs=with_defaults({**_LINK, "SERVER": server, "SERVICE": service} | {"LOWAT": str(lowat)}),
        )
        for server in _SERVERS
        for number, service in enumerate(_SERVICES)
        for lowat in _LOWATS
    ]


def findings(rows: Sequence[Row]) -> Findings:
    """Returns the table, and the median and the largest error with SERVICE, of each figure and server."""
    slow = [row for row in rows if row.service != "none"]
    errors = {
        "goodput": _said(row.errors[0] for row in slow),
        "wakeups": _said(row.errors[1] for row in slow),
        "wakeups-nginx": _said(row.errors[1] for row in slow if row.server == "nginx"),
    }
    knobs = {**_LINK, "SERVICE": _SERVICES[-1], "LOWAT": ",".join(map(str, _LOWATS)), "CONTROL": "no"}
    table = Table(head=_HEAD, rows=tuple(row.cells for row in rows)).markdown()
    return Findings(places={"command": f"    make experiment {joined_words(knobs)}", **errors, "table": table})


def _said(errors: Iterable[float]) -> str:
    sizes = [abs(error) for error in errors]
    return f"median {median(sizes):.0%}, largest {max(sizes):.0%}"


def _measure(results: Path, report: Report) -> Findings:
    asked = arms()
    runs = run_in_guest("service", asked, results, report).check().runs
    return findings(
        [
            Row(
                server=arm.knobs["SERVER"],
                service=arm.knobs["SERVICE"],
                lowat=arm.knobs["LOWAT"],
                predicted=Figures.predicted(scenario_from(arm.knobs)),
                measured=Figures.measured(run),
            )
            for arm, run in zip(asked, runs, strict=True)
        ]
    )


add_to = Study(name="service", step="the servers' work", measure=_measure).add_to
