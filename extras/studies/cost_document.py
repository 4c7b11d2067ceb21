"""The marked places of docs/measured/cost.md. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from priolab.analysis.reports.markdown import Table
from priolab.common.amounts import UNKNOWN, rate
from priolab.common.plural import counted
from priolab.experiments.execution.cli_request import joined_words
from priolab.extras.studies.cost_grid import ALWAYS, Compared, Network, Price, compared, law, law_of_whole_buffers
from priolab.extras.studies.processor import RATE, Spending

_KIB = 1024
_LOST = 0.01
"""The part of the goodput from which on a loss is listed."""

LAWFUL = "nginx"
"""The server that fills whole packet buffers, as the law assumes."""


def places(found: Sequence[Price]) -> dict[str, str]:
    """Returns the marked places that the grid in the guest fills. found: with the prices with LOWAT unset."""
    known = compared(found)
    servers = list(dict.fromkeys(each.server for each in found))
    errors = [abs(error(each)) for each in known if each.price.server == LAWFUL and each.fills]
    return {
        "runs": str(len(found)),
        "always": f"`{joined_words(ALWAYS)}`",
        "networks": _networks(dict.fromkeys(each.network for each in found)).markdown(),
        "values": _values(found, known, servers).markdown(),
        "lost": _lost(known),
        "first-bytes": _first_bytes(found, servers).markdown(),
        "law": _law(known).markdown(),
        "law-error": f"{median(errors):.0%} in the median, and {max(errors):.0%} at most",
    }


def processor_places(spending: Spending | str) -> dict[str, str]:
    """Returns the marked places about processor time. spending: the measurements, or why there are none."""
    names = ("processor-rate", "processor-repeat", "processor-load", "processor")
    if isinstance(spending, str):
        return {**dict.fromkeys(names, UNKNOWN), "processor": f"Not measured: {spending}."}
    points = list(spending.by_point)
    lowats = list(dict.fromkeys(point.lowat for point in points if point.lowat is not None))
    rows = [
        (
            unset.server,
            f"{unset.connections:,}",
            rate(spending.goodput_bit_s(unset)),
            f"{spending.cpu_ms(unset):.2f} ms",
            *(f"{spending.ratio(replace(unset, lowat=lowat)):.2f}" for lowat in lowats),
        )
        for unset in points
        if unset.lowat is None
    ]
    head = ("server", "connections:", "goodput, unset:", "per MB, unset:", *(f"{short(lowat)}:" for lowat in lowats))
    repeat = {len(found) for found in spending.by_point.values()}
    texts = (
        f"`{RATE}`",
        "/".join(map(str, repeat)),
        f"{spending.load:.1f} on {counted(spending.processors, 'processor')}",
        Table(head=head, rows=tuple(rows)).markdown(),
    )
    return dict(zip(names, texts, strict=True))


def error(of: Compared) -> float:
    """Returns how far the wake-ups are beyond the two forms of the law, as a part of the nearer one; 0 between them."""
    low, high = law_of_whole_buffers(of.lowat), law(of.lowat)
    measured = of.price.wakeups_per_mb
    return measured / min(max(measured, low), high) - 1


def short(lowat: int | None) -> str:
    """Returns a LOWAT in KiB, such as 16K."""
    return "unset" if lowat is None else f"{lowat // _KIB}K"


def _networks(networks: Iterable[Network]) -> Table:
    """Makes a line for each rate: QUEUE for each round trip, and the knobs that depend on the rate alone."""
    by_rate: dict[int, list[Network]] = {}
    for each in networks:
        by_rate.setdefault(each.rate_bit_s, []).append(each)
    rows = [
        (
            rate(rate_bit_s),
            ", ".join(f"{each.round_trip_ms} ms: {each.knobs()['QUEUE']}" for each in of),
            *(of[0].knobs().get(name, "4M") for name in ("SIZE", "SNDBUF")),
        )
        for rate_bit_s, of in by_rate.items()
    ]
    return Table(head=("rate", "QUEUE by round trip", "SIZE:", "SNDBUF:"), rows=tuple(rows))


def _values(found: Sequence[Price], known: Sequence[Compared], servers: Sequence[str]) -> Table:
    """Makes a line for each server and LOWAT: medians over the networks, with the least and the most."""
    rows = []
    for server in servers:
        own = [each for each in found if each.server == server]
        for lowat in dict.fromkeys(each.lowat for each in own):
            fixed = [each for each in known if each.price.server == server and each.lowat == lowat]
            wakeups = _span((each.wakeups_per_mb for each in own if each.lowat == lowat), 1)
            parts = [each.first_byte for each in fixed], [each.memory for each in fixed]
            shares = ["100%", "100%"] if lowat is None else [_percent(part) for part in parts]
            lost = UNKNOWN if lowat is None else f"{max(0.0, *(each.lost for each in fixed)):.1%}"
            rows.append((server, short(lowat), shares[0], wakeups, lost, shares[1]))
    head = ("server", "LOWAT:", "script first byte, of unset:", "wake-ups per MB:", "goodput lost, at most:")
    return Table(head=(*head, "send buffer, of unset:"), rows=tuple(rows))


def _lost(known: Sequence[Compared]) -> str:
    lost = sorted((each for each in known if each.lost >= _LOST), key=lambda each: -each.lost)
    if not lost:
        return f"No value costs {_LOST:.0%} of the goodput in any network."
    by_point: dict[tuple[str, str], list[str]] = {}
    for each in lost:
        point = each.price.server, str(each.price.network)
        by_point.setdefault(point, []).append(f"{short(each.lowat)} {each.lost:.1%}")
    rows = tuple((*point, ", ".join(told)) for point, told in by_point.items())
    return Table(head=("server", "rate, round trip", "goodput lost"), rows=rows).markdown()


def _first_bytes(found: Sequence[Price], servers: Sequence[str]) -> Table:
    lowats = list(dict.fromkeys(each.lowat for each in found))
    by_point = {(each.network, each.server, each.lowat): f"{each.first_byte_ms:.0f}" for each in found}
    rows = [
        (str(network), server, *(by_point[network, server, lowat] for lowat in lowats))
        for network in dict.fromkeys(each.network for each in found)
        for server in servers
    ]
    return Table(head=("rate, round trip", "server", *(f"{short(lowat)}:" for lowat in lowats)), rows=tuple(rows))


def _law(known: Sequence[Compared]) -> Table:
    """Makes a line for each LOWAT: the law's two forms, and the wake-ups of LAWFUL in each network."""
    own = [each for each in known if each.price.server == LAWFUL]
    fills = {each.price.network: each.fills for each in own}
    rows = [
        (
            short(lowat),
            f"{law(lowat):.1f}",
            f"{law_of_whole_buffers(lowat):.1f}",
            *(f"{each.price.wakeups_per_mb:.1f}" for each in own if each.lowat == lowat),
        )
        for lowat in dict.fromkeys(each.lowat for each in own)
    ]
    names = (f"{network}{'' if filled else ' (not filled)'}:" for network, filled in fills.items())
    return Table(head=("LOWAT:", "law:", "whole buffers:", *names), rows=tuple(rows))


def _percent(parts: Iterable[float]) -> str:
    return f"{median(parts):.0%}"


def _span(values: Iterable[float], digits: int) -> str:
    """Returns the median of some values and, if they differ, the least and the most."""
    ordered = sorted(values)
    middle, least, most = (f"{value:.{digits}f}" for value in (median(ordered), ordered[0], ordered[-1]))
    return middle if least == most else f"{middle} ({least} to {most})"
