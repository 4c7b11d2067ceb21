"""Tests of loads of pages with many resources: verdict, bound, ledger, gaps, and records."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.analysis.loads.contradiction import Allowance
from priolab.analysis.loads.contradictions import contradictions
from priolab.analysis.loads.findings import findings
from priolab.analysis.loads.lateness import FIRST, IMPORTANT, lateness
from priolab.analysis.loads.lower_bound import bound, inversion
from priolab.analysis.loads.metrics import PageLoad, page_loads
from priolab.analysis.loads.verdict import Judgement, judge
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.formats.events import Arrival, Event, Kind
from priolab.common.formats.page import Chunk, Page
from priolab.common.formats.run import Findings, Verdict
from priolab.common.formats.samples import OriginRequest, QueueSample
from tests.support.builders import (
    MS,
    Pieces,
    asked_first,
    asking,
    load_of,
    maps,
    run,
    scenario,
    socket_sample,
)
from tests.support.pages import page_of_parts, part

IMPORTANT_ONES = ("style", "app")
OTHERS = ("photo", "movie", "icon")
PAGE = page_of_parts(
    part("html"),
    part("photo", after="html", urgency=5),
    part("movie", after="html", urgency=5),
    part("icon", after="html", urgency=5),
    part("style", after="html", urgency=1, important=True),
    part("app", after="html", urgency=1, important=True),
)
AVAILABLE_MS = {"html": 1, "photo": 50, "movie": 60, "icon": 70, "style": 100, "app": 200}


def made(others: Mapping[str, Pieces], important: Mapping[str, Pieces]) -> PageLoad:
    """Returns a load of PAGE with this payload."""
    return load_of(PAGE, {"html": [(40, 1000)], **others, **important}, AVAILABLE_MS)


SOON = {"style": [(400, 1000)], "app": [(500, 500), (900, 500)]}


def verdict(load: PageLoad, favoured: Sequence[str], one_way_ms: int = 0) -> Judgement:
    return judge(load, asked_first(load.page, favoured), one_way_ms * MS)


# --- the verdict -----------------------------------------------------------------------------------------------------


def test_kept() -> None:
    """The verdict is `kept` if each important resource is complete before the others.

    At most half of the others' bytes may arrive before its first byte. Of two that fare alike, the later one counts.
    """
    others: dict[str, Pieces] = {"photo": [(300, 1000)], "movie": [(450, 500), (2900, 500)], "icon": [(3000, 1000)]}
    told = verdict(made(others, SOON | {"style": [(390, 1000)]}), IMPORTANT_ONES)
    assert (told.verdict, told.focal) == (Verdict.KEPT, "app")
    assert told.reason == (
        "50% of the other resources arrived before the app's first byte;"
        " the app was complete 2.1 s before the other resources"
    )


def test_one_that_is_late_undoes_it() -> None:
    """The verdict is not `kept` if any important resource is complete after the others."""
    others: dict[str, Pieces] = {"photo": [(300, 1000)], "movie": [(2900, 1000)], "icon": [(3000, 1000)]}
    late: dict[str, Pieces] = {"style": [(120, 10), (3001, 990)], "app": SOON["app"]}
    told = verdict(made(others, late), IMPORTANT_ONES)
    assert (told.verdict, told.focal) == (Verdict.UNDECIDED, "style")
    assert told.reason.startswith("0% of the other resources arrived before the style's first byte; after that both")


def test_inverted() -> None:
    """The verdict is `inverted` if 90 % of the others' bytes arrive before the first byte of one important resource.

    That resource must be complete after the others. It does not count that the other important resource was in time.
    """
    others: dict[str, Pieces] = {"photo": [(300, 1000)], "movie": [(450, 1000)], "icon": [(480, 700), (600, 300)]}
    told = verdict(made(others, SOON | {"style": [(130, 1000)]}), IMPORTANT_ONES)
    assert (told.verdict, told.focal) == (Verdict.INVERTED, "app")
    assert told.reason == (
        "90% of the other resources arrived before the app's first byte, though the app was asked for first"
    )


def test_the_one_that_fares_worst() -> None:
    """A resource that waits for an inverted one, and then has the link to itself, does not hide the inverted one."""
    page = page_of_parts(
        part("html"),
        part("bulk", after="html", urgency=5),
        part("first", after="html", important=True, urgency=1),
        part("second", after="first", important=True, urgency=1),
    )
    payload: dict[str, Pieces] = {
        "html": [(40, 1000)],
        "bulk": [(300, 500), (9450, 500)],
        "first": [(9590, 1000)],
        "second": [(9900, 1000)],
    }
    load = load_of(page, payload, {"html": 1, "bulk": 50, "first": 830, "second": 9600})
    told = judge(load, asked_first(page, ("first", "second")), 0)
    assert (told.verdict, told.focal) == (Verdict.INVERTED, "first")
    assert told.reason == "100% of the bulk arrived before the first's first byte, though the first was asked for first"


def test_nothing_to_prioritize() -> None:
    """The verdict is `nothing-to-prioritize` if the others are complete before each important resource exists.

    The same holds if 95 % of the others' bytes have left the front by then. Otherwise complete ones do not count.
    """
    early: dict[str, Pieces] = {"photo": [(90, 1000)], "movie": [(95, 1000)], "icon": [(100, 1000)]}
    told = verdict(made(early, SOON), IMPORTANT_ONES)
    assert (told.verdict, told.reason, told.focal) == (
        Verdict.NOTHING,
        "the other resources were complete 0 ms before the origin had the style",
        "style",
    )
    leaving: dict[str, Pieces] = {"photo": [(90, 1000)], "movie": [(100, 1000)], "icon": [(200, 950), (400, 50)]}
    told = verdict(made(leaving, SOON), IMPORTANT_ONES, one_way_ms=100)
    assert (told.verdict, told.reason) == (
        Verdict.NOTHING,
        "95% of the icon had left the front before the origin had the style",
    )
    assert verdict(made(leaving, SOON), IMPORTANT_ONES, one_way_ms=99).verdict == Verdict.INVERTED


def test_resources_that_come_later() -> None:
    """A resource is not compared with one that waits for it, or that was requested when it was complete."""
    page = page_of_parts(
        part("html"),
        part("bulk", after="html", urgency=5),
        part("script", after="html", important=True, urgency=1),
        part("data", after="script", size_bytes=90_000, urgency=5),
    )
    payload: dict[str, Pieces] = {
        "html": [(40, 1000)],
        "bulk": [(300, 1000)],
        "script": [(400, 1000)],
        "data": [(900, 50_000), (9000, 40_000)],
    }
    load = load_of(page, payload, {"html": 1, "bulk": 50, "script": 100, "data": 500})
    told = judge(load, asked_first(page, ("script",)), 0)
    assert told.verdict == Verdict.INVERTED
    assert (
        told.reason == "100% of the bulk arrived before the script's first byte, though the script was asked for first"
    )
    afterwards = replace(load.resources["bulk"], requested_ns=450 * MS)
    resources = {**load.resources, "bulk": afterwards}
    told = judge(replace(load, resources=resources), asked_first(page, ("script",)), 0)
    assert (told.verdict, told.reason) == (
        Verdict.NOTHING,
        "the bulk was requested after the script came",
    )


def test_nothing_beside_it() -> None:
    """If nothing is loaded beside an important resource, there is no order to judge."""
    page = page_of_parts(part("html"), part("file", after="html", important=True))
    load = load_of(page, {"html": [(40, 1000)], "file": [(90, 1000)]}, {"html": 1, "file": 60})
    told = judge(load, asked_first(page, ("file",)), 0)
    assert (told.verdict, told.favoured) == (Verdict.UNDECIDED, False)
    assert told.reason == "nothing was loaded beside the file, so there is nothing to compare"


def test_important_without_an_order() -> None:
    """The word `important` asks for nothing: an important resource with the others' priority makes it `undecided`."""
    others: dict[str, Pieces] = {name: [(3000, 1000)] for name in OTHERS}
    told = verdict(made(others, SOON), ("app",))
    assert (told.verdict, told.focal) == (Verdict.UNDECIDED, "style")
    assert told.reason == (
        "the client asked for no order: its signals put the style neither before nor after the other resources"
    )


