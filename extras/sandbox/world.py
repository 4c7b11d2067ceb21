"""Carries out an order: makes the places and the link, has the programs run, counts, and writes the outcome."""

import os
import time
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path

from priolab.experiments.errors import LabError, StepFailed, Unavailable
from priolab.experiments.results.run_folder import write_json
from priolab.experiments.run.checks.settings import check_kernel
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.testbed import tap
from priolab.experiments.testbed.namespaces import pair
from priolab.experiments.testbed.namespaces.cross_traffic import crossing
from priolab.experiments.testbed.namespaces.front_place import CC
from priolab.experiments.testbed.namespaces.link_namespace import LinkNamespace
from priolab.experiments.testbed.namespaces.namespace import Namespace
from priolab.experiments.testbed.namespaces.wiring import ADDRESSES, TO_CLIENT, TO_FRONT, WIRE
from priolab.experiments.testbed.places import ActiveCross, ActiveLink
from priolab.extras.sandbox.connections import Ends, joined
from priolab.extras.sandbox.order import CLIENT, SERVER, Files, Order
from priolab.extras.sandbox.outcome import Direction, Ending, Outcome
from priolab.extras.sandbox.programs import Programs
from priolab.extras.sandbox.said import Writer
from priolab.extras.sandbox.samples import SocketJournal, longest_queue
from priolab.extras.sandbox.shortage import Shortage
from priolab.extras.sandbox.surroundings import surround
from priolab.netem import shaper as shapers
from priolab.netem.shaper_kind import Shaper

_SETTLE_S = 0.001


def carry_out(order: Order, files: Files, usual: Shaper | None, *, seeded: bool, later_s: int = 0) -> None:
    """Carries out the order, and writes the outcome, also after a failure.

    usual: the shaper for a link without a trace; None to look for netem. seeded: for the outcome. later_s: how much
    later the guest carries this out than its first order.
    """
    try:
        outcome = _carried_out(order, files, usual, later_s)
        if seeded:
            check_kernel()
    except LabError as error:
        outcome = Outcome(ending=Ending.FAILED, reason=str(error))
    except Exception as error:  # a bug in the lab
        traceback.print_exc()
        reason = str(StepFailed("the lab itself", f"{type(error).__name__}: {error}"))
        outcome = Outcome(ending=Ending.FAILED, reason=reason)
    write_json(files.outcome, asdict(replace(outcome, seeded=seeded)))


def _carried_out(order: Order, files: Files, usual: Shaper | None, later_s: int) -> Outcome:
    scenario = order.scenario
    scratch = Path(os.environ.get("TMPDIR", "/run")) / "sandbox"
    scratch.mkdir(exist_ok=True)
    with ExitStack() as stack:
        client, link, server = (
            stack.enter_context(Namespace(name, forwards=name == "link")) for name in (CLIENT, "link", SERVER)
        )
        pair.join(client, link, server)
        _set(order, client, server)
        shaping = LinkNamespace(link, usual, scratch / "ferry").shaping(
            scenario.link, None, seed=order.seed, folder=scratch, interval_ns=order.interval_ns
        )
        active = stack.enter_context(shaping)
        stack.enter_context(_crossing(client, link, scenario, active, scratch))
        near = stack.enter_context(Ends(client, ADDRESSES.front))
        far = stack.enter_context(Ends(server, ADDRESSES.client))
        said = stack.enter_context(Writer(files.said))
        journal = stack.enter_context(_sampling(order, files, client, server))
        shortage = stack.enter_context(Shortage()) if order.isolated else None
        with _capturing(order, client, server, files):
            home = surround(order, scratch)
            programs = Programs(order, files, said, {CLIENT: client, SERVER: server}, home, later_s)
            outcome = programs.run(active, [near, far], [active.look, *([journal.look] if journal else [])])
        time.sleep(_SETTLE_S)  # the kernel tells of the last connections
        return replace(
            outcome,
            reason="; ".join(filter(None, [outcome.reason, shortage.reason() if shortage else None])) or None,
            connections=joined(near, far),
            down=_direction(active, scenario, client, "down"),
            up=_direction(active, scenario, server, "up"),
            longest_queue=longest_queue(scratch / "queue.jsonl") if order.interval_ns else None,
        )


def _set(order: Order, client: Namespace, server: Namespace) -> None:
    """Sets what the knobs and --set ask for. Raises StepFailed and Unavailable."""
    scenario = order.scenario
    pair.apply_settings(client, server, scenario)
    if "CC" in order.knobs and (seen := server.read_sysctl(CC)) != scenario.congestion_control:
        raise Unavailable(f"CC={scenario.congestion_control}", f"this kernel uses {seen}", "use FABRIC=virtual")
    places = {CLIENT: client, SERVER: server}
    for place, name, value in order.sysctls:
        places[place].write_sysctl(name, value)


def _crossing(
    client: Namespace, link: Namespace, scenario: Scenario, active: ActiveLink, folder: Path
) -> AbstractContextManager[ActiveCross | None]:
    if not scenario.cross:
        return nullcontext()
    return crossing(client, link, scenario, active.shaper, folder=folder, interval_ns=None)


def _sampling(
    order: Order, files: Files, client: Namespace, server: Namespace
) -> AbstractContextManager[SocketJournal | None]:
    if order.interval_ns is None:
        return nullcontext()
    return SocketJournal({CLIENT: client, SERVER: server}, files.samples, order.interval_ns)


@contextmanager
def _capturing(order: Order, client: Namespace, server: Namespace, files: Files) -> Iterator[None]:
    """Captures the packets of both places while the context is open, and some time longer. Raises StepFailed."""
    if not order.capture:
        yield
        return
    assert order.tcpdump is not None, "the lab has looked for tcpdump"
    with ExitStack() as stack:
        for place in (client, server):
            command = tap.command(order.tcpdump, WIRE, files.path / f"{place.name}.pcap", None)
            process = place.start(f"the capture at the {place.name}", command, files.path / f"{place.name}.log")
            stack.enter_context(tap.listening(process, process.stop))
        yield
        time.sleep(tap.LAST_BLOCK_S + 0.5)


def _direction(active: ActiveLink, scenario: Scenario, place: Namespace, name: str) -> Direction:
    """Returns what a direction of the link has done. place: that at its end."""
    dropped, lost = _drops(active, scenario, name)
    return Direction(bytes=place.received(WIRE).bytes, dropped=dropped, lost=lost)


def _drops(active: ActiveLink, scenario: Scenario, name: str) -> tuple[int, int]:
    """Returns the packets that the queue dropped, and those that the link lost at random."""
    counters = active.counters().get(name, {})  # a ferry counts a direction that it shapes
    if active.shaper is Shaper.FERRY:
        return counters.get("dropped", 0), counters.get("lost", 0)
    stages = shapers.stages(scenario.link, TO_CLIENT, TO_FRONT)[name]
    drops = {(each["dev"], each["handle"]): each["drops"] for each in counters}
    own = {stage: drops.get((stage.device, f"{stage.handle:x}:"), 0) for stage in stages.bottleneck}
    queue = own[stages.bottleneck[0]] if stages.bottleneck else 0
    line = stages.delay_line
    if line is None:
        return queue, 0
    whole = drops.get((line.device, f"{line.handle:x}:"), 0)
    nested = line._replace(handle=line.handle + 1) in stages.bottleneck
    return queue, whole - queue if nested else whole
