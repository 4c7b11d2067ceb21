"""Faults: what their words mean, the schedules that follow from a seed, and how a failing schedule becomes simpler."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from priolab.common.errors import ScenarioError
from priolab.testbed.sandbox import knobs
from priolab.testbed.sandbox.faults import Budget, Fault, Faults, schedule_of_faults
from priolab.testbed.sandbox.schedule import Step
from priolab.testbed.sandbox.shrinking import MOST_TRIES, shrunk
from priolab.testbed.sandbox.spec import SandboxSpec
from priolab.testbed.sandbox.strategies import schedules

_ALL = "partition, hold, crash, stop, down, *.LOSS<=30%, DELAY<=2s, server.RATE>=1mbit, MTU=600"


def _spec(given: Mapping[str, str] = {"DELAY": "40ms"}, limit_s: int = 86_400) -> SandboxSpec:
    return SandboxSpec(
        knobs=knobs.of_way(given),
        seed=1,
        client=("ask",),
        server=("serve",),
        hosts={"phone": ("call",), "empty": ()},
        links={"server": knobs.of_way({"RATE": "10mbit"})},
        environment={},
        folder="/",
        limit_ns=limit_s * 10**9,
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_what_a_seed_draws(seed: int, most: int) -> None:
    """Faults are within their budget, each ends, they can happen, and the same seed draws the same."""
    faults = Faults.parse(f"{_ALL}, faults<={most}, length<=3s, within<=2s", _spec())
    drawn = faults.drawn(seed)
    assert drawn == faults.drawn(seed)
    assert 1 <= len(drawn) <= most
    for each in drawn:
        assert 0 <= each.at_ms <= 2_000
        assert 10 <= each.length_ms <= 3_000
    schedule = schedule_of_faults(drawn)
    assert [text for _, text in faults.scheduled(drawn).schedule] == [event for _, event in schedule]
    begun = sorted((each.begin, each.subject) for each in drawn)
    ended = sorted((each.begin, each.subject) for each in drawn if (f"{each.end_ms / 1000:g}s", each.end) in schedule)
    assert begun == ended
    last = {each.subject: each for each in sorted(drawn, key=lambda each: each.at_ms)}
    assert "empty" not in " ".join(event for _, event in schedule)
    assert all(Step.parse(*pair).at_ns <= 5 * 10**9 for pair in schedule)
    assert len(last) <= len(drawn)


def test_schedules_stay_those_of_their_seeds() -> None:
    """Somebody who noted a seed finds its faults again."""
    faults = Faults.parse(_ALL, _spec())
    assert [schedule_of_faults(faults.drawn(seed)) for seed in (1, 2)] == [SEED_1, SEED_2]


SEED_1 = (("0.683s", "DELAY=1377ms"), ("0.693s", "DELAY=40ms"))
SEED_2 = (
    *(("0.896s", "DELAY=1323ms"), ("0.909s", "DELAY=40ms")),
    *(("1.347s", "server.RATE=8000000bit"), ("1.372s", "server.RATE=10mbit")),
    *(("1.849s", "kill server"), ("1.862s", "restart server")),
)


def test_every_kind_is_drawn_on_every_host() -> None:
    """Without hosts a fault concerns any that has a command, the client only as an end of a cut."""
    faults = Faults.parse(_ALL, _spec())
    begins = {each.begin.partition("=")[0] for seed in range(200) for each in faults.drawn(seed)}
    pairs = ("client server", "client phone", "server phone")
    hosts = ("server", "phone")
    assert begins == {
        *(f"{verb} {pair}" for verb in ("partition", "hold") for pair in pairs),
        *(f"{verb} {host}" for verb in ("kill", "stop", "down") for host in hosts),
        *("LOSS", "server.LOSS", "phone.LOSS", "DELAY", "server.RATE", "MTU"),
    }


def test_a_knob_has_its_first_value_again() -> None:
    """A value is between that at the beginning and the bound, and then it is that at the beginning."""
    faults = Faults.parse(_ALL, _spec())
    drawn = [each for seed in range(150) for each in faults.drawn(seed)]
    ends = {each.begin.partition("=")[0]: each.end for each in drawn if "=" in each.begin}
    assert ends == {
        "LOSS": "LOSS=0%",
        "server.LOSS": "server.LOSS=0%",
        "phone.LOSS": "phone.LOSS=0%",
        "DELAY": "DELAY=40ms",
        "server.RATE": "server.RATE=10mbit",
        "MTU": "MTU=none",
    }
    delays = [int(each.begin.removeprefix("DELAY=").removesuffix("ms")) for each in drawn if "DELAY" in each.begin]
    assert 40 < min(delays) < 300
    assert 1_700 < max(delays) <= 2_000
    rates = {each.begin for each in drawn if "RATE" in each.begin}
    assert rates == {f"server.RATE={megabits}000000bit" for megabits in (1, 2, 4, 8)}


def test_short_lengths_are_as_frequent_as_long_ones() -> None:
    """A tenth of the longest is no rare length."""
    faults = Faults.parse("partition", _spec())
    lengths_ms = [each.length_ms for seed in range(150) for each in faults.drawn(seed)]
    for least_ms, most_ms in ((10, 100), (100, 1_000), (1_000, 5_000)):
        share = sum(least_ms <= each < most_ms for each in lengths_ms) / len(lengths_ms)
        assert 0.2 < share < 0.5


def test_the_budget_is_stated() -> None:
    """In words; a client with a short limit has a smaller one."""
    assert str(Budget()) == "1 to 4 faults, each of 10 ms to 5 s, which begin within 10 s"
    assert Faults.parse("partition", _spec(limit_s=8)).budget == Budget(faults=4, length_ms=2_000, within_ms=4_000)
    assert str(Faults.parse("partition, faults<=1, length<=0.5s, within<=0s", _spec()).budget) == (
        "1 fault, each of 10 ms to 0.5 s, which begin within 0 s"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "--faults= is not allowed; allowed: faults with commas between them: partition, hold, crash, stop, down"),
        ("faults<=3", "--faults=faults<=3 is not allowed; allowed: faults with commas"),
        ("partitoin", "--faults=partitoin is not allowed; allowed: partition; faults with commas"),
        ("partition client", "--faults=partition client is not allowed; allowed: faults with commas"),
        ("partition client tablet", "--faults=partition client tablet is not allowed; allowed: the hosts client, serv"),
        ("down server phone", "--faults=down server phone is not allowed; allowed: faults with commas"),
        ("crash empty", "--faults=0s kill empty is not allowed; allowed: a host with a program; empty has none"),
        ("LOS<=3%", "--faults=LOS<=3% is not allowed; allowed: LOSS; <= after a knob of LOSS, LOSS_UP,"),
        ("LOSS<=3", "--faults LOSS=3 is not allowed; allowed: 0% to 100%, with the percent sign"),
        ("LOSS<=0%", "--faults=LOSS<=0% is not allowed; allowed: a value above that at the beginning, LOSS=0%"),
        ("DELAY<=40ms", "--faults=DELAY<=40ms is not allowed; allowed: a value above that at the beginning, DELAY=40"),
        ("RATE<=1mbit", "--faults=RATE<=1mbit is not allowed; allowed: <= after a knob of LOSS"),
        ("server.RATE>=20mbit", "allowed: a value below that at the beginning, server.RATE=10mbit"),
        ("RATE>=unlimited", "allowed: a value below that at the beginning, RATE=unlimited"),
        ("tablet.LOSS<=3%", "--faults=tablet.LOSS<=3% is not allowed; allowed: * for each host, or one of client, ser"),
        ("JITTER<=1s", "--faults 0s JITTER=1000ms: JITTER=1000ms is not allowed; allowed: a tc time such as 20ms, at"),
        ("QDISC=fq", "--faults=QDISC=fq is not allowed; allowed: = after a knob of RATE,"),
        ("partition, lenght<=3s", "--faults=lenght<=3s is not allowed; allowed: faults with commas"),
        ("partition, length<=3", "--faults=length<=3 is not allowed; allowed: faults with commas"),
        ("partition, faults<=0", "--faults=faults<=0 is not allowed; allowed: 1 to 100 faults"),
        ("partition, within<=86400s", "allowed: lengths from 10ms on, and both together shorter than the client's lo"),
        ("partition, length<=1ms", "--faults=length<=0.001s, within<=10s is not allowed; allowed: lengths from 10ms"),
    ],
)
def test_words_that_are_no_faults(words: str, said: str) -> None:
    """One line says what is allowed."""
    with pytest.raises(ScenarioError) as error:
        Faults.parse(words, _spec())
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_faults_without_a_host() -> None:
    """A client alone has nobody to be cut off from."""
    alone = SandboxSpec(
        knobs=knobs.of_way({}), seed=1, client=("x",), server=None, environment={}, folder="/", limit_ns=10**12
    )
    with pytest.raises(ScenarioError, match=r"allowed: faults with their hosts, as none but client has a command$"):
        Faults.parse("partition", alone)
    with pytest.raises(ScenarioError, match=r"^--faults=lose is not allowed; allowed: faults with commas"):
        Faults.parse("lose", alone)
    assert Faults.parse("LOSS<=3%", alone).drawn(1)


def _fault(name: str, at_ms: int = 1_234, length_ms: int = 3_217) -> Fault:
    return Fault(begin=f"down {name}", end=f"up {name}", subject=name, at_ms=at_ms, length_ms=length_ms)


def _shrunk(faults: Sequence[Fault], fails: Callable[[Sequence[Fault]], bool]) -> tuple[Sequence[Fault], int]:
    tries = 0

    def first_failing(candidates: Sequence[Sequence[Fault]]) -> int | None:
        nonlocal tries
        for number, each in enumerate(candidates):
            tries += 1
            if fails(each):
                return number
        return None

    return shrunk(faults, lambda _: True, first_failing), tries


def test_a_schedule_becomes_as_simple_as_it_can() -> None:
    """One of many faults is left, with a round time and length."""
    faults = [_fault(name) for name in "abcdefgh"]
    simple, tries = _shrunk(faults, lambda each: any(one.begin == "down c" and one.length_ms > 150 for one in each))
    assert simple == (_fault("c", at_ms=0, length_ms=200),)
    assert tries < 60
    both, _ = _shrunk(faults, lambda each: {"down c", "down h"} <= {one.begin for one in each})
    assert both == (_fault("c", 0, 10), _fault("h", 0, 10))
    assert _shrunk(faults, lambda _: True)[0] == ()


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_what_is_left_fails(data: st.DataObject) -> None:
    """Whatever fails, the result fails, has no further fault, and is found with a bounded number of tries."""
    faults = Faults.parse(_ALL, _spec()).drawn(data.draw(st.integers(0, 1000)))
    needed = data.draw(st.sets(st.sampled_from(faults)))
    long_ms = data.draw(st.integers(0, 6_000))

    def fails(each: Sequence[Fault]) -> bool:
        kept = {one.begin: one for one in each}
        return all(one.begin in kept and kept[one.begin].length_ms >= min(long_ms, one.length_ms) for one in needed)

    simple, tries = _shrunk(faults, fails)
    assert fails(simple)
    assert len(simple) == len({each.begin for each in needed})
    assert tries <= MOST_TRIES
    assert _shrunk(faults, fails)[0] == simple


def test_only_what_can_happen_is_tried() -> None:
    """A shorter or earlier fault does not run into another one."""
    tried: list[Sequence[Fault]] = []

    def first_failing(candidates: Sequence[Sequence[Fault]]) -> int | None:
        tried.extend(candidates)
        return None

    faults = (_fault("a", 1_000, 50), _fault("a", 1_234, 500))
    possible = Faults.parse("down", _spec()).possible
    named = tuple(
        Fault(begin="down phone", end="up phone", subject="x", at_ms=f.at_ms, length_ms=f.length_ms) for f in faults
    )
    shrunk(named, possible, first_failing)
    assert tried
    assert all(possible(each) for each in tried)


def test_hypothesis_draws_and_shrinks() -> None:
    """Its simplest schedule is one short fault at the beginning; all of its schedules can happen."""
    few = settings(max_examples=200, deadline=None)
    strategy = schedules("partition, crash server, LOSS<=30%, faults<=2", hosts=["server", "phone"])
    assert find(strategy, lambda _: True, settings=few) == (
        ("0s", "partition client server"),
        ("0.01s", "heal client server"),
    )
    crash = find(strategy, lambda each: any(event == "kill server" for _, event in each), settings=few)
    assert crash == (("0s", "kill server"), ("0.01s", "restart server"))
    with pytest.raises(ScenarioError, match=r"^faults=crash tablet is not allowed"):
        schedules("crash tablet")
    slow = schedules("DELAY<=2s", links={"client": {"DELAY": "50ms"}}, limit_s=4)
    assert find(slow, lambda _: True, settings=few) == (("0s", "DELAY=51ms"), ("0.01s", "DELAY=50ms"))