def test_no_order() -> None:
    """Without favoured resources the reason is that no order was asked for."""
    others: dict[str, Pieces] = {name: [(3000, 1000)] for name in OTHERS}
    assert verdict(made(others, SOON), ()).reason == "the client asked for no order"


def test_swapped() -> None:
    """If the others are asked for first, the verdict uses the first byte of the one that the origin had last."""
    others: dict[str, Pieces] = {"photo": [(300, 1000)], "movie": [(350, 1000)], "icon": [(380, 1000)]}
    late: dict[str, Pieces] = {"style": [(379, 500), (2380, 500)], "app": [(381, 1000)]}
    told = verdict(made(others, late), OTHERS)
    assert (told.verdict, told.focal, told.favoured) == (Verdict.KEPT, "style", False)
    assert told.reason == (
        "the other resources were asked for first: 50% of the style arrived before the icon's first byte;"
        " the other resources were complete 2.0 s before the style"
    )


_ANY = st.lists(st.tuples(st.integers(200, 999), st.integers(1, 99)), min_size=1).map(sorted)


@given(payload=st.fixed_dictionaries(dict.fromkeys((*OTHERS, *IMPORTANT_ONES), _ANY)))
def test_never_kept_both_ways(payload: dict[str, Pieces]) -> None:
    """No load keeps both an order and its opposite."""
    load = made({name: payload[name] for name in OTHERS}, {name: payload[name] for name in IMPORTANT_ONES})
    told = [verdict(load, IMPORTANT_ONES), verdict(load, OTHERS)]
    assert [each.verdict for each in told].count(Verdict.KEPT) <= 1


