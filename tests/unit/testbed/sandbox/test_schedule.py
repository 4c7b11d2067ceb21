"""Schedules as values: their texts, what is refused, and the links that follow from them."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common.errors import ScenarioError
from priolab.netem.link import Part
from priolab.testbed.sandbox import knobs
from priolab.testbed.sandbox.schedule import (
    CHANGING,
    ClockJump,
    Event,
    HostEvent,
    Kill,
    LinkChange,
    Partition,
    Run,
    Step,
    Verb,
    check,
    links_of,
    parsed_event,
    schedule_of,
)

_MS = 10**6
_LIMIT_NS = 10**12
_PROGRAMS = {"client": True, "server": True, "phone": False}
_NAMES = st.sampled_from(["client", "server", "phone", "a-1"])
_STEPS = {"RATE": "5mbit", "RATE_STEPS": "1mbit@1s"}
_TWO = st.lists(_NAMES, min_size=2, max_size=2, unique=True)
_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(LinkChange, host=_NAMES, knob=st.sampled_from(CHANGING), value=st.sampled_from(["1%", "3ms", "a=b"])),
    st.builds(
        lambda names, one_way, verb: Partition(one=names[0], other=names[1], one_way=one_way, verb=verb),
        _TWO,
        st.booleans(),
        st.sampled_from([Verb.PARTITION, Verb.HOLD]),
    ),
    st.builds(lambda verb, host: HostEvent(verb=verb, hosts=(host,)), st.sampled_from(["down", "up", "stop"]), _NAMES),
    st.builds(
        lambda verb, hosts: HostEvent(verb=verb, hosts=tuple(hosts)),
        st.sampled_from([Verb.HEAL, Verb.RELEASE]),
        st.lists(_NAMES, max_size=2),
    ),
    st.builds(Kill, host=_NAMES, signal=st.sampled_from([None, "SIGTERM", "SIGHUP"])),
    st.builds(lambda host, words: Run(host=host, command=tuple(words)), _NAMES, st.lists(_WORDS, min_size=1)),
    st.builds(ClockJump, by_ns=st.integers(-(10**15), 10**15)),
)


@given(EVENTS)
def test_an_event_survives_its_text(event: Event) -> None:
    """The text of an event is one that `--at` takes, and means the same event."""
    assert parsed_event(str(event)) == event


@given(st.lists(st.integers(0, 3)))
def test_events_of_one_time_keep_their_order(seconds: list[int]) -> None:
    """Steps are in the order of time, and then in that in which they were given."""
    numbers = count()
    given_ns = [(f"{second}s", f"clock +{next(numbers)}ns") for second in seconds]
    steps = schedule_of(given_ns)
    assert [step.text for step in steps] == [text for _, text in sorted(given_ns, key=lambda pair: pair[0])]


def test_a_step_without_a_text_has_that_of_its_event() -> None:
    """A program that draws events gives their values alone."""
    step = Step(at_ns=1_500 * _MS, event=Partition(one="a", other="b", one_way=True))
    assert step.shown == "1.5s partition a to b"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("LOS=1%", "LOSS or LOSS_UP; a knob of LINK, RATE,"),
        ("phone.QDISC=fq", "a knob of LINK, RATE,"),
        ("CC=bbr", "a knob of LINK, RATE,"),
        ("client.LOSS=1%", "LOSS=1%; the client's knobs are without a host"),
        (".LOSS=1%", "LOSS=1%; the client's knobs are without a host"),
        ("partitoin a b", "KNOB=VALUE or HOST.KNOB=VALUE; partition A B, or partition A to B for one direction"),
        ("explode", "KNOB=VALUE or HOST.KNOB=VALUE; partition A B, or"),
        ("", "KNOB=VALUE or HOST.KNOB=VALUE; partition A B, or"),
        ("'", "an event in which every quote is closed"),
        ("LOSS=1% DELAY=2ms", "KNOB=VALUE or HOST.KNOB=VALUE; "),
        ("partition a", "partition A B, or partition A to B for one direction"),
        ("partition a a", "partition A B, or partition A to B for one direction"),
        ("partition a from b", "partition A B, or partition A to B for one direction"),
        ("heal a b c", "heal, heal HOST, or heal A B"),
        ("down", "down HOST"),
        ("up a b", "up HOST"),
        ("kill a NOTHING", "kill HOST, or kill HOST SIGNAL with a SIGNAL such as TERM"),
        ("run a", "run HOST 'COMMAND'"),
        ("run a ''", "run HOST 'COMMAND'"),
        ("run a '\"'", "run HOST 'COMMAND'"),
        ("clock 3s", "clock +TIME or clock -TIME, such as clock +3600s"),
        ("clock +3", "clock +TIME or clock -TIME, such as clock +3600s"),
    ],
)
def test_words_that_are_no_event(text: str, said: str) -> None:
    """The error says what is allowed, and the nearest first."""
    with pytest.raises(ScenarioError) as error:
        parsed_event(text)
    assert str(error.value).startswith(f"--at={text} is not allowed; allowed: {said}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ([("soon", "heal")], "soon is not allowed; allowed: a time with a unit, from 0s"),
        ([("5", "heal")], "5 is not allowed; allowed: a time with a unit, from 0s"),
        ([("1s", "down tablet")], "1s down tablet is not allowed; allowed: the hosts client, server, phone"),
        ([("1s", "down phon")], "1s down phon is not allowed; allowed: phone; the hosts client, server, phone"),
        ([("1s", "tablet.LOSS=1%")], "1s tablet.LOSS=1% is not allowed; allowed: the hosts"),
        (
            [("1000s", "down phone")],
            "1000s down phone is not allowed; allowed: times before the client's longest, 1000s",
        ),
        ([("1s", "up phone")], "1s up phone is not allowed; allowed: down phone before"),
        ([("2s", "down phone"), ("1s", "up phone")], "1s up phone is not allowed"),
        ([("1s", "down phone"), ("2s", "up phone"), ("3s", "up phone")], "3s up phone is not allowed"),
        ([("1s", "continue server")], "1s continue server is not allowed; allowed: stop server before"),
        ([("1s", "heal")], "1s heal is not allowed; allowed: a partition before, or another value of a knob"),
        ([("1s", "LOSS=1%"), ("2s", "heal client server")], "2s heal client server is not allowed; allowed: a part"),
        ([("1s", "partition client phone"), ("2s", "heal server")], "2s heal server is not allowed"),
        ([("1s", "release")], "1s release is not allowed; allowed: hold before"),
        (
            [("1s", "hold client phone"), ("2s", "release server")],
            "2s release server is not allowed; allowed: hold bef",
        ),
        ([("1s", "clock -1600000000s")], "1s clock -1600000000s is not allowed; allowed: a time of day at most 158"),
        ([("1s", "clock +1500000000s"), ("2s", "clock +1500000000s")], "2s clock +1500000000s is not allowed"),
        ([("1s", "kill phone")], "1s kill phone is not allowed; allowed: a host with a program; phone has none"),
        ([("1s", "stop phone")], "1s stop phone is not allowed; allowed: a host with a program"),
        (
            [("1s", "run phone x"), ("2s", "restart phone")],
            "2s restart phone is not allowed; allowed: a host with a com",
        ),
        ([("1s", "stop server"), ("2s", "kill server"), ("3s", "continue server")], "3s continue server is not"),
    ],
)
def test_what_cannot_happen(schedule: list[tuple[str, str]], said: str) -> None:
    """Unknown hosts, times after the end, and ends of what has not begun are refused in a line."""
    with pytest.raises(ScenarioError) as error:
        check(schedule_of(schedule), _PROGRAMS, _LIMIT_NS)
    assert str(error.value).startswith(f"--at={said}")


def test_what_can_happen() -> None:
    """Each end follows a begin; a host without a command may have had a program started on it."""
    schedule = [
        *[("1s", "down phone"), ("2s", "up phone"), ("3s", "partition client to phone"), ("4s", "heal phone")],
        *[("5s", "run phone x"), ("6s", "stop phone"), ("7s", "continue phone"), ("8s", "kill phone")],
        *[("9s", "stop server"), ("9s", "kill server TERM"), ("9s", "continue server"), ("9s", "restart server")],
        *[("9s", "hold client phone"), ("9s", "release phone"), ("9s", "hold client to phone"), ("9s", "release")],
        *[("9s", "phone.LOSS=1%"), ("9s", "heal phone"), ("9s", "DELAY=1ms"), ("9s", "heal"), ("0s", "clock -1s")],
    ]
    check(schedule_of(schedule), _PROGRAMS, _LIMIT_NS)


def _links(*given_s: tuple[int, str], **knobs_of: dict[str, str]) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Return links over time, each as the fields that matter here."""
    first = {host: knobs.of_way(knobs_of.get(host, {})) for host in _PROGRAMS}
    found = links_of(schedule_of((f"{at}s", text) for at, text in given_s), first)

    def seen(links: object) -> dict[str, object]:
        assert isinstance(links, dict)
        return {host: (link.delay_ns // _MS, link.loss, link.queue_packets) for host, link in links.items()}

    return seen(found.first), [seen(each) for each in found.later]


def test_the_links_of_a_schedule() -> None:
    """A change holds until the next one, or until the link heals; a host whose link keeps its values has none."""
    first, later = _links(
        *[(1, "DELAY=20ms"), (2, "phone.LOSS=100%"), (3, "LOSS=50%"), (4, "server.DELAY=0ms"), (5, "partition a b")],
        *[(6, "heal a b"), (7, "heal phone"), (8, "heal")],
        client={"DELAY": "10ms"},
    )
    assert first == {"client": (10, 0, 1000), "phone": (0, 0, 1000)}
    assert later == [
        {"client": (20, 0, 1000)},
        {"phone": (0, 1, 1000)},
        {"client": (20, 0.5, 1000)},
        {},
        {},
        {},
        {"phone": (0, 0, 1000)},
        {"client": (10, 0, 1000), "phone": (0, 0, 1000)},
    ]


def test_a_schedule_that_does_nothing_leaves_the_links_alone() -> None:
    """Values that are there already need no link of their own, and no part of a link."""
    assert _links((1, "phone.LOSS=0%"), (2, "DELAY=10ms"), client={"DELAY": "10ms"}) == ({}, [{}, {}])


def test_a_queue_keeps_its_bytes_when_the_rate_changes() -> None:
    """A queue that is a time or a multiple of the round trip is taken at the first rate, until QUEUE changes."""
    knobs_of = {"RATE": "10mbit", "QUEUE": "100ms", "DELAY": "10ms"}
    _, later = _links((1, "RATE=1mbit"), (2, "DELAY=50ms"), (3, "QUEUE=200ms"), (4, "heal"), client=knobs_of)
    assert [each["client"][2] for each in later] == [82, 82, 16, 82]  # type: ignore[index]


def test_a_profile_is_a_change_of_several_knobs() -> None:
    """LINK sets rates and delays at once, so the link has a gate in both directions."""
    steps = schedule_of([("1s", "LINK=1mbit/200kbit/50ms")])
    found = links_of(steps, {"client": knobs.of_way({"RATE": "10mbit", "LOSS": "1%"})})
    (later,) = found.later
    link = later["client"]
    assert (link.rate_bit_s, link.rate_up_bit_s, link.delay_ns, link.delay_up_ns) == (10**6, 2 * 10**5, *[25 * _MS] * 2)
    assert link.loss == 0.01
    assert Part.GATE in found.first["client"].prepared & found.first["client"].prepared_up


@pytest.mark.parametrize(
    ("event", "given_knobs", "said"),
    [
        ("LOSS=101%", {}, "--at 1s LOSS=101%: LOSS=101% is not allowed; allowed: 0% to 100%"),
        (
            "JITTER=5ms",
            {},
            "--at 1s JITTER=5ms: JITTER=5ms is not allowed; allowed: a tc time such as 20ms, at most DE",
        ),
        (
            "JITTER_UP=5ms",
            {},
            "--at 1s JITTER_UP=5ms: JITTER_UP=5ms is not allowed; allowed: a tc time such as 20ms, at",
        ),
        ("LINK=slow", {}, "--at 1s LINK=slow: LINK=slow is not allowed; allowed: "),
        ("RATE=unlimited", {"RATE": "1mbit", "QDISC": "fq"}, "--at 1s RATE=unlimited: QDISC=fq is not allowed"),
        ("RATE=1mbit", {"QUEUE": "1"}, "QUEUE=1 is not allowed; allowed: two or more packets"),
        (
            "RATE=2mbit",
            _STEPS,
            "RATE_STEPS=1mbit@1s is not allowed; allowed: none with a RATE or QUEUE that changes by",
        ),
        (
            "QUEUE=9",
            _STEPS,
            "RATE_STEPS=1mbit@1s is not allowed; allowed: none with a RATE or QUEUE that changes by --at",
        ),
        ("RATE_UP=1mbit", {"RATE": "1mbit", "CROSS": "1"}, "CROSS=1 is not allowed; allowed: 0 with REORDER_UP"),
    ],
)
def test_values_that_a_link_cannot_take(event: str, given_knobs: dict[str, str], said: str) -> None:
    """The error says at which time the link could not have the value."""
    with pytest.raises(ScenarioError) as error:
        links_of(schedule_of([("1s", event)]), {"client": knobs.of_way(given_knobs)})
    assert str(error.value).startswith(said)
