"""Tests of the judgement on probes of several streams: synthetic orders, and the faults that they show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from priolab.analysis.judgement.sequence import Priority, Relation, bytes_before_end, expected, priorities_of
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.page import Page
from priolab.common.formats.run import OracleRecord, OtherBytes
from priolab.experiments.scenario.pages import Parameters, page_of
from priolab.extras.gate.checks import Check
from priolab.extras.gate.faults import Fault
from priolab.extras.gate.findings import Finding
from priolab.extras.gate.judging import _exceeded, judged
from priolab.extras.gate.seen import Seen

_STEP = 8192
_IN_TURN = (Fault.URGENCY_UPDATES,)


def sent(page: Page, served: Sequence[str], opened: Sequence[str] = ()) -> list[Event]:
    """Make the events of a probe whose steps are each served by one stream. opened: the order of windows."""
    streams = {each.name: 2 * number + 1 for number, each in enumerate(page.contents)}

    def event(kind: Kind, size: int | None, name: str | None) -> Event:
        stream = None if name is None else streams[name]
        return Event(t_ns=0, kind=kind, load=1, stream_id=stream, resource=name, size_bytes=size)

    made = [event(Kind.REQUEST_SENT, None, name) for name in streams]
    made += [event(Kind.WINDOW_OPENED, page[name].size_bytes, name) for name in opened or streams if name != "plug"]
    made.append(event(Kind.WINDOW_OPENED, _STEP, None))
    for name in served:
        made += [event(Kind.DATA, _STEP, name), event(Kind.WINDOW_OPENED, _STEP, None)]
    return made


def in_order(page: Page, taken: Mapping[str, Priority] | None = None) -> list[str]:
    """Return the stream that is served in each step, if all could be sent at once.

    taken: the priorities as a server reads them; None for a sound server.
    """
    asked = taken or priorities_of(page)
    left = {each.name: each.size_bytes // _STEP for each in page.contents[1:]}
    served: list[str] = []
    while any(left.values()):
        ready = [name for name in left if left[name]]
        least = min(asked[name].urgency for name in ready)
        first = [name for name in ready if asked[name].urgency == least]
        alone = [name for name in first if not asked[name].incremental]
        served.append(alone[0] if alone else max(first, key=lambda name: left[name]))
        left[served[-1]] -= 1
    return served


def seen_of(check: Check, served: Sequence[str] | None = None) -> tuple[tuple[str, str], Seen]:
    """Make the observation of a check's one trial. served: the order of the steps; None for a sound server's."""
    ((role, trial),) = check.trials()
    page = page_of(trial.page, Parameters(size_bytes=1, script_delay_ns=0))
    events = sent(page, in_order(page) if served is None else served)
    return (check.name, role), Seen(trial=trial, events=events, page=page)


def finding(kind: str, order: Sequence[str] | None, *others: str) -> Finding:
    """Judge a check in which streams came one after the other in this order. others: kinds that hold."""
    checks = tuple(Check(kind=each) for each in (kind, *others))
    (key, sound), *rest = map(seen_of, checks)
    served = [name for name in order or () for _ in range(sound.page[name].size_bytes // _STEP)]
    mine = sound if order is None else replace(sound, events=sent(sound.page, served))
    return judged(checks, {key: mine, **dict(rest)})[0]


@pytest.mark.parametrize(
    "kind", ["levels", "many", "arrival", "fair", "blocked", "preemption", "updates", "used", "response"]
)
def test_a_sound_server(kind: str) -> None:
    """It passes, and the reason counts the streams."""
    found = finding(kind, None)
    assert found.passed, found.text
    assert found.text.endswith("streams in order")


@pytest.mark.parametrize(
    ("kind", "order", "faults"),
    [
        ("arrival", "fedcba", {Fault.LAST_FIRST}),
        ("arrival", "acdbef", {Fault.NO_ARRIVAL}),
        ("arrival", "dabcef", {Fault.NO_ARRIVAL}),
        ("patience", ["low", "high", "small", "new"], {Fault.IMPATIENT}),
        ("fair", "abcd", {Fault.UNFAIR}),
        ("updates", ["twice", "replaced", "early", "reference", "on", "on2"], {*_IN_TURN, Fault.EARLY_UPDATE}),
        ("updates", ["replaced", "twice", "reference", "early", "on", "on2"], {*_IN_TURN, Fault.MERGES_UPDATES}),
        ("updates", ["reference", "twice", "on", "on2", "replaced", "early"], {Fault.MISREADS_UPDATES}),
        ("used", ["none", "five", "two", "one"], {Fault.LATER_REQUESTS}),
        ("response", ["raised", "turned", "reference", "kept", "kept2", "lowered"], {Fault.REPLACES_BY_RESPONSE}),
    ],
)
def test_orders(kind: str, order: Sequence[str], faults: set[Fault]) -> None:
    """The faults that an order shows. Streams that came in turn, and must share, are a second mistake in `updates`."""
    found = finding(kind, order)
    assert found.passed is False
    assert set(found.faults) == faults
    assert "asked for all" in found.reason or "not a half" in found.reason


def _usual_but(names: Sequence[str]) -> Callable[[str, Priority], Priority]:
    return lambda name, asked: asked if name in names else Priority()


@pytest.mark.parametrize(
    ("kind", "read", "fault"),
    [
        ("levels", lambda _, asked: replace(asked, urgency=asked.urgency & 3), Fault.BITS),
        ("levels", lambda _, asked: replace(asked, urgency=asked.urgency // 2), Fault.COARSE),
        ("levels", lambda _, asked: replace(asked, urgency=(asked.urgency + 1) // 2), Fault.COARSE),
        ("levels", lambda _, asked: replace(asked, urgency=min(asked.urgency, 6)), Fault.COARSE),
        ("levels", _usual_but(["five", "four", "seven", "six", "none", "two"]), Fault.FIRST_REQUESTS),
        ("levels", _usual_but(["two", "one", "zero", "later", "soon"]), Fault.LAST_REQUESTS),
        ("used", lambda name, asked: Priority(7) if name == "none" else asked, Fault.STALE),
        (
            "parameters",
            lambda n, asked: {"lines": Priority(7), "lines2": Priority(incremental=True)}.get(n, asked),
            Fault.ONE_LINE,
        ),
        (
            "parameters",
            lambda n, asked: Priority(6) if n in ("yes", "yes2") else asked,
            Fault.TRUE_IS_FALSE,
        ),
        ("parameters", lambda n, asked: Priority(0) if n == "again" else asked, Fault.FIRST_OF_KEY),
        ("parameters", lambda n, asked: Priority(1) if n == "ten" else asked, Fault.OUT_OF_RANGE),
        ("parameters", lambda n, asked: Priority(1) if n == "part" else asked, Fault.NO_INTEGER),
    ],
)
def test_mistakes_in_reading(kind: str, read: Callable[[str, Priority], Priority], fault: Fault) -> None:
    """A mistake that is one for all streams has its name, and so has one of a single stream."""
    check, arrival = Check(kind=kind), Check(kind="arrival")
    (key, sound), other = seen_of(check), seen_of(arrival)
    taken = {name: read(name, asked) for name, asked in priorities_of(sound.page).items()}
    wrong = replace(sound, events=sent(sound.page, in_order(sound.page, taken)))
    found, _ = judged((check, arrival), {key: wrong, **dict([other])})
    assert found.faults == (fault,), found.text


def test_streams_without_the_field_that_share() -> None:
    """A server for which a request without the field is incremental shares the window between such streams alone."""
    check = Check(kind="arrival")
    key, sound = seen_of(check)
    without = {each.name for each in sound.page.contents if each.cue and not each.cue.text}
    taken = {name: Priority(incremental=name in without) for name in priorities_of(sound.page)}
    (found,) = judged((check,), {key: replace(sound, events=sent(sound.page, in_order(sound.page, taken)))})
    assert found.faults == (Fault.NO_FIELD_SHARES,), found.text


def test_an_end_that_comes_late() -> None:
    """The bytes of others between the last byte of a resource and its end."""

    def event(kind: Kind, name: str, size: int | None = None) -> Event:
        return Event(t_ns=0, kind=kind, load=1, resource=name, size_bytes=size)

    events = [event(Kind.DATA, "script", 5), event(Kind.DATA, "image", 7), event(Kind.DATA, "script", 5)]
    events += [event(Kind.DATA, "image", 9), event(Kind.ENDED, "script"), event(Kind.DATA, "image", 11)]
    assert bytes_before_end(events, "script") == 9
    assert bytes_before_end(events[:3], "script") == 0


def test_windows_that_reorder() -> None:
    """Streams of one urgency that come as their windows were opened have this name, and not that of another order."""
    check = Check(kind="arrival")
    key, sound = seen_of(check)
    names = [each.name for each in sound.page.contents[1:]]
    turned = [*names[1::2], *names[::2]]
    events = sent(sound.page, [name for name in turned for _ in range(6)], turned)
    (found,) = judged((check,), {key: replace(sound, events=events)})
    assert found.faults == (Fault.REQUEUES,)


def test_what_the_rfc_says() -> None:
    """A failure has the RFC's word where it says SHOULD, or nothing; where `must` is another value, it has none."""
    assert finding("arrival", "fedcba").reason.endswith("; RFC 9218, 10, says SHOULD of this")
    assert finding("response", ["lowered"]).reason.endswith("; RFC 9218, 8, leaves this to the intermediary")
    assert "RFC" not in finding("used", ["none", "five", "two", "one"]).reason
    assert Check(kind="incremental", must="in turn").rule is None