# --- times, bytes, gaps ----------------------------------------------------------------------------------------------


def test_the_focal_resource() -> None:
    """The focal resource is the important resource that the origin had last.

    Bytes of the others are counted before and during the focal resource.
    """
    others: dict[str, Pieces] = {"photo": [(300, 600), (600, 400)], "movie": [(500, 1000)], "icon": [(900, 1000)]}
    load = made(others, SOON)
    assert (load.focal.name, load.other_bytes_before, load.other_bytes_during) == ("app", 600, 2400)
    assert (load.important.size_bytes, load.others.size_bytes) == (2000, 3000)
    assert (load.important.first_byte_ns, load.others.last_byte_ns) == (400 * MS, 900 * MS)


def kept_of(load: PageLoad, page: str) -> dict[str, Any]:
    """Returns the load as run.json keeps it for this page."""
    kept: dict[str, Any] = run(loads=[load.as_record()], knobs={"PAGE": page}).record.as_document()["loads"][0]
    return kept


def stream_load(chunks: Sequence[Chunk], pieces: Pieces, name: str = "mine") -> PageLoad:
    size_bytes = sum(chunk.total_bytes for chunk in chunks)
    tokens = part("tokens", important=True, size_bytes=size_bytes, chunks=tuple(chunks))
    page = replace(page_of_parts(part("bulk"), tokens), name=name)
    return load_of(page, {"bulk": [(100, 1000)], "tokens": pieces}, {"bulk": 0, "tokens": 0})


