"""`priolab probe URL --load PAGE`: loads a page from a running site, and judges the order in which its bytes came.

Rules:
1. Before the command connects to the site, it prints how many connections and requests it will make. It makes no more,
   and never repeats a failed one. For an address that is not this machine's own, it does so only with `--yes`.
2. The first connection requests each resource alone, one after the other. This shows how long origin, server and
   network need for a resource anyway (analysis/loads/site.py). The second connection loads the page: first the warm-up
   loads, then the measured load.
3. The client's journals are removed once they have been read, and when the command ends, even by kill -9.
"""

import argparse
import ipaddress
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from priolab.analysis.loads.interleaving import Interleaving
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.requested_order import AskedOrder
from priolab.analysis.loads.site import SiteLedger, alone_ns, one_after_the_other, site_ledger, site_loads
from priolab.analysis.loads.verdict import Judgement, judge
from priolab.client import dialects
from priolab.client.plan import PlanKind
from priolab.client.priorities import Priorities
from priolab.client.transport import Deadline, TransportFailed
from priolab.common.errors import ScenarioError, StepFailed, TimedOut
from priolab.common.formats.page import Page
from priolab.common.formats.reading import FolderError
from priolab.common.packets import RECORD_BYTES
from priolab.common.process.scratch import scratch_folder
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.target import STEP, Site, addresses, run_client
from priolab.experiments.commands.trial import Trial
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.pages import site_page
from priolab.netem import link_options
from priolab.netem.link import Link
from priolab.netem.link_ranges import LinkError
from priolab.netem.parsers import whole
from priolab.testbed import parsed_time_ns

_FORMAT = 1
_DIALECT = "plain+header"
_MOST_WARM_UPS = 20
_LIMIT_NS = 120 * 10**9
_MORE_TIME = "--deadline gives more time"
_NOT_WITH_LOAD = ("second", "pause")
_KIB = 1024
_ALL_ADDRESSES = "behind a link of the lab's, a server must listen at all addresses of this machine"
_LINK_WORDS = {"RATE": "unlimited", "DELAY": "0ms", "QUEUE": link_options.LINK_OPTIONS["QUEUE"].default}
"""The knobs of a link that the options --rate, --delay and --queue set, with their defaults here."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a load from a running site to the parser of `priolab probe`."""
    site = parser.add_argument_group("to load a page from the server, instead of the probes")
    site.add_argument(
        "--load", metavar="PAGE", help="a page of the catalogue, or a file such as my-page.toml, site.har or site.har#2"
    )
    site.add_argument("--reloads", metavar="N", default="2", help="warm-up loads before the measured load (default: 2)")
    site.add_argument(
        "--priority", default="spdy", help="the order to ask for: spdy, swap or none, as for PRIORITY (default: spdy)"
    )
    for option, metavar, meaning in (
        ("rate", "RATE", "rate of a link of the lab's to a server on this machine, such as 128kbps"),
        ("delay", "TIME", "delay of this link toward the client (default with --rate: 0ms)"),
        ("queue", "SIZE", "queue of this link in the notation of QUEUE (default: 25)"),
    ):
        site.add_argument(f"--{option}", metavar=metavar, help=meaning)
    site.add_argument("--yes", action="store_true", help="connect also to an address that is not this machine's own")


