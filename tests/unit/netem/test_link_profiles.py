"""Links that people name."""

import pytest

from priolab.common.errors import ScenarioError
from priolab.netem import units
from priolab.netem.link_options import link_from
from priolab.netem.link_profiles import STANDS_FOR, layered, profiles, with_profile
from priolab.testbed.sandbox import knobs


@pytest.mark.parametrize("name", profiles())
def test_a_profile_is_a_link(name: str) -> None:
    """Every profile is an allowed link, with half of the round trip in each direction."""
    profile = profiles()[name]
    assert tuple(profile.knobs) == STANDS_FOR
    link = link_from(profile.knobs)
    rates = link.rate_bit_s, link.rate_up_bit_s
    assert rates == (units.parse_rate_bit_s(profile.down), units.parse_rate_bit_s(profile.up))
    assert link.delay_ns == link.delay_up_ns == profile.round_trip_ns / 2


def test_the_same_word_is_another_link() -> None:
    """All three projects have a link `dsl`, and no two of the three are the same."""
    named = {name: profile for name, profile in profiles().items() if name.endswith("-dsl")}
    assert [name.partition("-")[0] for name in named] == ["sitespeed", "wpt", "firefox"]
    assert len(set(named.values())) == 3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"LINK": "none", "RATE": "1mbit"}, {"RATE": "1mbit"}),
        ({"LINK": "wpt-dsl"}, {"RATE": "1500kbit", "RATE_UP": "384kbit", "DELAY": "25ms", "DELAY_UP": "25ms"}),
        ({"LINK": " wpt-dsl "}, {"RATE": "1500kbit", "RATE_UP": "384kbit", "DELAY": "25ms", "DELAY_UP": "25ms"}),
        (
            {"LINK": "firefox-dsl", "DELAY": "1s", "RATE_UP": "unlimited"},
            {"RATE": "2000kbit", "RATE_UP": "unlimited", "DELAY": "1s", "DELAY_UP": "2.5ms"},
        ),
        ({"LINK": "2mbit/5.5ms"}, {"RATE": "2mbit", "RATE_UP": "2mbit", "DELAY": "2.75ms", "DELAY_UP": "2.75ms"}),
        ({"LINK": "2mbit/1mbit/1ms"}, {"RATE": "2mbit", "RATE_UP": "1mbit", "DELAY": "0.5ms", "DELAY_UP": "0.5ms"}),
        ({"LINK": "wpt-dsl", "TRACE": "t", "TRACE_UP": "u"}, {"DELAY": "25ms", "DELAY_UP": "25ms"}),
    ],
)
def test_what_a_name_stands_for(given: dict[str, str], expected: dict[str, str]) -> None:
    """A profile sets two rates and two delays; one that is given counts, and a trace has the rate."""
    found = with_profile(given)
    assert {name: text for name, text in found.items() if name in STANDS_FOR} == expected
    assert with_profile(found) == found


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        ({"RATE": "1mbit", "LOSS": "1%"}, {"LINK": "wpt-4g"}, {"LOSS": "1%", "LINK": "wpt-4g"}),
        ({"RATE": "1mbit"}, {"LINK": "wpt-4g", "RATE": "2mbit"}, {"LINK": "wpt-4g", "RATE": "2mbit"}),
        ({"RATE": "1mbit"}, {"LINK": "none"}, {"RATE": "1mbit", "LINK": "none"}),
        ({"LINK": "wpt-4g"}, {"RATE": "1mbit"}, {"LINK": "wpt-4g", "RATE": "1mbit"}),
    ],
)
def test_a_profile_over_other_knobs(below: dict[str, str], above: dict[str, str], expected: dict[str, str]) -> None:
    """A profile replaces the rates of a scenario's file, whoever gives it later; rates given later count."""
    assert layered(below, above) == expected


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("4g", "sitespeed-4g, wpt-4g, firefox-regular-4g; `priolab list`"),
        ("WPT-4G", "wpt-4g; "),
        ("sitespeed-lt", "sitespeed-lte"),
        ("moon", f"{', '.join(profiles())}; RATE/RATE_UP/ROUND_TRIP or"),
        ("", ", ".join(profiles())),
        ("2mbit/50", "RATE/RATE_UP/ROUND_TRIP or RATE/ROUND_TRIP, such as"),
        ("2000/50ms", "RATE/RATE_UP/ROUND_TRIP"),
        ("1mbit/1mbit/1mbit/50ms", "RATE/RATE_UP/ROUND_TRIP"),
    ],
)
def test_an_unknown_name(text: str, near: str) -> None:
    """The error has the nearest names, or all of them."""
    with pytest.raises(ScenarioError) as caught:
        with_profile({"LINK": text})
    assert str(caught.value).startswith(f"LINK={text} is not allowed; allowed: {near}")


def test_a_sandbox() -> None:
    """The client's link and that of another host may be profiles; the latter's error has the host."""
    given, links = knobs.parsed(["LINK=wpt-4g", "phone.LINK=sitespeed-2g", "phone.RATE=1mbit"])
    assert knobs.of_way(given) == {**profiles()["wpt-4g"].knobs, "QUEUE": "1000"}
    assert knobs.of_way(links["phone"])["RATE"] == "1mbit"
    knobs.check_link("phone", links["phone"], ["phone"])
    with pytest.raises(ScenarioError, match=r"^phone\.LINK=2g is not allowed; allowed: sitespeed-2g"):
        knobs.check_link("phone", {"LINK": "2g"}, ["phone"])