def test_gaps_by_hand() -> None:
    """A chunk has arrived when its last byte has arrived; chunks that arrive together have the gap 0."""
    four = [Chunk(at_ns=0, size_bytes=10, every_ns=MS, count=3), Chunk(at_ns=9 * MS, size_bytes=20)]
    # The chunks end at 10, 20, 30 and 50 bytes: the second arrives at 140 ms, with the third.
    load = stream_load(four, [(100, 10), (120, 5), (140, 15), (141, 19), (200, 1)])
    # The gaps are 40, 0 and 60 ms: the 99th percentile lies between the two longest, 98 % of the way.
    told = kept_of(load, "news")["resources"]
    assert (told["tokens"]["gap_p50_ms"], told["tokens"]["gap_longest_ms"]) == (40, 60)
    assert told["tokens"]["gap_p99_ms"] == pytest.approx(59.6)
    assert not [key for key in told["bulk"] if key.startswith("gap")]


def test_gaps_of_few_pieces() -> None:
    """Two chunks have one gap. A single chunk has no gap, and neither has an incomplete response."""
    two = stream_load([Chunk(at_ns=0, size_bytes=4, every_ns=MS, count=2)], [(10, 4), (17, 4)])
    assert two.resources["tokens"].gaps_ms == {"gap_p50_ms": 7, "gap_p99_ms": 7, "gap_longest_ms": 7}
    assert stream_load([Chunk(at_ns=0, size_bytes=4)], [(10, 4)]).resources["tokens"].gaps_ms == {}
    short = stream_load([Chunk(at_ns=0, size_bytes=4, every_ns=MS, count=2)], [(10, 7)])
    assert short.resources["tokens"].gaps_ms == {}


# --- the bound -------------------------------------------------------------------------------------------------------

LINK = scenario(rate_bit_s=1_024_000, delay_ns=300 * MS, delay_up_ns=50 * MS)
BYTE_NS = 7812.5
ROUND_NS = 350 * MS


def test_the_bound_of_a_chain() -> None:
    """For each of three documents the bound has a round trip, the document's delay and its transmission."""
    page = page_of_parts(
        part("html", delay_ns=10 * MS),
        part("script", after="html", delay_ns=20 * MS),
        part("data", after="script", size_bytes=3000),
        part("tile", after="data", important=True, delay_ns=40 * MS),
        part("photo", after="html"),
    )
    limit = bound(page, page["tile"], LINK, Rate.of(LINK))
    small_ns, large_ns = round((1000 + 31 + 66) * BYTE_NS), round((3000 + 31 + 3 * 66) * BYTE_NS)
    assert limit.first_byte_ns == pytest.approx(
        4 * ROUND_NS + 70 * MS + 2 * small_ns + large_ns + round((1 + 31 + 66) * BYTE_NS), abs=10
    )
    assert limit.other_bytes == 1000  # the whole photo, which the origin has a second earlier


def test_the_bound_of_what_waits_for_nothing() -> None:
    """The bound of a resource without a document is a round trip, the delay and one packet.

    Bytes of the others may go first only while the focal resource is not available.
    """
    page = page_of_parts(
        part("a", size_bytes=10**6, delay_ns=100 * MS),
        part("b", size_bytes=10**6),
        part("c", important=True, delay_ns=300 * MS),
    )
    limit = bound(page, page["c"], LINK, Rate.of(LINK))
    assert limit.first_byte_ns == ROUND_NS + 300 * MS + round(98 * BYTE_NS)
    assert limit.other_bytes == 38_400 * 1448 // 1514
    # If the important resource is available before all others, none of their bytes may go first.
    sooner = page_of_parts(part("a", delay_ns=MS), part("c", important=True))
    assert bound(sooner, sooner["c"], LINK, Rate.of(LINK)).other_bytes == 0


def test_a_document_in_chunks_is_complete_with_its_last() -> None:
    """Resources that wait for a document in chunks are requested after its last chunk."""
    chunks = (Chunk(at_ns=0, size_bytes=500, every_ns=700 * MS, count=2),)
    page = page_of_parts(part("html", chunks=chunks), part("a", after="html"), part("b", after="html", important=True))
    assert bound(page, page["b"], LINK, Rate.of(LINK)).first_byte_ns == 2 * ROUND_NS + 700 * MS + round(98 * BYTE_NS)