def test_the_order_of_arrival_helps_to_name() -> None:
    """Equal urgencies in the order of arrival tell apart what else looks alike: here all below the default are one."""
    order = ["two", "one", "zero", "soon", "none", "five", "four", "seven", "six", "later"]
    assert finding("levels", order, "arrival").faults == (Fault.COARSE,)


@pytest.mark.parametrize(
    ("limits", "exceeded"),
    [
        ({}, None),
        ({"late_by": "500ms"}, "its first byte was 501 ms late, and late_by = 500ms"),
        ({"late_by": "501ms"}, None),
        ({"needless_bytes": 1000}, "2,000 needless bytes came before it, and needless_bytes = 1,000"),
        ({"needless_bytes": 2000}, None),
    ],
)
def test_limits(limits: Mapping[str, object], exceeded: str | None) -> None:
    """The last load is compared with the check's limits."""
    check = Check(kind="late", **limits)  # type: ignore[arg-type]
    ((_, trial),) = check.trials()
    page = page_of("maps", Parameters(size_bytes=5000, script_delay_ns=0))
    oracle = OracleRecord(first_byte_ms=1, inversion_ms=501, inversion_bytes=2000)
    assert _exceeded(check, Seen(trial=trial, events=(), page=page, oracle=oracle)) == exceeded
    assert _exceeded(check, Seen(trial=trial, events=(), page=page)) is None


