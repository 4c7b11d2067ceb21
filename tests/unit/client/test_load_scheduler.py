"""Tests of the times at which requests are due: resources that wait for others, in chains, and in several loads."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.client.load_scheduler import LoadFailed, Loads
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import Page
from priolab.common.formats.plan import Request
from tests.support.pages import page_of_parts, part
from tests.unit.client.plans import plan_of

_DEEP = page_of_parts(
    part("html"),
    part("style", after="html"),
    part("script", after="html", important=True),
    part("data", after="script"),
    part("tile", after="data"),
    part("icon", after="script"),
    part("stream"),
)


class Client:
    """A client that opens a stream for each request that is due.

    asked: the names in the order of the requests. streams: the numbers of the open streams by name.
    """

    def __init__(self, page: Page, **changes: Any) -> None:
        self.loads = Loads(plan_of(page, **changes))
        self.asked: list[str] = []
        self.streams: dict[str, int] = {}
        self.finished = 0
        self._next = 1

    def begin(self) -> None:
        self._ask(self.loads.begin(0)[1])

    def end(self, name: str) -> None:
        events, due = self.loads.ended(self.streams.pop(name), 0)
        self._ask(due)
        self.finished += _finished(events)

    def _ask(self, due: Sequence[Request]) -> None:
        for request in due:
            self.loads.asked(self._next, request, 0, None)
            self.asked.append(request.name)
            self.streams[request.name] = self._next
            self._next += 2


def _finished(events: Iterable[Event]) -> int:
    return sum(event.kind is Kind.LOAD_FINISHED for event in events)


def test_a_chain_of_requests() -> None:
    """Each request is made when the resource that it waits for is complete, and not before."""
    client = Client(_DEEP)
    client.begin()
    assert client.asked == ["html", "stream"]
    client.end("html")
    assert client.asked[2:] == ["style", "script"]
    client.end("style")
    assert client.asked[4:] == []
    client.end("script")
    assert client.asked[4:] == ["data", "icon"]
    client.end("icon")
    client.end("stream")
    assert (client.asked[6:], client.loads.loading) == ([], True)
    client.end("data")
    assert (client.asked[6:], client.finished) == (["tile"], 0)
    client.end("tile")
    assert (client.finished, client.loads.loading, client.loads.unfinished) == (1, False, [])


def test_a_request_that_waits_for_its_time() -> None:
    """It becomes due that long after its cause; the load is not finished before, and a GOAWAY fails it."""
    page = page_of_parts(part("html"), part("image", after="html"), part("script", after="html", wait_ns=600))
    client = Client(page)
    client.begin()
    client.end("html")
    client.end("image")
    assert (client.asked, client.finished) == (["html", "image"], 0)
    assert client.loads.loading
    assert client.loads.next_due_ns == 600
    assert client.loads.now_due(599) == []
    (script,) = client.loads.now_due(600)
    assert script.name == "script"
    assert client.loads.next_due_ns is None
    client.loads.asked(9, script, 600, None)
    events, _ = client.loads.ended(9, 700)
    assert _finished(events) == 1
    gone = Client(page)
    gone.begin()
    gone.end("html")
    gone.loads.going("NO_ERROR")
    with pytest.raises(LoadFailed, match="the front sent GOAWAY"):
        gone.loads.now_due(600)


def test_who_is_waited_for() -> None:
    """`awaited` has the open streams that other resources wait for, also that of an important resource.

    A probe opens the windows of these streams.
    """
    client = Client(_DEEP)
    client.begin()
    client.end("html")
    assert client.loads.awaited == [client.streams["script"]]
    assert client.loads.resources == [client.streams[name] for name in ("stream", "style")]
    assert client.loads.unfinished == ["stream", "style", "script"]


def test_a_front_that_goes_while_something_waits() -> None:
    """A GOAWAY fails the load if a request is still due, and does not if all requests have been made."""
    client = Client(_DEEP)
    client.begin()
    client.loads.going("NO_ERROR")
    client.end("stream")
    with pytest.raises(LoadFailed, match="the front sent GOAWAY"):
        client.end("html")
    two = Client(page_of_parts(part("a"), part("b", important=True)))
    two.begin()
    two.loads.going("NO_ERROR")
    two.end("a")
    two.end("b")
    assert two.finished == 1


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Draws a tree of resources; each waits for an earlier resource, or for none."""
    names = [f"r{number}" for number in range(draw(st.integers(1, 12)))]
    after = [draw(st.none() | st.sampled_from(names[:index])) if index else None for index in range(len(names))]
    return page_of_parts(*(part(name, after=of) for name, of in zip(names, after, strict=True)))


@given(pages(), st.randoms(use_true_random=False))
def test_any_page_is_loaded(page: Page, chance: Any) -> None:
    """Each resource is requested once, after the resource that it waits for; the load ends with the last stream."""
    client = Client(page)
    client.begin()
    ended: list[str] = []
    while client.streams:
        assert client.finished == 0
        name = chance.choice(sorted(client.streams))
        client.end(name)
        ended.append(name)
        awaited = {each.after for each in page.resources if each.name in client.asked} - {None}
        assert awaited <= set(ended)
        assert {each.name for each in page.resources if each.after in (None, *ended)} == set(client.asked)
    assert client.finished == 1
    assert sorted(client.asked) == sorted(each.name for each in page.resources)