def test_what_was_lost_against_it() -> None:
    """The inversion is the focal resource's delay beyond the bound, and the others' bytes beyond those of the bound."""
    others: dict[str, Pieces] = {"photo": [(300, 1000)], "movie": [(450, 1000)], "icon": [(3000, 1000)]}
    load = made(others, SOON)
    lost = inversion(
        load, replace(bound(PAGE, PAGE["app"], LINK, Rate.of(LINK)), first_byte_ns=400 * MS, other_bytes=600)
    )
    assert (lost.late_ns, lost.other_bytes) == (100 * MS, 1400)


# --- what was written down -------------------------------------------------------------------------------------------

_SCENARIO = scenario({"LOWAT": "16384", "RELOADS": "0"}, delay_up_ns=0)
ALLOWANCE = Allowance(rate=0.05, moment_ns=2 * MS, late_ns=40 * MS)
DOWN_MS, LOADED_MS = 300, 1000


def told_of(page: Page, came_ms: Mapping[str, Sequence[int]], favoured: Sequence[str] = ("b",)) -> Evidence:
    """Returns the logs of a load of the page.

    came_ms: for each resource the arrival times of its pieces, which have the same size. favoured: names of the
    resources that the client asks for first.
    """

    def event(t_ms: float, kind: str, name: str | None = None, **more: Any) -> Event:
        return Event(t_ns=round((LOADED_MS + t_ms) * MS), kind=Kind(kind), load=1, resource=name, **more)

    requests: list[OriginRequest] = []
    events = [event(0, "load-started")]
    position = 100
    for each in page.resources:
        asked_ms = came_ms[each.after][-1] if each.after else 0
        received_ns = (LOADED_MS + asked_ms) * MS
        available_ns = received_ns + each.first_ns
        requests.append(OriginRequest(path=each.path, received_ns=received_ns, available_ns=available_ns))
        events += [event(asked_ms, "request-sent", each.name), event(came_ms[each.name][0], "headers", each.name)]
        size_bytes = each.size_bytes // len(came_ms[each.name])
        for t_ms in came_ms[each.name]:
            record_ns = (LOADED_MS + t_ms) * MS
            events.append(event(t_ms, "data", each.name, size_bytes=size_bytes, record_ns=record_ns))
    events.append(event(max(times[-1] for times in came_ms.values()), "load-finished"))
    events.sort(key=lambda seen: seen.t_ns)
    for index, seen in enumerate(events):
        if seen.kind == "data":
            position += seen.size_bytes or 0
            events[index] = replace(seen, tcp_bytes=position)
    requests.sort(key=lambda request: request.received_ns)
    return Evidence(events=tuple(asking(favoured, events)), requests=tuple(requests), page=page)


_IDLE = QueueSample(t_ns=0, direction="down", packets=0, bytes=0, delay_line_packets=0, delay_line_bytes=0, dropped=0)


def contradicted(evidence: Evidence) -> list[str]:
    layers = Layers(sockets=(), queue=(_IDLE,), arrivals=())
    return [each.what for each in contradictions(evidence, layers, replace(_SCENARIO, plan="probe"), ALLOWANCE)]


_TWO = (part("a", after="html"), part("b", after="html", important=True, delay_ns=50 * MS))


def test_a_load_of_many_without_a_lie() -> None:
    """A consistent load with a chain of three requests has no contradiction."""
    page = page_of_parts(part("html"), *_TWO, part("c", after="b"))
    assert contradicted(told_of(page, {"html": [310], "a": [620], "b": [670], "c": [1000]})) == []


def test_a_late_document_is_told() -> None:
    """A document that arrives half a second late, alone on an empty link, is a contradiction."""
    page = page_of_parts(part("html"), *_TWO)
    told = contradicted(told_of(page, {"html": [860], "a": [1200], "b": [1300]}))
    assert told == ["time from the origin's response with the html in load 1 to the client"]


