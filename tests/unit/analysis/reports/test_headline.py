"""Tests of the sentences that say first what an experiment showed."""

from dataclasses import replace
from typing import Any

import pytest

from priolab.analysis.records.runs import Run
from priolab.analysis.reports.headline import headline
from priolab.analysis.reports.summary import summarize
from tests.support.builders import experiment, load_record, run


def arm(name: str, first_s: float = 1.0, verdict: str = "kept", **knobs: str) -> Run:
    """Return an ok run of an arm whose script's first byte came at this time."""
    return run(name, verdict=verdict, loads=[load_record((first_s * 1000, 9e4), (1.0, 4.0))], knobs=knobs)


def told(*runs: Run) -> list[str]:
    return headline(summarize(experiment(*runs))["arms"])


CONTROL = arm("control", 6.68, "inverted", LOWAT="none")


def test_sooner() -> None:
    """An arm with LOWAT is compared with its control: the difference comes first, then times and verdicts."""
    (said,) = told(CONTROL, arm("lowat-131072", 2.96, LOWAT="131072"))
    assert said == (
        "the script came 3.7 s sooner in lowat-131072 than in control: first byte at 2.96 s, not 6.68 s "
        "(kept, not inverted)"
    )


@pytest.mark.parametrize(
    ("first_s", "words"),
    [
        (7.5, "came 820 ms later in small than in control: first byte at 7.50 s, not 6.68 s (undecided, not inverted)"),
        (
            6.70,
            "came at the same time in small as in control: first byte at 6.70 s and 6.68 s (undecided, not inverted)",
        ),
    ],
)
def test_later_or_at_the_same_time(first_s: float, words: str) -> None:
    """LOWAT may also do harm. A difference of less than one TLS record's time is none."""
    assert told(CONTROL, arm("small", first_s, "undecided", LOWAT="4096")) == [f"the script {words}"]


@pytest.mark.parametrize(
    ("late_ms", "words"),
    [
        ((5870.0, 5890.0), "came as late in"),
        ((128.0, 128.0), "came as late in"),
        ((100.0, 127.9), "came as soon in"),
        ((127.9, 140.0), "came at the same time in"),
        ((None, 5890.0), "came at the same time in"),
    ],
)
def test_as_late_or_as_soon(late_ms: tuple[float | None, float], words: str) -> None:
    """Arms that are equally late come as late; only arms that are on time come as soon. One record takes 128 ms."""
    arms = summarize(experiment(CONTROL, arm("new", 6.70, "inverted", LOWAT="131072")))["arms"]
    told = [
        {**each, "oracle": None if late is None else {"inversion_ms": late}}
        for each, late in zip(arms, late_ms, strict=True)
    ]
    assert headline(told) == [
        f"the script {words} new as in control: first byte at 6.70 s and 6.68 s (inverted in both)"
    ]


def test_the_record_is_that_of_the_link() -> None:
    """On a fast link a small difference counts."""
    knobs = {"RATE": "unlimited", "DELAY": "0ms"}
    (said,) = told(
        arm("control", 0.250, "inverted", LOWAT="none", **knobs), arm("new", 0.21, "inverted", LOWAT="4096", **knobs)
    )
    assert said.startswith("the script came 40 ms sooner in new than in control")
    assert said.endswith("(inverted in both)")


def test_each_has_its_own_control() -> None:
    """Arms are compared within the same server; an arm without a control is not mentioned."""
    said = told(
        arm("nginx-control", 6.0, LOWAT="none", SERVER="nginx"),
        arm("nginx-lowat", 2.0, LOWAT="4096", SERVER="nginx"),
        arm("h2o-control", 5.0, LOWAT="none", SERVER="h2o"),
        arm("h2o-lowat", 2.0, LOWAT="4096", SERVER="h2o"),
        arm("caddy-lowat", 1.0, LOWAT="4096", SERVER="caddy"),
    )
    assert [" ".join(each.split()[:9]) for each in said] == [
        "the script came 4.0 s sooner in nginx-lowat than",
        "the script came 3.0 s sooner in h2o-lowat than",
    ]


