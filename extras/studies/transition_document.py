"""The marked places of docs/measured/transition.md: what browsers ask for, and what a move to RFC 9218 costs. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from priolab.analysis.loads.verdict import NO_ORDER
from priolab.analysis.reports.markdown import Table, filled
from priolab.common.amounts import kibibytes, seconds

_TREE, _FIELD = "RFC 7540", "RFC 9218"
_UNSET = "none"
_SIGNALS_HEAD = ("resource", "RFC 7540, in HEADERS", "RFC 9218, header field", "then")
_PAGE_HEAD = ("browser", "front", "reads", "LOWAT", "verdict", "first:", "complete:", "others:")


@dataclass(frozen=True, kw_only=True)
class Front:
    """A front. reads: the RFC whose priorities it follows. moved_from: the same server's version that follows RFC 7540.

    moved_from is None if the server has no such version, or is one.
    """

    server: str
    reads: str
    moved_from: str | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row: the page, the browser, the front's server and LOWAT."""

    page: str
    client: str
    server: str
    lowat: str


@dataclass(frozen=True, kw_only=True)
class Sent:
    """The signals of a browser.

    browser: the content of browser.json with a front that sends no SETTINGS about priorities. told: the same
    with a front that sends SETTINGS_NO_RFC7540_PRIORITIES=1.
    """

    browser: Mapping[str, Any]
    told: Mapping[str, Any]


def places(
    sent: Mapping[str, Sent], fronts: Sequence[Front], arms: Mapping[Case, Mapping[str, Any]], pages: Sequence[str]
) -> dict[str, str]:
    """Returns the marked places. sent: by CLIENT. arms: the arms of the summaries. pages: the pages' names."""
    found = {f"{client}-{place}": text for client, each in sent.items() for place, text in _signals(each)}
    for page in pages:
        told = (each for client in sent for each in _told(page, client, sent[client].browser["product"], fronts, arms))
        found[f"{page}-moves"] = "\n".join(filled(f"- {each}", hanging="  ") for each in told)
        found[page] = Table(head=_PAGE_HEAD, rows=tuple(_rows(page, sent, fronts, arms))).markdown()
    return found


def _signals(sent: Sent) -> Iterator[tuple[str, str]]:
    """Yields the places about a browser's signals: their names, and their texts."""
    browser = sent.browser
    yield "product", browser["product"]
    yield "signals", Table(head=_SIGNALS_HEAD, rows=tuple(map(_signal, _first_load(browser)))).markdown()
    yield "settings", "sends" if browser["no_rfc7540_priorities"] else "does not send"
    yield "frames", _frames(browser)
    yield "told-frames", _frames(sent.told)
    yield "told", _still(sent.told)
    yield "window", kibibytes(browser["stream_window_bytes"])


def _signal(request: Mapping[str, Any]) -> tuple[str, ...]:
    field = f"`{request['field']}`" if request["field"] else ""
    return (_called(request), _position(request), field, "; ".join(map(_later, request["later"])))


def _first_load(browser: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the requests of the first load, in the order of kind and hint."""
    requests = [request for request in browser["requests"] if request["load"] == 1]
    kinds = ("page", "style", "script", "image", "fetch")
    return sorted(requests, key=lambda each: (kinds.index(each["resource"].partition("-")[0]), each["resource"]))


def _called(request: Mapping[str, Any]) -> str:
    kind, _, hint = request["resource"].partition("-")
    return f"{kind}, {hint}" if hint else kind


def _position(said: Mapping[str, Any]) -> str:
    if said["weight"] is None:
        return ""
    on = said["depends_on"] or (f"stream {said['parent_stream_id']}" if said["parent_stream_id"] else "the root")
    return f"weight {said['weight']}{', exclusive' if said['exclusive'] else ''}, on {on}"


def _later(said: Mapping[str, Any]) -> str:
    return f"PRIORITY_UPDATE `{said['field']}`" if said["field"] is not None else f"PRIORITY {_position(said)}"


def _still(told: Mapping[str, Any]) -> str:
    """Returns what the browser does once it knows the front's SETTINGS; the first request may come before them."""
    later = [request for request in told["requests"] if request["load"] > 1]
    if any(request["weight"] is not None for request in later):
        return "still sends weights"
    if any(request["field"] is not None for request in later):
        return "sends no weights"
    return (
        "sends neither weights nor header fields once it has these SETTINGS. So it asks such a front for no order, and"
        " the tables below say so"
    )


def _frames(browser: Mapping[str, Any]) -> str:
    numbers = (f"{browser['frames_sent'].get(kind, 0) or 'no'} {kind}" for kind in ("PRIORITY", "PRIORITY_UPDATE"))
    return f"{' and '.join(numbers)} frames"


def _rows(
    page: str, clients: Iterable[str], fronts: Sequence[Front], arms: Mapping[Case, Mapping[str, Any]]
) -> Iterator[tuple[str, ...]]:
    for client in clients:
        for front in fronts:
            for case, arm in arms.items():
                if (case.page, case.client, case.server) == (page, client, front.server):
                    times = ("first_byte_ms", "important_last_byte_ms", "others_last_byte_ms")
                    lowat = "unset" if case.lowat == _UNSET else case.lowat
                    named = (f"`{client}`", f"`{front.server}`", front.reads, lowat, _verdict(arm))
                    yield (*named, *(seconds(arm[name]) for name in times))


def _verdict(arm: Mapping[str, Any]) -> str:
    return f"{arm['verdict']}{': asked for no order' if arm['verdict_reason'] == NO_ORDER else ''}"


def _told(
    page: str, client: str, product: str, fronts: Sequence[Front], arms: Mapping[Case, Mapping[str, Any]]
) -> Iterator[str]:
    """Yields the sentences about a page and a browser, with figures from the arms."""
    ends = {
        (case.server, case.lowat): arm["important_last_byte_ms"]
        for case, arm in arms.items()
        if (case.page, case.client) == (page, client)
    }
    by_lowat = {}
    for lowat in dict.fromkeys(lowat for _, lowat in ends):
        by_lowat[lowat] = [
            median(ends[front.server, lowat] for front in fronts if front.reads == reads) for reads in (_TREE, _FIELD)
        ]
    words = [
        f"with LOWAT {'unset' if lowat == _UNSET else f'at {lowat}'} after {seconds(before)} at the fronts that read"
        f" {_TREE}, and after {seconds(after)} at those that read {_FIELD}"
        for lowat, (before, after) in by_lowat.items()
    ]
    yield f"With {product} the important resources are complete {'; '.join(words)} (medians)."
    for front in fronts:
        if front.moved_from is None:
            continue
        moves = [
            f"from {seconds(ends[front.moved_from, lowat])} to {seconds(ends[front.server, lowat])}"
            f" with LOWAT {'unset' if lowat == _UNSET else f'at {lowat}'}"
            for lowat in by_lowat
        ]
        yield f"`{front.moved_from}` to `{front.server}`, {product}: complete {', '.join(moves)}."