def test_a_document_in_chunks_is_not_late() -> None:
    """A document in chunks is not late if it is complete in time after its last chunk."""
    chunks = (Chunk(at_ns=0, size_bytes=500, every_ns=500 * MS, count=2),)
    page = page_of_parts(part("html", chunks=chunks), *_TWO)
    assert contradicted(told_of(page, {"html": [310, 810], "a": [1200], "b": [1300]})) == []


def test_a_document_that_shares_the_link_is_not_late() -> None:
    """A document is not late if another resource, requested at the same time, shares the link with it."""
    page = page_of_parts(part("html"), part("bulk", size_bytes=90_000), *_TWO)
    assert contradicted(told_of(page, {"html": [860], "bulk": [400, 850, 1100], "a": [1200], "b": [1300]})) == []


def test_headers_that_the_origin_sent_otherwise() -> None:
    """Headers alone are compared with the page's time, also if the origin sent them with the first byte."""
    events = part("c", after="b", headers_ns=30 * MS, delay_ns=2000 * MS)
    page = page_of_parts(part("html"), *_TWO, events)
    *earlier, late = told_of(page, {"html": [310], "a": [620], "b": [670], "c": [3000]}).requests
    honest = told_of(page, {"html": [310], "a": [620], "b": [670], "c": [3000]})
    for sent_ms, words in (
        (30, []),
        (0, ["how long the origin held the headers of the c in load 1 back"]),
        (900, ["how long the origin held the headers of the c in load 1 back"]),
        (None, ["how long the origin held the headers of the c in load 1 back"]),
        (2030, ["times of the origin for /c", "how long the origin held the headers of the c in load 1 back"]),
    ):
        headers_ns = None if sent_ms is None else late.received_ns + sent_ms * MS
        told = contradicted(replace(honest, requests=(*earlier, replace(late, headers_ns=headers_ns))))
        assert told == words, sent_ms


def test_resources_that_the_origin_served_otherwise() -> None:
    """A resource that the origin served with a wrong size, a wrong delay or too often is a contradiction."""
    page = page_of_parts(part("html"), *_TWO, part("c", after="b"))
    honest = told_of(page, {"html": [310], "a": [620], "b": [670], "c": [1000]})
    larger = page_of_parts(*(replace(each, size_bytes=1000 + (each.name == "c")) for each in page.resources))
    assert contradicted(replace(honest, page=larger)) == ["payload of the c in load 1"]
    slower = page_of_parts(*(replace(each, delay_ns=900 * MS * (each.name == "c")) for each in page.resources))
    told = contradicted(replace(honest, page=replace(slower, resources=(*page.resources[:3], slower.resources[3]))))
    assert told == ["how long the origin held the c in load 1 back"]
    assert contradicted(replace(honest, requests=(*honest.requests, honest.requests[-1]))) == [
        "requests for the c at the origin"
    ]


def late(evidence: Evidence) -> dict[str, float]:
    (load,) = page_loads(evidence)
    layers = Layers(sockets=(), queue=(), arrivals=(Arrival(t_ns=LOADED_MS * MS, tcp_bytes=100),))
    found = lateness(load, evidence, layers, replace(_SCENARIO, rate_bit_s=None))
    return {name: each.late_ns / MS for name, each in found.items()}


def test_lateness_of_many() -> None:
    """Lateness is measured for the focal resource (IMPORTANT), and for the first resource to arrive (FIRST).

    A document does not count as the first resource.
    """
    page = page_of_parts(part("html"), *_TWO)
    evidence = told_of(page, {"html": [300], "a": [607], "b": [660]})
    assert late(evidence) == {IMPORTANT: 0, FIRST: 7}
    assert late(told_of(page, {"html": [300], "a": [700], "b": [655]})) == {IMPORTANT: 0, FIRST: 5}


