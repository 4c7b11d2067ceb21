"""Draws deviations for `make lies`: what is changed in a run, in which place, and when. A seed decides them. Pure."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from priolab.proxy.server import server_of

ADDRESSES = {"client": "198.18.0.2", "link": "198.18.0.1", "front": "198.18.1.2", "origin": "198.18.2.2"}
_DEVICES = {"client": ("wire",), "link": ("to-front",), "front": ("wire", "to-origin"), "origin": ("wire",)}
_ROUTES = {
    "client": ("default via 198.18.0.1",),
    "front": ("default via 198.18.1.1", "198.18.2.0/24 dev to-origin proto kernel scope link src 198.18.2.1"),
    "origin": ("default via 198.18.2.1",),
}
_ENDS = ("client", "front", "origin")
_FIRST_S, _LAST_S = 4.0, 9.0
"""The measured load begins some four seconds after the link was made, and ends nine seconds after it or later."""
_HANDSHAKE_S = (4.0, 6.3)
"""The client connects in this time, and in the guest at a whole second."""
_SHORTEST_S, _LONGEST_S = 0.05, 2.0
_UNDO = "undo"
_PASSING = ("pause", "send", "hog")
"""Actions that end by themselves."""
_SOCKET, _IP, _TCP = 1, 0, 6
_SYSCTLS: Mapping[str, Sequence[str]] = {
    "tcp_sack": ("0",),
    "tcp_timestamps": ("0",),
    "tcp_window_scaling": ("0",),
    "tcp_wmem": ("4096 4096 8192", "4096 16384 65536", "4096 8388608 8388608"),
    "tcp_rmem": ("4096 4096 8192", "4096 16384 32768", "4096 65536 65536"),
    "tcp_notsent_lowat": ("1", "65536", "4294967295"),
    "tcp_slow_start_after_idle": ("0",),
    "tcp_early_retrans": ("0",),
    "tcp_moderate_rcvbuf": ("0",),
    "tcp_congestion_control": ("reno",),
    "tcp_ecn": ("0", "1"),
    "tcp_tso_win_divisor": ("1", "100"),
    "tcp_limit_output_bytes": ("4096", "16384"),
    "tcp_pacing_ss_ratio": ("10", "50"),
    "tcp_pacing_ca_ratio": ("10", "50"),
    "tcp_recovery": ("0",),
    "tcp_min_tso_segs": ("32",),
    "tcp_autocorking": ("0",),
    "tcp_rto_min_us": ("1000000",),
    "tcp_comp_sack_nr": ("0",),
    "tcp_adv_win_scale": ("4",),
    "tcp_base_mss": ("512",),
    "tcp_mtu_probing": ("2",),
    "tcp_reordering": ("30",),
    "tcp_no_metrics_save": ("0",),
    "tcp_dsack": ("0",),
    "tcp_frto": ("0",),
    "ip_no_pmtu_disc": ("1",),
    "tcp_shrink_window": ("1",),
}
_NOTHING = ("loss", "0%", "duplicate", "0%", "corrupt", "0%")
_SOCKET_OPTIONS: Sequence[tuple[int, int, Sequence[str]]] = (
    (_SOCKET, 7, ("4608", "65536")),  # SO_SNDBUF
    (_SOCKET, 8, ("2304", "32768")),  # SO_RCVBUF
    (_SOCKET, 12, ("6",)),  # SO_PRIORITY
    (_SOCKET, 47, ("20000", "60000", "100000")),  # SO_MAX_PACING_RATE
    (_IP, 1, ("16",)),  # IP_TOS
    (_IP, 10, ("0",)),  # IP_MTU_DISCOVER
    (_TCP, 1, ("0", "1")),  # TCP_NODELAY
    (_TCP, 2, ("300",)),  # TCP_MAXSEG
    (_TCP, 3, ("1",)),  # TCP_CORK
    (_TCP, 10, ("2000", "20000")),  # TCP_WINDOW_CLAMP
    (_TCP, 13, ("reno", "bbr")),  # TCP_CONGESTION
    (_TCP, 18, ("500",)),  # TCP_USER_TIMEOUT
    (_TCP, 25, ("1", "65536")),  # TCP_NOTSENT_LOWAT
    (_TCP, 37, ("50000", "300000")),  # TCP_TX_DELAY
)


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A change in a run. kind: for the table. place: the place that is entered. at_s: seconds after the link was made.

    for_s: seconds until it is restored; 0 for never. action: the words of tools/campaigns/liar.py. server, lowat: the
    knobs of the run.
    """

    kind: str
    place: str
    at_s: float
    for_s: float
    action: Sequence[str]
    server: str
    lowat: str

    @property
    def honest(self) -> str:
        """The name of the honest run with the same knobs."""
        return f"honest-{self.server}-{self.lowat}"

    def __str__(self) -> str:
        when = f"{self.at_s:.2f} s" + (f" for {self.for_s:.2f} s" if self.for_s else "")
        return f"{self.server}, LOWAT={self.lowat}: {when}, {self.place}: {' '.join(self.action)}"


