"""The signals of drawn pages, compared with each dialect's rules, which are written here once more.

The rules are those in the text of client/dialects.py. They share no code with the client: an exchange in memory says
which streams were open at each request.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from h2.events import PriorityUpdated, RequestReceived

from priolab.client.dialects import parse
from priolab.client.plan import page_plan
from priolab.client.priorities import Priorities
from priolab.common.formats.events import Kind
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.plan import Plan, Protocol
from tests.support.pages import MS, page_of_parts, part
from tests.unit.client.pair import OK, Pair

PAGES = 50
_TYPES = (
    "text/html; charset=utf-8",
    "TEXT/HTML",
    "application/xhtml+xml",
    "image/jpeg",
    "image/svg+xml",
    "text/javascript; charset=utf-8",
    "application/json",
    "text/event-stream",
)
_WEIGHTS = (256, 220, 183, 147, 110, 74, 37, 1)
"""The weights of Chrome's eight levels, the most urgent first."""
_GROUPS = {"leader": 3, "other": 5, "background": 7, "speculative": 9, "follower": 11, "urgent-start": 13}


def drawn(seed: int) -> Page:
    """Return a page of 3 to 9 resources that wait for any earlier resource, or for none."""
    chance = random.Random(seed)
    made: list[Resource] = []
    for number in range(chance.randint(3, 9)):
        made.append(
            part(
                f"r{number}",
                content_type=chance.choice(_TYPES),
                after=chance.choice([None, *(each.name for each in made)] if number else [None]),
                wait_ns=chance.choice((0, 0, 0, 5 * MS)),
                delay_ns=chance.choice((0, 0, 20 * MS)),
                urgency=(urgency := chance.randrange(8)),
                weight=chance.choice((_WEIGHTS[urgency], chance.randint(1, 256))),
                incremental=chance.random() < 0.4,
                important=number == 1 or chance.random() < 0.2,
            )
        )
    return page_of_parts(*made)


def is_document(resource: Resource) -> bool:
    return resource.content_type.lower().startswith(("text/html", "application/xhtml+xml"))


def plan_of(page: Page, dialect: str, priorities: Priorities = Priorities.SPDY) -> Plan:
    return page_plan(
        page,
        address="198.18.1.2",
        port=443,
        server_name="drawn.test",
        priorities=priorities,
        dialect=parse(dialect),
        reloads=0,
        window_bytes=2**24,
        load_deadline_ns=1,
        protocol=Protocol.HTTP2,
    )


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A request as the server read it. open_names: the resources whose streams were open, in order of their requests.

    parent: a resource, a group of Firefox, or None for the root. detail: what the client recorded of the signal.
    """

    name: str
    weight: int
    parent: str | None
    exclusive: bool
    field: str | None
    open_names: tuple[str, ...]
    detail: str | None


def exchange(plan: Plan, chance: random.Random) -> tuple[list[Sent], Pair]:
    """Load the page from a server that answers the open streams in a drawn order. Return the requests, and the pair."""
    pair, names, open_streams = Pair(plan=plan), dict[int, str](), list[int]()
    groups = {number: name for name, number in _GROUPS.items()} if plan.groups else {}
    paths, sent, seen = {each.path: each.name for each in plan.requests}, list[Sent](), 0
    pair.begin_load()
    while pair.engine.loading:
        details = {each.stream_id: each.detail for each in pair.events if each.kind is Kind.REQUEST_SENT}
        for event in pair.at_server[seen:]:
            if isinstance(event, RequestReceived):
                assert event.stream_id is not None
                assert event.headers is not None
                headers = dict(event.headers)
                names[event.stream_id] = name = paths[headers[b":path"].decode()]
                order = event.priority_updated
                on = order.depends_on if order else None
                sent.append(
                    Sent(
                        name=name,
                        weight=order.weight or 0 if order else 0,
                        parent=(groups.get(on) or names[on]) if on else None,
                        exclusive=bool(order and order.exclusive),
                        field=headers[b"priority"].decode() if b"priority" in headers else None,
                        open_names=tuple(names[each] for each in open_streams),
                        detail=details[event.stream_id],
                    )
                )
                open_streams.append(event.stream_id)
        seen = len(pair.at_server)
        if open_streams and (pair.engine.next_due_ns is None or chance.random() < 0.7):
            stream = open_streams.pop(chance.randrange(len(open_streams)))
            pair.server.send_headers(stream, OK)
            pair.server.send_data(stream, b"x", end_stream=True)
            pair.down()
        elif (due_ns := pair.engine.next_due_ns) is not None:
            pair.now_ns = max(pair.now_ns, due_ns)
            pair.events += pair.engine.wake(pair.now_ns)
            pair.up()
    return sent, pair


def loads(dialect: str, priorities: Priorities = Priorities.SPDY) -> Iterator[tuple[Page, list[Sent]]]:
    for seed in range(PAGES):
        page = drawn(seed)
        sent, _ = exchange(plan_of(page, dialect, priorities), random.Random(seed))
        assert {each.name for each in sent} == {each.name for each in page.resources}
        yield page, sent


def test_chrome_depends_on_the_last_open_stream() -> None:
    """A stream depends, exclusively, on the last open stream of its level, else of the nearest more urgent level.

    What the client recorded of the request names that parent.
    """
    chained = 0
    for page, sent in loads("chrome"):
        levels = {each.name: _level(each.weight) for each in page.resources}
        for each in sent:
            own = levels[each.name]
            by_level: dict[int, str] = {}
            for name in each.open_names:
                by_level[levels[name]] = name  # the last one stays
            nearest = max((level for level in by_level if level <= own), default=None)
            parent = None if nearest is None else by_level[nearest]
            assert (each.weight, each.parent, each.exclusive) == (_WEIGHTS[own], parent, True), (page, each)
            assert (each.detail or "").endswith(f" on {parent}" if parent else "exclusive")
            chained += parent is not None
    assert chained > PAGES  # the drawn pages have streams to depend on


def _level(weight: int) -> int:
    return min(range(8), key=lambda level: (abs(_WEIGHTS[level] - weight), level))


def test_chrome_as_planned() -> None:
    """The plan's parent is right by the same rule if transfers take no time, but have not ended for other requests.

    So a resource is no parent if it is complete before the request, or if it is requested later.
    """
    for seed in range(PAGES):
        page = drawn(seed)
        positions = {each.name: each.signals.position for each in plan_of(page, "chrome").requests}
        levels = {each.name: _level(each.weight) for each in page.resources}
        earlier: list[str] = []
        for _, _, name in sorted((*_moment(page, each), each.name) for each in page.resources):
            done = {each.name for each in page.before(page[name])}
            by_level = {
                levels[other]: other for other in earlier if other not in done and levels[other] <= levels[name]
            }
            parent = by_level[max(by_level)] if by_level else None
            position = positions[name]
            assert position is not None
            assert position.depends_on == parent, (page, name)
            earlier.append(name)


def _moment(page: Page, resource: Resource) -> tuple[int, int]:
    """Return when a resource is requested at the earliest, in ns, and how many resources it waits for."""
    chain = page.before(resource)
    return sum(each.wait_ns + each.delay_ns for each in chain) + resource.wait_ns, len(chain)


@pytest.mark.parametrize("priorities", [Priorities.SPDY, Priorities.SWAP])
def test_firefox_and_safari_go_by_the_type(priorities: Priorities) -> None:
    """HTML has a document's place whoever waits for it; all else is a leader if it is asked to come first."""
    for page, sent in loads("firefox", priorities):
        for each in sent:
            first = page[each.name].important is (priorities is Priorities.SPDY)
            place = (32, "leader") if first else (22, "follower")
            place = (42, "urgent-start") if is_document(page[each.name]) else place
            assert (each.weight, each.parent, each.exclusive) == (*place, False), (page, each)
    for page, sent in loads("safari", priorities):
        for each in sent:
            first = page[each.name].important is (priorities is Priorities.SPDY)
            weight = 256 if is_document(page[each.name]) else 24 if first else 8
            assert (each.weight, each.parent, each.exclusive) == (weight, None, False), (page, each)