@pytest.mark.parametrize(
    ("pending", "committed", "unsent", "is_shown"),
    [
        (200_000, 400_000, 60_000, True),
        (0, 600_000, 9000, False),
        (0, 100_000, 500_000, True),
        (600_000, 0, 9000, False),
    ],
)
def test_bytes_chosen_early(pending: int, committed: int, unsent: int, is_shown: bool) -> None:  # noqa: FBT001
    """Bytes in the kernel show it, and a queue with some of the others; all of them in the front do not."""
    ((_, trial),) = Check(kind="late").trials()
    page = page_of("maps", Parameters(size_bytes=5000, script_delay_ns=0))
    waiting = OtherBytes(
        pending=pending, committed=committed, unsent=unsent, queue=0, propagation=0, recovery=0, received=0
    )
    assert Seen(trial=trial, events=(), page=page, waiting=waiting).chose_early is is_shown


def test_a_limit_that_is_no_time() -> None:
    """The error names the key."""
    with pytest.raises(ValueError, match="late_by"):
        Check(kind="late", late_by="soon")


def test_what_broke_off() -> None:
    """A server that ends the connection at malformed fields alone has this fault; another failure is an error."""
    check, basic = Check(kind="parameters"), Check(kind="levels")
    (key, sound), (of_basic, held) = seen_of(check), seen_of(basic)
    closed = replace(sound, failure="the front closed the connection")
    broken, _ = judged((check, basic), {key: closed, of_basic: held})
    assert (broken.faults, broken.error) == ((Fault.BREAKS_OFF,), False)
    late = replace(sound, failure="it took longer than its deadline")
    for failure, before in ((late, held), (closed, replace(held, failure=closed.failure))):
        failed, _ = judged((check, basic), {key: failure, of_basic: before})
        assert (failed.faults, failed.error) == ((), True)


def test_what_broke_off_at_a_reset() -> None:
    """A server that ends the connection when the client resets a stream has this fault."""
    check, basic = Check(kind="reset"), Check(kind="levels")
    of_basic, held = seen_of(basic)
    closed = {
        (check.name, role): replace(held, trial=trial, failure="the front closed the connection")
        for role, trial in check.trials()
    }
    broken, _ = judged((check, basic), {**closed, of_basic: held})
    assert (broken.faults, broken.error) == ((Fault.BREAKS_AT_RESET,), False)


def test_time_that_is_over() -> None:
    """A check whose trials were not made in time is not checked, and says why."""
    check = Check(kind="levels")
    (unmade,) = judged((check,), {}, unmade="the time was over")
    assert (unmade.passed, unmade.reason) == (None, "the time was over")


def test_what_is_not_judged() -> None:
    """Of an incremental stream and another of the same urgency the pages demand nothing."""
    page = page_of(next(Check(kind="levels").trials())[1].page, Parameters(size_bytes=1, script_delay_ns=0))
    assert expected(("one", "soon"), priorities_of(page), Relation.FIRST) is Relation.ANY
