"""The link's place as a network namespace that routes. Shapes the link, and writes the journal of the link's queue."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.process.processes import Process, module, wait_until
from priolab.netem import counters, tc
from priolab.netem.availability import TRIAL, lack_of_netem, netem_counts_bytes
from priolab.netem.control import tell_begin
from priolab.netem.link import Link, Part
from priolab.netem.link_changer import FerryChanger, LinkChanger, NetemChanger
from priolab.netem.queue_journal import Qdiscs, QueueJournal
from priolab.netem.rate_limiter import changing, kernel_changes
from priolab.netem.shaper import chosen, commands, devices, lack_of, stages, sysctls
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.topology.active import ActiveLink, Look, no_look
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.topology import Shaping

_FERRY = "the link (ferry)"
_FERRY_READY_S = 10.0
_Given = TypeVar("_Given")
_Got = TypeVar("_Got")


@dataclass(frozen=True)
class LinkNamespace:
    """The link's place: a namespace that routes between two wires, and shapes what passes.

    usual: the shaper for SHAPER=auto; None for netem if the kernel has it, otherwise the ferry. ask: the path of the
    socket on which the ferry answers. ipv6: True if packets of IPv6 pass the link, too.
    """

    place: Namespace
    shapes: Shaping
    usual: Shaper | None
    ask: Path
    ipv6: bool

    @contextmanager
    def shaping(
        self, shaper: Shaper | None, *, seed: int, folder: Path, interval_ns: int | None
    ) -> Iterator[ActiveLink]:
        """Shapes the link. Raises StepFailed.

        shaper: the shaper; None for the one that SHAPER=auto stands for. seed: the seed of the shaper's random numbers.
        folder: for the journal of the queue. interval_ns: the interval of the queue's samples; None for no samples.

        The ferry is a process in the namespace, and writes the journal of its queue itself.
        """
        link, near, far = self.shapes.link, self.shapes.near, self.shapes.far
        in_bytes = netem_counts_bytes()
        later = replace(link, prepared=link.prepared | {Part.DELAY_LINE}) if self.shapes.changes else link
        shaper, lack = chosen(shaper, later, self._lack_of_netem, self.usual, netem_counts_bytes=in_bytes)
        if refusal := lack_of(shaper, link, netem_counts_bytes=in_bytes):
            raise Unavailable(f"SHAPER={shaper}", refusal, lack or "use SHAPER=auto")
        if shaper is Shaper.FERRY and self.shapes.changes:
            link = replace(
                link, prepared=link.prepared | {Part.DELAY_LINE}, prepared_up=link.prepared_up | {Part.DELAY_LINE}
            )
        made = commands(shaper, link, near, far)
        self.place.run_all(made)
        if self.ipv6 and (ways := tc.ways(made)):
            self._lead_ipv6(ways)
        for name, value in sysctls(shaper, link).items():
            self.place.write_sysctl(name, value)
        self._set_mtu(Link(rate_bit_s=None, delay_ns=0), link)
        journal = folder / "queue.jsonl"
        check_alive: Callable[[], None] = _nothing_to_check
        pid = None
        look: Look = no_look
        queues: QueueJournal | None = None
        changer: LinkChanger | None = None
        begin: Callable[[int], object]
        with ExitStack() as stack:
            if shaper is Shaper.FERRY:
                from priolab.netem.ferry.process import Order  # a link of netem does not load the ferry

                order = Order(
                    link=link, seed=seed, journal=journal, interval_ns=interval_ns, socket=self.ask, ipv6=self.ipv6
                )
                begin = _as_step(partial(tell_begin, order.begin))
                changer = FerryChanger(link, order.begin) if self.shapes.changes else None
                ferry = stack.enter_context(self._start_ferry(order.to_json(), folder))
                check_alive, pid = ferry.check_alive, ferry.pid
            else:
                if link.rate_steps:
                    self.place.portrait.leave_open(changing(link, near))
                with self.place.entered():
                    queues = stack.enter_context(QueueJournal(stages(link, near, far), Qdiscs(), journal, interval_ns))
                    changes = _as_step(stack.enter_context)(kernel_changes(link, near, journal))
                    if self.shapes.changes:
                        changer = stack.enter_context(NetemChanger(link, near, far, self.place.entered))
                look, begin = _soonest(queues.look, _as_step(changes.look)), changes.begin
            yield ActiveLink(
                shaper=shaper,
                instead_of_netem=lack,
                pid=pid,
                commands=made,
                check_alive=check_alive,
                counters=lambda: counters.read(
                    shaper, devices=devices(link, near, far), ferry=self.ask, run=self.place.run
                ),
                carried=partial(self.place.received, far),
                look=look,
                begin=begin,
                in_batches=queues,
                changer=None if changer is None else _Changer(changer, self._set_mtu),
            )

    def _lead_ipv6(self, ways: str) -> None:
        """Leads packets of IPv6 the ways that those of IPv4 have. Raises Unavailable without policy routing for it."""
        try:
            self.place.run(["ip", "-6", "rule"])
        except StepFailed as error:
            reason = "the kernel has no policy routing of IPv6, which these knobs need (CONFIG_IPV6_MULTIPLE_TABLES)"
            raise Unavailable("IPv6 with QDISC, RATE_STEPS, REORDER or TRACE", reason, "use FABRIC=virtual") from error
        self.place.run(["ip", "-6", "-batch", "-"], ways)

    def _set_mtu(self, before: Link, after: Link) -> None:
        """Limits the packets that the link's place forwards. Raises StepFailed."""
        families = {"-4": "icmp", **({"-6": "ipv6-icmp"} if self.ipv6 else {})}
        limits = [("mtu", "lock", str(link.mtu_bytes)) if link.mtu_bytes else () for link in (before, after)]
        for family in families if limits[0] != limits[1] else ():
            for device in (self.shapes.near, self.shapes.far):
                for route in self.place.run(("ip", family, "route", "show", "dev", device)).splitlines():
                    words = route.replace(" ".join(limits[0]), "").split() if limits[0] else route.split()
                    self.place.run(("ip", family, "route", "change", *words, "dev", device, *limits[1]))
        for family, protocol in families.items() if before.mtu_silent != after.mtu_silent else ():
            rule = ("iif", "lo", "ipproto", protocol, "pref", "1", "blackhole")
            self.place.run(("ip", family, "rule", "add" if after.mtu_silent else "del", *rule))

    @contextmanager
    def _start_ferry(self, order: str, folder: Path) -> Iterator[Process]:
        file = folder / "ferry.json"
        file.write_text(order)
        command = (*module("priolab.netem.ferry"), str(file))
        with self.place.start(_FERRY, command, folder / "output.log") as ferry:
            wait_until(self.ask.exists, _FERRY_READY_S, ferry.check_alive, _FERRY)
            yield ferry

    def _lack_of_netem(self) -> str | None:
        try:
            for command in TRIAL:
                self.place.run(command)
        except StepFailed as error:
            return lack_of_netem(error.reason)
        return None


