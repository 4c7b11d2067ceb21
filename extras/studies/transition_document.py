"""The marked places of docs/measured/transition.md: what browsers ask for, and what a move to RFC 9218 costs. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from priolab.analysis.loads.verdict import NO_ORDER
from priolab.analysis.reports.markdown import Table, filled
from priolab.common.amounts import kibibytes

_TREE, _FIELD = "RFC 7540", "RFC 9218"
_UNSET = "none"
_SIGNALS_HEAD = ("resource", "RFC 7540: weight", "RFC 9218: header field", "then")
_SETTINGS = "SETTINGS_NO_RFC7540_PRIORITIES"
_FRAMES = "PRIORITY and PRIORITY_UPDATE frames"
_SENT_HEAD = ("browser", _SETTINGS, _FRAMES, f"told: {_FRAMES}", "told: HEADERS have", "window of a stream:")


@dataclass(frozen=True, kw_only=True)
class Front:
    """A front. reads: the RFC whose priorities it follows."""

    server: str
    reads: str


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
    found = {
        "sent": Table(head=_SENT_HEAD, rows=tuple(_said(client, each) for client, each in sent.items())).markdown(),
        "fronts": filled("; ".join(_reading(reads, fronts) for reads in (_TREE, _FIELD))),
    }
    for client, each in sent.items():
        requests = _first_load(each.browser)
        columns = len(_SIGNALS_HEAD) - (not any(request["later"] for request in requests))
        rows = tuple(_signal(request)[:columns] for request in requests)
        found[f"{client}-product"] = each.browser["product"]
        found[f"{client}-signals"] = Table(head=_SIGNALS_HEAD[:columns], rows=rows).markdown()
    lowats = tuple(dict.fromkeys(case.lowat for case in arms))
    named = [f"LOWAT{' unset' if lowat == _UNSET else f'={lowat}'}" for lowat in lowats]
    medians = [(page, client, *_medians(page, client, lowats, fronts, arms)) for page in pages for client in sent]
    head = (f"{name}, {reads}:" for name in named for reads in (_TREE, _FIELD))
    found["medians"] = Table(head=("page", "browser", *head), rows=tuple(medians)).markdown()
    head = (each for name in named for each in (name, "first:", "complete:", "others:"))
    page_head = ("browser", "front", *head)
    for page in pages:
        rows = tuple(
            (f"`{client}`", f"`{front.server}`", *_cells(arms, page, client, front, lowats))
            for client in sent
            for front in fronts
        )
        found[page] = Table(head=page_head, rows=rows).markdown()
    return found


def _reading(reads: str, fronts: Iterable[Front]) -> str:
    return f"{reads}: {', '.join(f'`{front.server}`' for front in fronts if front.reads == reads)}"


def _said(client: str, sent: Sent) -> tuple[str, ...]:
    browser = sent.browser
    settings = "sent" if browser["no_rfc7540_priorities"] else "not sent"
    frames = _frames(browser), _frames(sent.told)
    return f"`{client}`", settings, *frames, _still(sent.told), kibibytes(browser["stream_window_bytes"])


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
    parent = said["depends_on"] or (f"stream {said['parent_stream_id']}" if said["parent_stream_id"] else "")
    on = f", on {parent}" if parent else ""
    return f"{said['weight']}{', exclusive' if said['exclusive'] else ''}{on}"


def _later(said: Mapping[str, Any]) -> str:
    return f"PRIORITY_UPDATE `{said['field']}`" if said["field"] is not None else f"PRIORITY weight {_position(said)}"


def _still(told: Mapping[str, Any]) -> str:
    """Returns what the browser sends once it knows the front's SETTINGS; the first request may come before them."""
    later = [request for request in told["requests"] if request["load"] > 1]
    if any(request["weight"] is not None for request in later):
        return "weights"
    return "no weights" if any(request["field"] is not None for request in later) else "no weights, no header field"


def _frames(browser: Mapping[str, Any]) -> str:
    return " and ".join(f"{browser['frames_sent'].get(kind, 0)}" for kind in ("PRIORITY", "PRIORITY_UPDATE"))


def _cells(
    arms: Mapping[Case, Mapping[str, Any]], page: str, client: str, front: Front, lowats: Iterable[str]
) -> Iterator[str]:
    """Yields the verdict and the times in seconds, for each LOWAT."""
    for lowat in lowats:
        arm = arms[Case(page=page, client=client, server=front.server, lowat=lowat)]
        yield "no order" if arm["verdict_reason"] == NO_ORDER else str(arm["verdict"])
        for name in ("first_byte_ms", "important_last_byte_ms", "others_last_byte_ms"):
            yield f"{arm[name] / 1000:.2f}"


def _medians(
    page: str, client: str, lowats: Iterable[str], fronts: Iterable[Front], arms: Mapping[Case, Mapping[str, Any]]
) -> Iterator[str]:
    """Yields in seconds, for each LOWAT, the median last byte of the important resources at the fronts of each RFC."""
    for lowat in lowats:
        for reads in (_TREE, _FIELD):
            of = [
                Case(page=page, client=client, server=each.server, lowat=lowat)
                for each in fronts
                if each.reads == reads
            ]
            yield f"{median(arms[case]['important_last_byte_ms'] for case in of) / 1000:.2f}"
