"""Carries out a spec: makes the places and the link, has the programs run, counts, and writes the outcome."""

import os
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from priolab.common.errors import LabError, StepFailed, Unavailable
from priolab.common.formats.files import write_json
from priolab.netem import shaper as shapers
from priolab.netem.link import Link
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.guest.kernel_faults import check_kernel
from priolab.testbed.sandbox.connections import Ends, joined
from priolab.testbed.sandbox.filesystem import View
from priolab.testbed.sandbox.network import Network
from priolab.testbed.sandbox.oom import OutOfMemory
from priolab.testbed.sandbox.outcome import Beside, Connection, Direction, Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputWriter
from priolab.testbed.sandbox.programs import Programs
from priolab.testbed.sandbox.samples import SocketJournal, longest_queue
from priolab.testbed.sandbox.spec import CLIENT, SERVER, Files, SandboxSpec
from priolab.testbed.topology import packet_capture as tap
from priolab.testbed.topology import pair
from priolab.testbed.topology.active import ActiveCross, ActiveLink
from priolab.testbed.topology.cross_traffic import crossing
from priolab.testbed.topology.end_settings import CongestionControl
from priolab.testbed.topology.end_words import Way
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.pair import CC
from priolab.testbed.topology.wiring import TO_CLIENT, TO_FRONT, WIRE

_SETTLE_S = 0.001


def carry_out(spec: SandboxSpec, files: Files, usual: Shaper | None, *, seeded: bool, later_s: int = 0) -> None:
    """Carries out the spec, and writes the outcome, also after a failure.

    usual: the shaper for a link without a trace; None to look for netem. seeded: for the outcome. later_s: how much
    later the guest carries this out than its first spec.
    """
    try:
        outcome = _carried_out(spec, files, usual, later_s)
        if seeded:
            check_kernel()
    except LabError as error:
        outcome = Outcome(ending=Ending.FAILED, reason=str(error))
    except Exception as error:  # a bug in the lab
        traceback.print_exc()
        reason = str(StepFailed("the lab itself", f"{type(error).__name__}: {error}"))
        outcome = Outcome(ending=Ending.FAILED, reason=reason)
    write_json(files.outcome, asdict(replace(outcome, seeded=seeded)))


def _carried_out(spec: SandboxSpec, files: Files, usual: Shaper | None, later_s: int) -> Outcome:
    scratch = Path(os.environ.get("TMPDIR", "/run")) / "sandbox"
    scratch.mkdir(exist_ok=True)
    with ExitStack() as stack:
        network = stack.enter_context(Network(spec, usual, scratch))
        places = network.places
        _set(spec, places)
        active = stack.enter_context(network.shaping())
        stack.enter_context(_crossing(places[CLIENT], network.links[CLIENT], spec.way, active[CLIENT], scratch))
        ends = {
            name: stack.enter_context(Ends(place, spec.addresses, ipv6=spec.ipv6)) for name, place in places.items()
        }
        said = stack.enter_context(OutputWriter(files.said, [*places]))
        journal = stack.enter_context(_sampling(spec, files, places))
        shortage = stack.enter_context(OutOfMemory()) if spec.isolated else None
        with _capturing(spec, places, files), View(spec, scratch) as view:
            programs = Programs(spec, files, said, places, view, later_s)
            outcome = programs.run([*active.values()], [*ends.values()], journal)
        time.sleep(_SETTLE_S)  # the kernel tells of the last connections
        reason = "; ".join(filter(None, [outcome.reason, shortage.reason() if shortage else None])) or None
        return _counted(replace(outcome, reason=reason), spec, network, active, joined(ends))


def _counted(
    outcome: Outcome,
    spec: SandboxSpec,
    network: Network,
    active: Mapping[str, ActiveLink],
    connections: Sequence[Connection],
) -> Outcome:
    """Returns the outcome with what was counted."""

    def queue(name: str) -> int | None:
        return longest_queue(network.folder(name) / "queue.jsonl") if spec.interval_ns and name in active else None

    def direction(name: str, way: str) -> Direction:
        size_bytes = network.arrived_bytes(name) if way == "down" else network.sent_bytes(name)
        dropped, lost = _drops(active[name], spec.ways[name].link, way) if name in active else (0, 0)
        return Direction(bytes=size_bytes, dropped=dropped, lost=lost)

    others = () if spec.is_pair else [name for name in network.places if name != CLIENT]
    return replace(
        outcome,
        connections=connections,
        down=direction(CLIENT, "down"),
        up=direction(CLIENT, "up"),
        longest_queue=queue(CLIENT),
        queue_bytes={name: _queue_bytes(each.link) for name, each in spec.ways.items() if each.link.counts_bytes},
        beside={
            name: Beside(down=direction(name, "down"), up=direction(name, "up"), longest_queue=queue(name))
            for name in others
        },
    )


