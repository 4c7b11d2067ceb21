"""Compares what knee recommends with a finer choice of values at servers of one's own: `make own-servers`.

    python -m tools.campaigns.own_servers [CASE...]

A case is a link and a server. The lab sweeps LOWAT there, and knee recommends a value. Then a fresh configuration of
the same server, the files beside this module, is measured by `priolab sandbox` with a small origin and a small client
of HTTP/2, at the instants of the sweep, and with every power of two from 2 KiB to 1 MiB. With knee's value the
script's first byte may come at most a tenth later than with the best of these, or the time of a TLS record if that is
more: the client can read the script only record by record. No run of a sweep may be invalid. The table is written into
docs/measured/own-servers.md. CASE: the numbers of cases from 1 on; the other rows of the table stay as they are.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import priolab
from priolab.analysis.reports.markdown import Table, places, with_place
from priolab.analysis.sweeps.network_knobs import NONE
from priolab.common.amounts import milliseconds
from priolab.common.home import ROOT
from priolab.common.packets import RECORD_BYTES
from priolab.experiments.scenario.knobs import KNOBS
from priolab.proxy import certificates
from priolab.proxy.server import server_of
from priolab.testbed import Host, Sandbox

DOCUMENT = ROOT / "docs/measured/own-servers.md"
FILES = Path(__file__).parent
SERVERS: Mapping[str, str] = {
    "nginx": "nginx -p . -c nginx.conf",
    "h2o": "h2o -c h2o.conf",
    "haproxy": "haproxy -db -f haproxy.cfg",
    "caddy": "env HOME=. caddy run",
}
"""The command of each server."""

SWEPT = (NONE, "4096", "16384", "65536", "131072", "524288")
FINER = (NONE, *(str(2**power) for power in range(11, 21)))
_LOADS = 2
_LATER = 1.1


@dataclass(frozen=True, kw_only=True)
class Case:
    """A link and a server. queue: in packets. size: of a resource. instants_ms: JS_DELAY; None for a sweep's own."""

    server: str
    rate_mbit_s: int
    round_trip_ms: int
    queue: int
    size: int
    instants_ms: tuple[int, ...] | None = None

    @property
    def link(self) -> str:
        """The value of LINK, in the lab and in the sandbox."""
        return f"{self.rate_mbit_s}mbit/{self.round_trip_ms}ms"

    @property
    def record_ms(self) -> float:
        """The time that a TLS record takes on the link."""
        return RECORD_BYTES * 8 / 1000 / self.rate_mbit_s


_RATES = (
    (10, 25, 716_800, None),
    (30, 50, 1_200_000, None),
    (100, 100, 1_500_000, (20, 21, 23, 24)),
    (300, 250, 2_000_000, (20, 21, 22, 23)),
    (1000, 1000, 3_000_000, (10, 11, 12, 13)),
)
"""Rates in Mbit/s, with the queue, the size and the instants in ms. The script is ready before the image is through."""


def _cases() -> Iterator[Case]:
    """Yields twenty cases: every link once, and each server five times, at every rate."""
    for row, (rate, queue, size, instants_ms) in enumerate(_RATES):
        for column, round_trip_ms in enumerate((2, 10, 40, 100)):
            yield Case(
                server=[*SERVERS][(row + column) % len(SERVERS)],
                rate_mbit_s=rate,
                round_trip_ms=round_trip_ms,
                queue=queue,
                size=size,
                instants_ms=instants_ms,
            )


CASES = tuple(_cases())


@dataclass(frozen=True, kw_only=True)
class Found:
    """The result of a case. recommended: knee's value. own_ms: by value of LOWAT, the script's first byte.

    troubles: the sweep's runs that are not ok. record_ms: the time of a TLS record.
    """

    recommended: str
    own_ms: Mapping[str, float]
    troubles: Sequence[str]
    record_ms: float

    @property
    def best(self) -> str:
        """The value of LOWAT with which the own server's script came soonest."""
        return min(self.own_ms, key=self.own_ms.__getitem__)

    @property
    def holds(self) -> bool:
        """True if no run is bad, and the recommended value is near the best."""
        best_ms = self.own_ms[self.best]
        return not self.troubles and self.own_ms[self.recommended] <= max(_LATER * best_ms, best_ms + self.record_ms)


