"""Tests of the disturbances of a probe: a stream that the client resets, and requests for another connection."""

import pytest
from h2.errors import ErrorCodes
from h2.events import StreamReset
from h2.settings import SettingCodes

from priolab.client.dialects import HEADER
from priolab.client.load_scheduler import LoadFailed
from priolab.client.plan import DECOY, STEPS, page_plan, with_decoys
from priolab.client.priorities import Priorities
from priolab.common.formats.plan import Decoy, Disturbance, Plan, Protocol, Signals
from priolab.experiments.scenario.pages import Parameters, page_of
from tests.unit.client.pair import OK, Pair

PAGE = page_of("pair", Parameters(size_bytes=300_000, script_delay_ns=0))
DECOYED, FIRST, SECOND, LATER = 1, 3, 5, 7
"""The streams of a probe with a decoy."""


def plan_with(disturbance: Disturbance | None, priorities: Priorities = Priorities.SPDY) -> Plan:
    """Make the plan of a probe."""
    return page_plan(
        PAGE,
        address="198.18.1.2",
        port=443,
        server_name="maps.test",
        priorities=priorities,
        dialect=HEADER,
        reloads=0,
        window_bytes=2**20,
        load_deadline_ns=1,
        steps=STEPS,
        protocol=Protocol.HTTP2,
        disturbance=disturbance,
        decoy_query="?decoy",
    )


def decoy_of(disturbance: Disturbance, priorities: Priorities = Priorities.SPDY) -> Decoy:
    """Return the decoy of a plan."""
    decoy = plan_with(disturbance, priorities).decoy
    assert decoy is not None
    return decoy


def test_without_a_disturbance() -> None:
    """The plan has no decoy, and its document no such key."""
    plan = plan_with(None)
    assert plan.decoy is None
    assert '"decoy"' not in plan.to_json()


@pytest.mark.parametrize("disturbance", Disturbance)
def test_a_document(disturbance: Disturbance) -> None:
    """A plan with a decoy survives its JSON document."""
    plan = plan_with(disturbance)
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("priorities", "fields"), [(Priorities.SPDY, ("u=2", "u=5")), (Priorities.SWAP, ("u=5", "u=2"))]
)
def test_another_connection_asks_for_the_opposite(priorities: Priorities, fields: tuple[str, str]) -> None:
    """The requests of the other connection have the same order and the opposite priorities."""
    requests = decoy_of(Disturbance.CONNECTION, priorities).requests
    assert [(each.name, each.path, each.signals) for each in requests] == [
        ("first", "/first?decoy", Signals(field=fields[0])),
        ("second", "/second?decoy", Signals(field=fields[1])),
    ]


def test_the_decoy_is_as_urgent_as_the_favoured() -> None:
    """The streams to be reset have the priority of the resource that is asked for first."""
    for request in decoy_of(Disturbance.RESET).requests:
        assert (request.name, request.path, request.signals) == (DECOY, "/first?decoy", Signals(field="u=2"))
    assert decoy_of(Disturbance.RESET, Priorities.NONE).requests[0].signals == Signals()


def test_the_origin_has_the_decoys() -> None:
    """The origin's page has a copy of each resource, of the same size, which no resource waits for."""
    page = with_decoys(PAGE)
    assert [(each.path, each.size_bytes) for each in page.resources] == [
        ("/first", 300_000),
        ("/second", 300_000),
        ("/first?decoy", 300_000),
        ("/second?decoy", 300_000),
    ]
    assert page.important == PAGE.important


def test_the_reset_comes_before_the_window() -> None:
    """The client resets both decoys when all responses have begun, and opens its window only then."""
    pair = Pair(plan=plan_with(Disturbance.RESET))
    pair.begin_load()
    assert [each.stream_id for each in pair.requests()] == [DECOYED, FIRST, SECOND, LATER]
    for stream in (FIRST, SECOND, DECOYED):
        pair.server.send_headers(stream, OK)
        pair.down()
    pair.quiet()
    assert not [event for event in pair.events if event.kind in ("disturbed", "window-opened")]
    pair.server.send_headers(LATER, OK)
    pair.server.send_data(LATER, b"x" * 100)
    pair.down()
    pair.quiet()
    resets = [event for event in pair.at_server if isinstance(event, StreamReset)]
    assert [(each.stream_id, each.error_code) for each in resets] == [
        (DECOYED, ErrorCodes.CANCEL),
        (LATER, ErrorCodes.CANCEL),
    ]
    disturbed = [(each.stream_id, each.resource) for each in pair.events if each.kind == "disturbed"]
    assert disturbed == [(DECOYED, DECOY), (LATER, DECOY)]
    pair.quiet()
    assert [event.stream_id for event in pair.events if event.kind == "window-opened"] == [FIRST]
    assert pair.engine.unfinished == ["first", "second"]


def test_a_front_that_allows_fewer_streams() -> None:
    """A probe in which not all responses can begin ends at once, and the reason names the front's limit."""
    pair = Pair(plan=plan_with(None))
    pair.begin_load()
    pair.server.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: 1})
    with pytest.raises(LoadFailed, match=r"^the front allows 1 stream at a time, and this probe has 2$"):
        pair.down()


def test_a_decoy_that_ends_too_early() -> None:
    """If the response to be reset has ended already, the load fails: nothing was disturbed."""
    pair = Pair(plan=plan_with(Disturbance.RESET))
    pair.begin_load()
    with pytest.raises(LoadFailed, match="ended before it could be reset"):
        pair.answer(DECOYED)