class _Changer:
    """Changes a link, and the limit of its packets."""

    def __init__(self, shaped: LinkChanger, set_mtu: Callable[[Link, Link], None]) -> None:
        self._shaped = shaped
        self._set_mtu = set_mtu

    @property
    def link(self) -> Link:
        """The link as it is."""
        return self._shaped.link

    def change(self, link: Link) -> None:
        """Makes the link another one."""
        before = self.link
        self._shaped.change(link)
        self._set_mtu(before, link)


def _as_step(act: Callable[[_Given], _Got]) -> Callable[[_Given], _Got]:
    """Wraps a function so that it raises StepFailed in place of OSError and RuntimeError."""

    def acted(given: _Given) -> _Got:
        try:
            return act(given)
        except (OSError, RuntimeError) as error:
            raise StepFailed("a change of the link", str(error)) from error

    return acted


def _soonest(*looks: Look) -> Look:
    """Joins periodic functions into one, which calls all of them and returns the earliest time that they return."""

    def look(now_ns: int) -> int | None:
        times_ns = [each(now_ns) for each in looks]
        return min((at_ns for at_ns in times_ns if at_ns is not None), default=None)

    return look


def _nothing_to_check() -> None:
    """Does nothing. Stands for the check that the shaper runs: a shaper in the kernel cannot end."""