def carry_out(case: Case, results: Path, swept: Sequence[str] = SWEPT, finer: Sequence[str] = FINER) -> Found:
    """Sweeps a case, and measures the values and the recommended one with the own server. Raises LabError."""
    instants = {"JS_DELAY": [f"{each}ms" for each in case.instants_ms]} if case.instants_ms else {}
    sweep = priolab.sweep(
        **instants,
        LINK=case.link,
        QUEUE=case.queue,
        LOWAT=swept,
        SERVER=case.server,
        BUFFERING=server_of(case.server).buffering.usual or KNOBS["BUFFERING"].default,
        SIZE=case.size,
        RELOADS=_LOADS - 1,
        FABRIC="virtual",
        RESULTS=results,
        progress=lambda _: None,
    )
    (network,) = sweep.summary["networks"]
    recommended = network["knee"]["recommended"]
    assert recommended is not None, network["knee"]["reason"]
    waits = [at.removesuffix("ms") for at in network["values"][0]["first_byte_ms_at"]]
    return Found(
        recommended=recommended,
        own_ms=_measured(case, dict.fromkeys((*finer, recommended)), waits),
        troubles=[f"{each['run']}: {each['status']}, {each['reason']}" for each in sweep.summary["runs"]["troubles"]],
        record_ms=case.record_ms,
    )


def _measured(case: Case, values: Mapping[str, None], waits: Sequence[str]) -> dict[str, float]:
    """Returns, by value of LOWAT, the mean of the own server's first bytes over the instants."""
    with tempfile.TemporaryDirectory(prefix="priolab-own-") as scratch:
        folder = Path(shutil.copytree(FILES, scratch, dirs_exist_ok=True))
        made = certificates.issue(folder, "server", seed=1)
        (folder / "front.pem").write_bytes(made.chain.read_bytes() + made.key.read_bytes())
        with Sandbox(
            LINK=case.link,
            QUEUE=case.queue,
            server=SERVERS[case.server],
            hosts={"origin": Host([sys.executable, "origin.py", str(case.size)])},
            wait={"server": 443, "origin": 8080},
            folder=folder,
        ) as sandbox:
            client = [sys.executable, "client.py", str(_LOADS), *waits]
            found = {value: sandbox.run(client, LOWAT=value).check() for value in values}
    return {value: mean(map(float, each.out.split())) for value, each in found.items()}


_HEAD = ("server", "link", "knee's value:", "unset:", "with knee's value:", "best of all values:", "later by:")


def _row(case: Case, found: Found) -> tuple[str, ...]:
    """Returns the row of a case in the table."""
    unset_ms, own_ms, best_ms = (found.own_ms[value] for value in (NONE, found.recommended, found.best))
    mark = "" if found.holds else " (a run is not ok)" if found.troubles else " (too late)"
    return (
        case.server,
        case.link,
        found.recommended.replace(NONE, "unset"),
        milliseconds(unset_ms),
        milliseconds(own_ms),
        f"{milliseconds(best_ms)} ({found.best.replace(NONE, 'unset')})",
        f"{own_ms / best_ms - 1:.1%}{mark}",
    )


def _write(rows: Mapping[int, tuple[str, ...]]) -> None:
    """Replaces the rows of these cases in the document's table."""
    text = DOCUMENT.read_text()
    there = [line.strip("| ").split(" | ") for line in places(text)["own-servers"].splitlines()[2:]]
    kept = {(cells[0], cells[1]): tuple(cells) for cells in there}
    every = (rows.get(number) or kept.get((case.server, case.link)) for number, case in enumerate(CASES, start=1))
    table = Table(head=_HEAD, rows=tuple(filter(None, every))).markdown()
    DOCUMENT.write_text(with_place(text, "own-servers", table))


def main() -> int:
    """Returns the exit code, 0 if every recommendation holds."""
    parser = argparse.ArgumentParser(prog="make own-servers", description=__doc__)
    every = range(1, len(CASES) + 1)
    parser.add_argument("cases", nargs="*", type=int, metavar="CASE", help=f"1 to {len(CASES)}; by default all")
    numbers = parser.parse_args().cases or every
    if not {*numbers} <= {*every}:
        parser.error(f"CASE is a number from 1 to {len(CASES)}")
    rows, holds = {}, True
    with tempfile.TemporaryDirectory(prefix="priolab-own-servers-") as scratch:
        for number in numbers:
            case = CASES[number - 1]
            found = carry_out(case, Path(scratch))
            rows[number] = _row(case, found)
            holds &= found.holds
            print(number, *rows[number], *found.troubles, sep=" | ", flush=True)
            if not found.holds:
                print(f"    {found.own_ms}", file=sys.stderr)
            _write(rows)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
