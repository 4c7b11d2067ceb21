"""The places of a sandbox as namespaces, with the wires and the links between them.

    client ==== link ---- server

With further places, or a link of the server's, each place is behind a link of its own, or without knobs on a wire:

    client ==== link ---- router ---- server
                             |
     phone ==== link --------+

A link is the same in both pictures: its place routes, and shapes packets toward its end and from it.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from priolab.netem.shaper_kind import Shaper
from priolab.testbed.sandbox.spec import CLIENT, SERVER, SandboxSpec
from priolab.testbed.topology import pair, rtnetlink
from priolab.testbed.topology.active import ActiveLink
from priolab.testbed.topology.link_namespace import LinkNamespace
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.wiring import ADDRESSES, TO_CLIENT, TO_FRONT, WIRE, ipv6_of, wire

_QUIET_S = 0.25
"""The time in which devices of IPv6 have reported their multicast groups: some ticks of the kernel."""


class Network:
    """The places and links. A context manager, whose exit removes them. places: by their names."""

    def __init__(self, spec: SandboxSpec, usual: Shaper | None, folder: Path) -> None:
        """usual: the shaper for a link without a trace; None to look for netem. folder: for files of the links."""
        self._spec = spec
        self._usual = usual
        self._folder = folder
        self.places: dict[str, Namespace] = {}
        self.links: dict[str, Namespace] = {}
        """The namespaces of the links, by the names of their places."""
        self._router: Namespace | None = None
        self._before: dict[str, tuple[int, int]] = {}
        """The bytes that arrived at the places and that came from them, before anything used the links."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._make(stack)
            if self._spec.ipv6:
                time.sleep(_QUIET_S)
                self._before = {name: (self.arrived_bytes(name), self.sent_bytes(name)) for name in self.places}
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _make(self, stack: ExitStack) -> None:
        def made(name: str, *, forwards: bool = False) -> Namespace:
            return stack.enter_context(Namespace(name, forwards=forwards))

        spec = self._spec
        self.places[CLIENT] = made(CLIENT)
        self.links[CLIENT] = made("link", forwards=True)
        self.places[SERVER] = made(SERVER)
        if spec.is_pair:
            ends = self.places[CLIENT], self.links[CLIENT], self.places[SERVER]
            pair.join(*ends, ipv6=spec.ipv6, as_the_kernel_has_it=True)
            return
        self.places |= {name: made(name) for name in spec.places}
        self.links |= {name: made(f"link of {name}", forwards=True) for name in spec.links}
        self._router = made("router", forwards=True)
        every, forwarding = [*self.places.values()], [*self.links.values(), self._router]
        pair.prepare(every, forwarding, every, ipv6=spec.ipv6, as_the_kernel_has_it=True)
        for name, address in spec.addresses.items():
            self._connect(self._router, name, address)

    def _connect(self, router: Namespace, name: str, own: str) -> None:
        """Wires a place to the router, or to its link and this to the router. own: its address."""
        number, ipv6 = self._spec.numbers[name], self._spec.ipv6
        near, mac = f"198.18.{number}.1", number << 8
        link = self.links.get(name)
        if link is None:
            wire(router, _toward(number), near, self.places[name], own, mac, ipv6=ipv6)
            return
        wire(link, TO_CLIENT, near, self.places[name], own, mac, ipv6=ipv6)
        middle, behind = f"198.19.{number}.1", f"198.19.{number}.2"
        wire(router, _toward(number), middle, link, behind, mac + 2, wire=TO_FRONT, ipv6=ipv6)
        router.tell(rtnetlink.route(own, 24, behind))
        if ipv6:
            router.tell(rtnetlink.route(ipv6_of(own), 64, ipv6_of(behind)))

    @contextmanager
    def shaping(self) -> Iterator[Mapping[str, ActiveLink]]:
        """Shapes the links; yields them by the names of their places. Raises StepFailed and Unavailable."""
        spec = self._spec
        with ExitStack() as stack:
            active = {}
            for name, link in self.links.items():
                folder = self.folder(name)
                if name != CLIENT:
                    folder.mkdir(parents=True)
                shaped = LinkNamespace(link, self._usual, folder / "ferry", ipv6=spec.ipv6).shaping(
                    spec.ways[name].link,
                    None,
                    seed=spec.seed + spec.numbers[name],
                    folder=folder,
                    interval_ns=spec.interval_ns,
                )
                active[name] = stack.enter_context(shaped)
            yield active

    def folder(self, name: str) -> Path:
        """Returns the folder for files of a place's link."""
        return self._folder if name == CLIENT else self._folder / "links" / name

    def arrived_bytes(self, name: str) -> int:
        """Returns the bytes of packets that arrived at a place."""
        return self.places[name].received(WIRE).bytes - self._before.get(name, (0, 0))[0]

    def sent_bytes(self, name: str) -> int:
        """Returns the bytes of packets that came from a place, at the other end of its link: the other place, or the
        router.
        """
        if self._router is None:
            return self.arrived_bytes(SERVER if name == CLIENT else CLIENT)
        return self._router.received(_toward(self._spec.numbers[name])).bytes - self._before.get(name, (0, 0))[1]


def _toward(number: int) -> str:
    return f"to-{number}"


def exercise() -> None:
    """Makes two places with a link, and uses it, as a sandbox would. Raises StepFailed and OSError."""
    with (
        Namespace(CLIENT) as client,
        Namespace("link", forwards=True) as link,
        Namespace(SERVER) as server,
        tempfile.TemporaryDirectory() as name,
    ):
        folder = Path(name)
        pair.join(client, link, server)
        shaped = LinkNamespace(link, Shaper.NETEM, folder / "ferry")
        with shaped.shaping(pair.WARM_UP, None, seed=0, folder=folder, interval_ns=None):
            pair.exchange(client, server, ADDRESSES.front)