@dataclass(frozen=True, kw_only=True)
class _Load:
    """The page to load from a site, and the order to ask for.

    link: the link to make between client and site; None for the network as it is.
    """

    site: Site
    page: Page
    trial: Trial
    link: Link | None

    @property
    def requests(self) -> int:
        """The number of requests that the command makes."""
        return len(self.page.resources) * (self.trial.loads + 1)


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The result of the loads. site: with the address. round_trip_ns: the time of a TCP handshake."""

    site: Site
    round_trip_ns: int
    loads: Sequence[PageLoad]
    judgement: Judgement
    ledger: SiteLedger


def check_absent(options: argparse.Namespace) -> None:
    """Checks that none of the options is given that only --load has a use for. Raises ScenarioError."""
    for name in ("rate", "delay", "queue"):
        if given := getattr(options, name):
            raise ScenarioError(f"--{name}", given, "no value without --load")


def load_site(options: argparse.Namespace, report: Report) -> int:
    """Loads the page and shows verdict and ledger. Raises ScenarioError, StepFailed."""
    wanted = _load_of(options)
    limit_ns = wanted.site.limit_ns
    deadline = Deadline(time.monotonic_ns() + limit_ns, "the loads")
    beside = Report(aside=True) if options.json else report
    try:
        _check_consent(wanted, deadline, yes=options.yes)
        found = _load(wanted, deadline, beside)
    except TransportFailed:
        raise TimedOut(STEP, "all loads together", limit_ns / 10**9, _MORE_TIME) from None
    except FolderError as error:
        raise StepFailed(STEP, str(error)) from None
    if options.json:
        report.document(_document(wanted, found))
    else:
        _show(found, report)
    return 0


def _load_of(options: argparse.Namespace) -> _Load:
    """Returns the load that the options describe. Raises ScenarioError."""
    for name in _NOT_WITH_LOAD:
        if given := getattr(options, name):
            raise ScenarioError(name if name == "second" else f"--{name}", given, "no value with --load")
    site = Site.at("url", options.url, options.connect, options.ca)
    if site.path != "/":
        raise ScenarioError("url", options.url, "https://HOST[:PORT]/ with --load, because the page has the paths")
    page = site_page(options.load)
    trial = Trial(
        plan=PlanKind.LOADS,
        page=page.name,
        priorities=_parsed("--priority", options.priority, Priorities, ", ".join(Priorities)),
        dialect=_parsed("--dialect", options.dialect or _DIALECT, dialects.parse, KNOBS["DIALECT"].allowed),
        loads=_parsed("--reloads", options.reloads, whole(0, _MOST_WARM_UPS), f"0 to {_MOST_WARM_UPS}") + 1,
    )
    if options.deadline == "auto":
        limit_ns = _LIMIT_NS
    else:
        limit_ns = parsed_time_ns("--deadline", options.deadline, "100ms", "86400s")
    return _Load(site=replace(site, limit_ns=limit_ns), page=page, trial=trial, link=_link(options))


def _link(options: argparse.Namespace) -> Link | None:
    """Returns the link that the options describe; None if they describe none. Raises ScenarioError."""
    given = {name: text for name in _LINK_WORDS if (text := getattr(options, name.lower())) is not None}
    if not given:
        return None
    fields = {}
    for name, usual in _LINK_WORDS.items():
        word = link_options.LINK_OPTIONS[name]
        fields[word.field] = _parsed(f"--{name.lower()}", given.get(name, usual), word.parse, word.allowed)
    try:
        return link_options.link_of(fields)
    except LinkError as error:
        raise ScenarioError("--queue", given["QUEUE"], error.allowed) from None


def _parsed(where: str, text: str, parse: Any, allowed: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        raise ScenarioError(where, text, allowed) from None


def _check_consent(wanted: _Load, deadline: Deadline, *, yes: bool) -> None:
    """Checks that every address of the site is this machine's own, unless the user said yes.

    Raises ScenarioError, StepFailed, and TransportFailed at the deadline.
    """
    site = wanted.site
    try:
        found = [str(entry[4][0]) for entry in addresses(site.address, site.port, deadline)]
    except (OSError, UnicodeError) as error:
        raise StepFailed(STEP, f"cannot find the address of {site.address}: {error}") from error
    others = [address for address in found if not ipaddress.ip_address(address.partition("%")[0]).is_loopback]
    if others and wanted.link is not None:
        allowed = "no link to a server elsewhere: only servers on this machine can be behind a link of the lab's"
        raise ScenarioError("--rate", f"given, with a server at {others[0]}", allowed)
    if others and not yes:
        at = "" if others[0] == site.host else f", which is at {others[0]}"
        allowed = f"with --yes, for a site that you may load; it permits {_announcement(wanted)}{at}"
        raise ScenarioError("url", f"{site.scheme}://{site.authority}/", allowed)


def _announcement(wanted: _Load) -> str:
    return f"three connections and {wanted.requests} requests to {wanted.site.host}"


def _load(wanted: _Load, deadline: Deadline, report: Report) -> _Found:
    """Makes all loads. Raises StepFailed, FolderError, and TransportFailed at the deadline."""
    page, trial, total = wanted.page, wanted.trial, wanted.trial.loads
    report.say(
        f"{_announcement(wanted)}: each of {len(page.resources)} resources alone, then {total} page"
        f" load{'s' if total > 1 else ''}; time limit of all together: {wanted.site.limit_ns / 10**9:g} s"
    )
    step, over = "connecting", threading.Event()
    with (
        report.ticking(lambda: step) as tick,
        scratch_folder("priolab-probe-") as scratch,
        _reachable(wanted, scratch) as near,
    ):
        try:
            site, round_trip_ns = near.reached(deadline)
        except StepFailed as error:
            raise StepFailed(STEP, error.reason + ("; " + _ALL_ADDRESSES if wanted.link else "")) from None

        def load(trial: Trial, page: Page) -> Any:
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                return run_client(site.plan(trial, page), site.ca, Path(folder), deadline, over)

        step = "each resource alone"
        tick()
        alone = alone_ns(load(replace(trial, priorities=Priorities.NONE, loads=1), one_after_the_other(page)))
        step = f"{total} page load{'s' if total > 1 else ''}"
        tick()
        events = load(trial, page)
    round_trip_ns = min(round_trip_ns, *alone.values())
    loads = site_loads(events, page, alone, round_trip_ns // 2)
    groups = site.plan(trial, page).groups
    scene = Interleaving.of_arrivals(loads[-1], record_bytes=RECORD_BYTES)
    order = AskedOrder.of(events, loads[-1].number, groups)
    judgement = judge(loads[-1], order, round_trip_ns // 2, scene=scene)
    loads = [replace(each, focal_name=judgement.focal) for each in loads]
    measured = loads[-1]
    return _Found(
        site=site,
        round_trip_ns=round_trip_ns,
        loads=loads,
        judgement=judgement,
        ledger=site_ledger(measured, events, alone, round_trip_ns),
    )


@contextmanager
def _reachable(wanted: _Load, scratch: Path) -> Iterator[Site]:
    """Makes the site's link, if it has one, and moves this thread to its client. Yields the site to connect to.

    Raises Unavailable, StepFailed.
    """
    if wanted.link is None:
        yield wanted.site
        return
    from priolab.testbed import near_host  # only for a link

    with near_host(wanted.link, scratch) as (client, address), client.entered():
        yield replace(wanted.site, address=address)


def _show(found: _Found, report: Report) -> None:
    """Shows the measured load as a table, the verdict, and the ledger."""
    load, ledger = found.loads[-1], found.ledger
    rows = [
        (
            name,
            "yes" if times.resource.important else "",
            _s(times.requested_ns - load.started_ns),
            _s(times.available_ns - load.started_ns),
            _s(times.first_byte_ns - load.started_ns),
            _s(times.last_byte_ns - load.started_ns),
            f"{times.size_bytes:,}",
        )
        for name, times in load.resources.items()
    ]
    head = ("resource", "important", "requested", "available (estimate)", "first byte", "last byte", "bytes")
    report.table(head, rows)
    report.say(f"{found.judgement.verdict}: {found.judgement.reason}")
    report.say(
        f"the {ledger.focal} waited {_s(ledger.wait_ns)} = {_s(ledger.alone_ns)} that it needs alone"
        f" {_signed(ledger.behind_ns)} behind other bytes + {_s(ledger.record_ns)} for its TLS record to be complete"
    )
    report.say(
        f"Of the other resources, {ledger.on_their_way_bytes / _KIB:.0f} KiB were on their way when the request reached"
        f" {found.site.host}. A further {ledger.too_early_bytes / _KIB:.0f} KiB arrived before the first byte although"
        f" the {ledger.focal} could have come. A client cannot tell whether these bytes waited in the server, in its"
        " kernel (which TCP_NOTSENT_LOWAT limits), or in the network's queue."
    )


def _s(time_ns: int) -> str:
    return f"{time_ns / 10**9:.3f} s"


def _signed(time_ns: int) -> str:
    return f"{'-' if time_ns < 0 else '+'} {_s(abs(time_ns))}"


def _document(wanted: _Load, found: _Found) -> Any:
    """Returns the document that docs/reference/results.md describes."""
    return {
        "format": _FORMAT,
        "host": found.site.host,
        "address": found.site.address,
        "port": found.site.port,
        "page": wanted.page.name,
        "priority": str(wanted.trial.priorities),
        "dialect": str(wanted.trial.dialect),
        "requests": wanted.requests,
        "round_trip_ms": found.round_trip_ns / 10**6,
        "verdict": {"verdict": str(found.judgement.verdict), "reason": found.judgement.reason},
        "loads": [asdict(load.as_record()) for load in found.loads],
        "ledger": _ledger_document(found.ledger),
    }


def _ledger_document(ledger: SiteLedger) -> dict[str, Any]:
    return {
        "focal": ledger.focal,
        "wait_ms": ledger.wait_ns / 10**6,
        "parts_ms": {
            "alone": ledger.alone_ns / 10**6,
            "behind": ledger.behind_ns / 10**6,
            "record": ledger.record_ns / 10**6,
        },
        "other_bytes": {"on_their_way": ledger.on_their_way_bytes, "too_early": ledger.too_early_bytes},
    }
