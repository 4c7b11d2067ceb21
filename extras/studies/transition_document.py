"""Writes transition.md: what browsers ask for, and what a site loses when its front moves to RFC 9218. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from priolab.analysis.loads.verdict import NO_ORDER
from priolab.analysis.reports.markdown import filled, head, row

_TREE, _FIELD = "RFC 7540", "RFC 9218"
_UNSET = "none"

_INTRODUCTION = (
    "Servers are moving from the priorities of RFC 7540, weights and dependencies in HEADERS and PRIORITY frames, to"
    " those of RFC 9218, the header field `priority` and PRIORITY_UPDATE frames. A front that moves does not only read"
    " other bytes: a browser that sends both kinds of signals need not ask for the same order in both. This page shows"
    " what today's browsers send, and what becomes of two pages when their front moves."
)
_MADE = (
    "`make transition` makes this page, figures in sentences included. Each row of the later tables is one run in the"
    " guest over the default link, 128 kB/s and 300 ms, and shows the third load of the page. The browsers are"
    " headless, with an empty cache; the lab changes none of their settings for priorities. The signals are read from"
    " the frames that the browsers sent (client/browser.json in each run). Two runs of a browser are not equal"
    " ([chromium.md](../guide/chromium.md)), so a difference of some tenths of a second between two rows may be chance."
)
_SENT = (
    "`PAGE=signals` has a style sheet, a script, a picture and a `fetch()`, each without a hint, with"
    ' `fetchpriority="high"`, and with `fetchpriority="low"` (for `fetch()` the option `priority`). *Then* are frames'
    " that the browser sent later for the same request. No entry in a column means that the browser sent nothing. By"
    " RFC 7540 a request without a weight has weight 16, and depends on the root."
)
_LOST = (
    "*Reads* are the priorities that the front follows ([matrix.md](matrix.md)). *First* is the first byte of the"
    " important resource that the ledger follows; *complete* is the last byte of all important resources; *others* is"
    " the last byte of the other resources. All times count from the request of the page."
)


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


def document(
    sent: Mapping[str, Sent], fronts: Sequence[Front], arms: Mapping[Case, Mapping[str, Any]], pages: Sequence[str]
) -> str:
    """Returns the text of docs/measured/transition.md.

    sent: by CLIENT. arms: the arms of the summaries. pages: the pages' names, in the order of their sections.
    """
    lines = ["# From RFC 7540 to RFC 9218, with today's browsers", "", filled(_INTRODUCTION), "", filled(_MADE), ""]
    lines += ["## What the browsers send", "", filled(_SENT), ""]
    for client, each in sent.items():
        lines += [*_signals(client, each), ""]
    for page in pages:
        lines += [f"## What `{page}` loses", "", *([filled(_LOST), ""] if page == pages[0] else [])]
        for client in sent:
            told = _told(page, client, sent[client].browser["product"], fronts, arms)
            lines += [*(f"- {filled(each, '  ')}" for each in told)]
        lines += ["", *_table(page, sent, fronts, arms), ""]
    return "\n".join(lines).rstrip() + "\n"


def _signals(client: str, sent: Sent) -> Iterable[str]:
    browser = sent.browser
    yield f"### {browser['product']} (`CLIENT={client}`)"
    yield ""
    yield from head("resource", "RFC 7540, in HEADERS", "RFC 9218, header field", "then")
    for request in _first_load(browser):
        field = f"`{request['field']}`" if request["field"] else ""
        yield row([_called(request), _position(request), field, "; ".join(map(_later, request["later"]))])
    yield ""
    said = "sends" if browser["no_rfc7540_priorities"] else "does not send"
    yield filled(
        f"The browser {said} SETTINGS_NO_RFC7540_PRIORITIES. In both loads together it sent {_frames(browser)}. To a"
        f" front that sends SETTINGS_NO_RFC7540_PRIORITIES=1 it sent {_frames(sent.told)}; in the HEADERS to that front"
        f" it {_still(sent.told)}. A stream's flow-control window is {browser['stream_window_bytes'] // 2**10} KiB."
    )


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


def _table(
    page: str, clients: Iterable[str], fronts: Sequence[Front], arms: Mapping[Case, Mapping[str, Any]]
) -> Iterable[str]:
    yield from head("browser", "front", "reads", "LOWAT", "verdict", "first:", "complete:", "others:")
    for client in clients:
        for front in fronts:
            for case, arm in arms.items():
                if (case.page, case.client, case.server) == (page, client, front.server):
                    times = ("first_byte_ms", "important_last_byte_ms", "others_last_byte_ms")
                    lowat = "unset" if case.lowat == _UNSET else case.lowat
                    named = [f"`{client}`", f"`{front.server}`", front.reads, lowat, _verdict(arm)]
                    yield row([*named, *(_s(arm[name]) for name in times)])


def _verdict(arm: Mapping[str, Any]) -> str:
    return f"{arm['verdict']}{': asked for no order' if arm['verdict_reason'] == NO_ORDER else ''}"


def _told(
    page: str, client: str, product: str, fronts: Sequence[Front], arms: Mapping[Case, Mapping[str, Any]]
) -> Iterable[str]:
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
        f"with LOWAT {'unset' if lowat == _UNSET else f'at {lowat}'} after {_s(before)} at the fronts that read"
        f" {_TREE}, and after {_s(after)} at those that read {_FIELD}"
        for lowat, (before, after) in by_lowat.items()
    ]
    yield f"With {product} the important resources are complete {'; '.join(words)} (medians)."
    for front in fronts:
        if front.moved_from is None:
            continue
        moves = [
            f"from {_s(ends[front.moved_from, lowat])} to {_s(ends[front.server, lowat])}"
            f" with LOWAT {'unset' if lowat == _UNSET else f'at {lowat}'}"
            for lowat in by_lowat
        ]
        yield f"`{front.moved_from}` to `{front.server}`, {product}: complete {', '.join(moves)}."


def _s(time_ms: float) -> str:
    return f"{time_ms / 1000:.2f} s"