def _queue_bytes(link: Link) -> dict[str, int]:
    """Returns the most bytes in the queues of a link, by direction."""
    found = {"down": link.queue_bytes, "up": link.queue_up_bytes}
    return {way: size_bytes for way, size_bytes in found.items() if size_bytes is not None}


def _set(spec: SandboxSpec, places: Mapping[str, Namespace]) -> None:
    """Sets what the knobs and --set ask for. Raises StepFailed and Unavailable."""
    settings = spec.way.server
    pair.apply_settings(places[CLIENT], places[SERVER], settings)
    asked_for = {name for name, sysctl, _ in spec.sysctls if sysctl == CC}
    for where in places:
        if where not in asked_for:
            _choose(places[where], settings.congestion_control if where == SERVER else CongestionControl.CUBIC)
    for name in spec.links:
        if spec.ways[name].link.ecn:
            places[name].write_sysctl(pair.ECN, pair.ECN_ON)
    for place, name, value in spec.sysctls:
        places[place].write_sysctl(name, value)


def _choose(place: Namespace, congestion_control: str) -> None:
    """Sets the congestion control of the place's connections. Raises Unavailable.

    A kernel may forbid the sysctl to namespaces (net.ipv4.tcp_allowed_congestion_control), but not the routes.
    """
    if place.read_sysctl(CC) == congestion_control:
        return
    try:
        for family in ("-4", "-6"):
            for route in place.run(("ip", family, "route", "show", "default")).splitlines():
                place.run(("ip", family, "route", "change", *route.split(), "congctl", congestion_control))
    except StepFailed as error:
        raise Unavailable(f"CC={congestion_control}", error.reason, "use FABRIC=virtual") from error


def _crossing(
    client: Namespace, link: Namespace, way: Way, active: ActiveLink, folder: Path
) -> AbstractContextManager[ActiveCross | None]:
    if way.cross is None:
        return nullcontext()
    return crossing(client, link, way.link, way.cross, active.shaper, folder=folder, interval_ns=None)


def _sampling(
    spec: SandboxSpec, files: Files, places: Mapping[str, Namespace]
) -> AbstractContextManager[SocketJournal | None]:
    if spec.interval_ns is None:
        return nullcontext()
    return SocketJournal(places, files.samples, spec.interval_ns, ipv6=spec.ipv6)


@contextmanager
def _capturing(spec: SandboxSpec, places: Mapping[str, Namespace], files: Files) -> Iterator[None]:
    """Captures the packets of all places while the context is open, and some time longer. Raises StepFailed."""
    if not spec.capture:
        yield
        return
    assert spec.tcpdump is not None, "the lab has looked for tcpdump"
    with ExitStack() as stack:
        for name, place in places.items():
            stack.enter_context(place.capturing(spec.tcpdump, WIRE, files.capture(name), None, ipv6=spec.ipv6))
        yield
        time.sleep(tap.LAST_BLOCK_S + 0.5)


def _drops(active: ActiveLink, link: Link, name: str) -> tuple[int, int]:
    """Returns the packets that the queue dropped, and those that the link lost at random.

    Raises StepFailed if the ferry did not take all packets: no link that was asked for loses these.
    """
    counters = active.counters().get(name, {})  # a ferry counts a direction that it shapes
    if active.shaper is Shaper.FERRY:
        if lost := counters.get("kernel_drops", 0) + counters.get("refused", 0):
            raise StepFailed("the link (ferry)", f"{lost} packets came at once, more than it can take; send fewer")
        return counters.get("dropped", 0), counters.get("lost", 0)
    stages = shapers.stages(link, TO_CLIENT, TO_FRONT)[name]
    drops = {(each["dev"], each["handle"]): each["drops"] for each in counters}
    own = {stage: drops.get((stage.device, f"{stage.handle:x}:"), 0) for stage in stages.bottleneck}
    queue = own[stages.bottleneck[0]] if stages.bottleneck else 0
    line = stages.delay_line
    if line is None:
        return queue, 0
    whole = drops.get((line.device, f"{line.handle:x}:"), 0)
    nested = line._replace(handle=line.handle + 1) in stages.bottleneck
    return queue, whole - queue if nested else whole