_ONLY_OVER_TCP = ("a front that stalls", "other traffic")
"""Kinds that no check finds over HTTP/3 (docs/design.md, what is not checked where)."""


def draw(number: int, servers: Sequence[str], *, netem: bool) -> Deviation:
    """Returns the deviation with this number. netem: whether the link is made of netem's qdiscs."""
    chance = random.Random(number)
    kinds = [kind for kind in _KINDS if netem or kind not in _OF_NETEM]
    kind = kinds[number % len(kinds)]
    place, action = _KINDS[kind](chance, netem=netem)
    for_s = 0.0
    at_s = chance.choice((0.0, chance.uniform(0, _LAST_S), chance.uniform(_FIRST_S, _LAST_S)))
    if action[0] in _PASSING:
        at_s = chance.uniform(_FIRST_S, _LAST_S)
    elif kind == _RESTORED:
        at_s, for_s = chance.uniform(0, _LAST_S), _LONGEST_S * (_SHORTEST_S / _LONGEST_S) ** chance.random()
    elif kind == _IN_HANDSHAKE:
        at_s, for_s = chance.uniform(*_HANDSHAKE_S), chance.uniform(_SHORTEST_S, _LONGEST_S)
    if kind in _ONLY_OVER_TCP:
        servers = [name for name in servers if server_of(name).over_tcp]
    return Deviation(
        kind=kind,
        place=place,
        at_s=at_s,
        for_s=for_s,
        action=action,
        server=servers[chance.randrange(len(servers))],
        lowat=chance.choice(("16384", "none")),
    )


_Drawn = tuple[str, Sequence[str]]


def _of_link(chance: random.Random, **_: bool) -> _Drawn:
    delay = ("limit", chance.choice(("1000000", "40")), "delay", chance.choice(("299ms", "305ms", "150ms", "600ms")))
    rate = ("limit", chance.choice(("25", "10", "100")), "rate", chance.choice(("1000kbit", "1100kbit", "512kbit")))
    more = chance.choice(
        ((), ("loss", "1%"), ("duplicate", "2%"), ("corrupt", "1%"), ("reorder", "5%"), ("ecn", "loss", "0.5%"))
    )
    delays = chance.random() < 0.6
    if delays:
        where, options, before = (
            ("1:", "handle", "2:"),
            (*delay, *more),
            ("limit", "1000000", "delay", "300ms", *_NOTHING),
        )
    else:
        rest = ("loss", chance.choice(("5%", "20%"))) if chance.random() < 0.2 else ()
        where, options, before = ("2:", "handle", "3:"), (*rate, *rest), ("limit", "25", "rate", "1024kbit", *_NOTHING)
    change = ("tc", "qdisc", "change", "dev", "to-client", "parent", *where, "netem")
    return "link", ("run", *change, *options, _UNDO, *change, *before)


def _elsewhere(chance: random.Random, *, netem: bool) -> _Drawn:
    place = chance.choice(tuple(_DEVICES))
    device = chance.choice(_DEVICES[place])
    rate = chance.choice(("100kbit", "512kbit", "900kbit", "3mbit"))
    kinds: list[tuple[str, ...]] = [
        ("tbf", "rate", rate, "burst", "3000", "limit", "4000000"),
        ("pfifo", "limit", chance.choice(("1", "3", "1000"))),
    ]
    if netem:
        kinds += [
            ("netem", "delay", chance.choice(("5ms", "50ms", "200ms"))),
            ("netem", "loss", chance.choice(("1%", "5%"))),
            ("netem", "rate", rate),
            ("fq",),
            ("fq_codel", "target", "1ms", "interval", "10ms"),
        ]
    undo = (_UNDO, "tc", "qdisc", "del", "dev", device, "root")
    return place, ("run", "tc", "qdisc", "replace", "dev", device, "root", *chance.choice(kinds), *undo)


def _sysctl(chance: random.Random, **_: bool) -> _Drawn:
    name = chance.choice(tuple(_SYSCTLS))
    return chance.choice(_ENDS), ("file", f"/proc/sys/net/ipv4/{name}", chance.choice(_SYSCTLS[name]))