def test_plain_and_header_say_what_the_page_says() -> None:
    """Weight and urgency are the page's own, whatever the type, and whoever waits."""
    for page, sent in loads("plain+header"):
        for each in sent:
            resource = page[each.name]
            field = f"u={resource.urgency}{', i' if resource.incremental else ''}"
            assert (each.weight, each.parent, each.field) == (resource.weight, None, field)


@pytest.mark.parametrize("dialect", ["plain+reprioritize", "firefox+reprioritize"])
def test_every_changed_priority_reaches_the_server(dialect: str) -> None:
    """Whatever is requested before or after the changes, the server ends with the order asked for.

    Only a stream that ended before the first byte of a resource whose priority changes keeps the opposite order.
    """
    tree = dialect.split("+")[0]
    changed = 0
    for seed in range(PAGES):
        page = drawn(seed)
        plan = plan_of(page, dialect)
        right = {each.name: each.signals.position for each in plan_of(page, tree).requests}
        sent, pair = exchange(plan, random.Random(seed))
        streams = {each.stream_id: each.resource for each in pair.events if each.kind is Kind.REQUEST_SENT}
        data = [each.resource for each in pair.events if each.kind is Kind.DATA]
        names = {each.resource for each in plan.changes}
        begun = next((index for index, name in enumerate(data) if name in names), len(data))
        last = {each.name: (each.weight, each.parent) for each in sent}
        groups = {number: name for name, number in _GROUPS.items()} if plan.groups else {}
        for event in pair.at_server:
            if isinstance(event, PriorityUpdated) and event.stream_id in streams:
                on = groups.get(event.depends_on or 0)
                last[streams[event.stream_id] or ""] = event.weight or 0, on
                changed += 1
        ended_with_it = data[begun : begun + 1]  # each response is one byte: the first one has ended
        for name in data[begun:]:
            position = right[name or ""]
            if name not in ended_with_it and position:
                assert last[name or ""] == (position.weight, position.depends_on), (page, name)
    assert changed > PAGES


def test_who_waits_for_a_sibling() -> None:
    """An image that a script waits for is an image: the signals are as if the script waited for the page."""
    page, expected = (
        page_of_parts(
            part("html", urgency=0),
            part("a", content_type="image/jpeg", after="html", urgency=5),
            part("b", content_type="image/jpeg", after="html", urgency=5),
            part("c", content_type="text/javascript", after=after, urgency=2, important=True),
        )
        for after in ("a", "html")
    )
    for dialect in ("plain", "chrome", "firefox", "safari", "header", "plain+reprioritize", "update"):
        for priorities in Priorities:
            one, other = (plan_of(each, dialect, priorities) for each in (page, expected))
            if (dialect, priorities) != ("chrome", Priorities.SWAP):  # there `a` and `b` depend on no later request
                assert [each.signals for each in one.requests] == [each.signals for each in other.requests]
            assert one.changes == other.changes
    positions = [each.signals.position for each in plan_of(page, "chrome").requests]
    assert [each.depends_on if each else "" for each in positions] == [None, None, "a", None]