def test_lateness_behind_something_else() -> None:
    """The lateness of the first resource to arrive (FIRST) is not measured if a document arrived before the resource.

    This applies if the resource did not wait for the document.
    """
    page = page_of_parts(part("html"), part("a"), part("b", after="html", important=True))
    assert late(told_of(page, {"html": [300], "a": [800], "b": [900]})) == {IMPORTANT: 0}
    assert late(told_of(page, {"html": [400], "a": [303], "b": [900]})) == {IMPORTANT: 100, FIRST: 3}


def test_lateness_of_a_long_chain() -> None:
    """If a resource waits for a chain of two documents, lateness is not measured: the reasons may be too many."""
    page = page_of_parts(part("html"), part("data", after="html"), part("b", after="data", important=True), part("a"))
    assert late(told_of(page, {"html": [300], "data": [600], "b": [900], "a": [901]})) == {}


def kept(found: Findings, page: str) -> dict[str, Any]:
    """Returns the findings as run.json keeps them for this page."""
    record = run().record
    record = replace(record, **vars(found), scenario=replace(record.scenario, page=page))
    return record.as_document()


def test_the_ledger_of_many() -> None:
    """The ledger's parts add up to the wait. The ledger counts the bytes of all others, not of important resources."""
    page = page_of_parts(
        part("html"), part("p1", after="html"), part("p2", after="html"), *_TWO[1:], part("s", important=True)
    )
    evidence = told_of(page, {"html": [310], "p1": [1000], "p2": [1500], "b": [2000], "s": [700]})
    ends = {event.resource: event.tcp_bytes or 0 for event in evidence.events if event.kind == "data"}

    def looked(t_ms: int) -> Any:
        sent = max(
            (end for name, end in ends.items() if t_ms >= {"p1": 690, "p2": 1190, "b": 1690}.get(name or "", 0)),
            default=100,
        )
        return socket_sample(t_ns=(LOADED_MS + t_ms) * MS, bytes_sent=sent, notsent_bytes=0, bytes_acked=100)

    layers = Layers(
        sockets=tuple(looked(t_ms) for t_ms in range(0, 2100, 10)),
        queue=(_IDLE,),
        arrivals=tuple(
            Arrival(t_ns=event.t_ns, tcp_bytes=event.tcp_bytes or 0) for event in evidence.events if event.tcp_bytes
        ),
    )
    found = findings(evidence, layers, _SCENARIO)
    ledger = found.ledger
    assert ledger is not None
    assert ledger.focal == "b"
    assert sum(ledger.parts_ms.values()) == pytest.approx(ledger.wait_ms) == pytest.approx(2000 - 360)
    assert sum(vars(ledger.other_bytes_at_available).values()) == 2000
    assert found.verdict is Verdict.INVERTED
    document = kept(found, "news")
    of_maps = {"script", "image", "script_first_byte_ms", "image_bytes_at_available"}
    parts = [document[part] for part in ("ledger", "oracle")]
    assert not of_maps & {key for part in (*parts, document["loads"][0]) for key in part}


def test_keys_that_only_maps_has() -> None:
    """run.json has keys of image and script only for the page `maps`, not for an equal page of another name."""
    pieces = {"page": [310], "image": [900, 1500], "script": [1700]}
    page = maps(4000, 50)
    evidence = told_of(page, pieces, favoured=("script",))
    layers = Layers(sockets=(), queue=(_IDLE,), arrivals=())
    told = findings(evidence, layers, _SCENARIO)
    found, other = kept(told, "maps"), kept(told, "maps.toml")
    assert set(found["oracle"]) - set(other["oracle"]) == {"script_first_byte_ms"}
    assert set(found["loads"][0]) - set(other["loads"][0]) >= {"script", "image"}
    assert found["oracle"]["script_first_byte_ms"] == other["oracle"]["first_byte_ms"]
    assert (found["verdict"], other["verdict"]) == ("inverted", "inverted")