def _route(chance: random.Random, **_: bool) -> _Drawn:
    place = chance.choice(tuple(_ROUTES))
    metric = chance.choice(
        (
            "initcwnd 2",
            "initcwnd 60",
            "initrwnd 2",
            "rto_min 3s",
            "cwnd lock 4",
            "mtu lock 600",
            "advmss 400",
            "window 4000",
            "quickack 1",
            "congctl lock reno",
            "reordering 30",
            "ssthresh 5",
            "rtt 2s",
        )
    )
    route = chance.choice(_ROUTES[place])
    change = ("ip", "route", "change", *route.split())
    return place, ("run", *change, *metric.split(), _UNDO, *change)


def _device(chance: random.Random, **_: bool) -> _Drawn:
    place = chance.choice(tuple(_DEVICES))
    device = chance.choice((*_DEVICES[place], *(("to-client",) if place == "link" else ())))
    if chance.random() < 0.4:
        offload = chance.choice(("tso", "gso", "gro", "sg", "tx"))
        switch = ("ethtool", "-K", device, offload)
        now, before = ("on", "off") if offload == "gro" else ("off", "on")
        return place, ("run", *switch, now, _UNDO, *switch, before)
    name, value, before = chance.choice(
        (
            ("mtu", "576", "1500"),
            ("mtu", "1400", "1500"),
            ("mtu", "9000", "1500"),
            ("txqueuelen", "2", "1000"),
            ("gso_max_size", "4000", "65536"),
            ("gso_max_segs", "2", "65535"),
        )
    )
    change = ("ip", "link", "set", "dev", device, name)
    return place, ("run", *change, value, _UNDO, *change, before)


def _socket(chance: random.Random, **_: bool) -> _Drawn:
    level, option, values = chance.choice(_SOCKET_OPTIONS)
    return chance.choice(("front", *_ENDS)), ("socket", str(level), str(option), chance.choice(values))


def _stall(place: str) -> Callable[..., _Drawn]:
    def drawn(chance: random.Random, **_: bool) -> _Drawn:
        return place, ("pause", *chance.choice((("1", "1", "0"), ("1", "0.4", "0"), ("40", "0.2", "0.05"))))

    return drawn


def _acknowledgements(chance: random.Random, *, netem: bool) -> _Drawn:
    ways: list[tuple[str, ...]] = [
        ("tbf", "rate", chance.choice(("4kbit", "16kbit")), "burst", "1600", "limit", "100000")
    ]
    if netem:
        ways.append(("netem", "delay", chance.choice(("20ms", "100ms", "400ms"))))
    return "client", ("run", "tc", "qdisc", "add", "dev", "wire", "root", *chance.choice(ways))


def _traffic(chance: random.Random, **_: bool) -> _Drawn:
    place, to = chance.choice((("front", "client"), ("front", "client"), ("origin", "client")))
    return place, ("send", ADDRESSES[to], "100", chance.choice(("0.01", "0.05")))


def _hog(chance: random.Random, **_: bool) -> _Drawn:
    return chance.choice(_ENDS), ("hog", *chance.choice((("1", "1.5", "0"), ("10", "0.3", "0.1"))))


def _any(chance: random.Random, *, netem: bool) -> _Drawn:
    """Draws a setting that can be restored; every second time LOWAT, or what a handshake decides."""
    if chance.random() < 0.5:
        name = chance.choice(_OF_HANDSHAKES)
        return chance.choice(("client", "front")), ("file", f"/proc/sys/net/ipv4/{name}", chance.choice(_SYSCTLS[name]))
    kinds: list[Callable[..., _Drawn]] = [_elsewhere, _sysctl, _route, _device, _socket]
    kinds += [_of_link, _of_link] if netem else []
    return chance.choice(kinds)(chance, netem=netem)


_OF_HANDSHAKES = (
    *("tcp_notsent_lowat", "tcp_sack", "tcp_timestamps", "tcp_window_scaling", "tcp_ecn", "tcp_rmem", "tcp_wmem"),
    *("tcp_reordering", "tcp_congestion_control", "tcp_base_mss"),
)
_RESTORED, _IN_HANDSHAKE = "a setting, for a while", "a setting, during the handshake"
_KINDS: Mapping[str, Callable[..., _Drawn]] = {
    "an option of the link's qdiscs": _of_link,
    "a qdisc elsewhere": _elsewhere,
    "a sysctl of TCP": _sysctl,
    "a metric of a route": _route,
    "a setting of a device": _device,
    "an option of a live socket": _socket,
    "a slow path for acknowledgments": _acknowledgements,
    "an origin that stalls": _stall("origin"),
    "a client that reads slowly": _stall("client"),
    "other traffic": _traffic,
    "a program that takes the processor": _hog,
    "a front that stalls": _stall("front"),
    _RESTORED: _any,
    _IN_HANDSHAKE: _any,
}
_OF_NETEM = ("an option of the link's qdiscs",)