def test_without_a_control() -> None:
    """If no arm has a control, arms are compared with the first one. Many comparisons are left to the table."""
    arms = [arm(f"arm-{number}", 9.0 - number, LOWAT="4096", RATE=f"{number + 1}mbit") for number in range(9)]
    said = told(*arms)
    assert said[0].startswith("the script came 1.0 s sooner in arm-1 than in arm-0")
    assert said[6:] == ["the table has 2 more to compare"]


def test_nothing_to_prioritize() -> None:
    """If no arm had anything to prioritize, the reason comes first, and times mean nothing."""
    verdict = "nothing-to-prioritize"
    said = told(arm("control", 6.0, verdict, LOWAT="none"), arm("new", 1.0, verdict, LOWAT="4096"))
    assert said == ["nothing to prioritize in any arm: nothing-to-prioritize, because"]


def test_arms_that_failed() -> None:
    """An arm that is not ok is named, and is compared with nothing."""
    failed, invalid = (run("new", status=status, knobs={"LOWAT": "4096"}) for status in ("failed", "invalid"))
    assert told(CONTROL, failed) == ["new failed, so control has nothing to be compared with"]
    assert told(CONTROL, invalid) == ["new is invalid, so control has nothing to be compared with"]
    assert told(run("control", status="failed", knobs={"LOWAT": "none"}), failed) == [
        "no arm is ok, so there is nothing to compare"
    ]
    assert told(failed) == ["new failed"]


def test_one_arm() -> None:
    """A single arm is compared with what is possible."""
    alone = summarize(experiment(arm("new", 2.96)))["arms"][0]

    def said(inversion_ms: float | None) -> str:
        oracle: dict[str, Any] | None = None if inversion_ms is None else {"inversion_ms": inversion_ms}
        return headline([{**alone, "oracle": oracle}])[0]

    assert said(2150.0) == "the script came 2.1 s later than possible: first byte at 2.96 s, not 0.81 s (kept)"
    assert said(100.0) == "the script came as soon as possible: first byte at 2.96 s (kept)"
    assert said(None) == "the script came: first byte at 2.96 s (kept)"


def test_pages_with_other_names() -> None:
    """The focal resource is called by its name; if the arms' pages do not share it, by its role."""
    usual = load_record((1e3, 9e3), (1.0, 4.0))
    loads = {
        name: replace(usual, focal=name, resources={name: usual.resources["script"]}) for name in ("tokens", "chat")
    }
    control = summarize(experiment(run("control", loads=[loads["tokens"]], knobs={"LOWAT": "none"})))["arms"]
    for name, words in (("tokens", "the tokens came at"), ("chat", "the important resource came at")):
        other = summarize(experiment(run("new", loads=[loads[name]], knobs={"LOWAT": "4096"})))["arms"]
        assert headline([*control, *other])[0].startswith(words)


def test_a_probe() -> None:
    """A probe has no time of its own to compare."""
    arms = summarize(experiment(CONTROL))["arms"]
    assert headline([{**arms[0], "probe": {}}]) == []


def test_alone() -> None:
    """Of a resource without company the last byte and the goodput count."""
    arms = summarize(experiment(CONTROL, arm("new", 2.96, LOWAT="131072")))["arms"]
    alone = [{**each, "others_last_byte_ms": None, "goodput_bit_s": 95_100_000} for each in arms]
    assert headline(alone[:1]) == ["the script was complete at 90.00 s (95.1 Mbit/s) (inverted)"]
    (told,) = headline(alone)
    assert told == (
        "the script was complete at the same time in new as in control: last byte at 90.00 s (95.1 Mbit/s) and "
        "90.00 s (95.1 Mbit/s) (kept, not inverted)"
    )


def test_nothing_is_important() -> None:
    """Of a page that marks nothing as important the last bytes and the goodput are told, and no verdict."""
    arms = summarize(experiment(CONTROL, arm("new", LOWAT="131072")))["arms"]
    for each in arms:
        for resource in each["scenario"]["resources"]:
            resource["important"] = False
        each["goodput_bit_s"] = 95_100_000
    assert headline(arms) == [
        "the page was complete at 90.00 s (95.1 Mbit/s) in control, at 90.00 s (95.1 Mbit/s) in new"
    ]
    arms[0]["status"] = "failed"
    assert headline(arms) == ["the page was complete at 90.00 s (95.1 Mbit/s) in new; control failed"]
