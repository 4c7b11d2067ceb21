"""Hypotheses about TCP_NOTSENT_LOWAT: verdicts that follow from figures, the document's places, the pictures."""

from collections.abc import Mapping

import pytest

from priolab.analysis.reports.markdown import places
from priolab.common.errors import InvalidRun
from priolab.experiments.commands.study import document_of
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import with_defaults
from priolab.extras.studies import hypothesis_picture, myths
from priolab.extras.studies.hypothesis import (
    DELAY,
    FIRST_BYTE,
    GOODPUT,
    LABS,
    MEMORY,
    WAKEUPS,
    Found,
    Hypothesis,
    Quantity,
    Word,
    table,
)
from priolab.extras.studies.kernel_hypotheses import KTLS, SENDFILE, STALL
from priolab.extras.studies.order_hypotheses import BBR, EVENTS, HTTP3
from priolab.extras.studies.transfer_hypotheses import ROUND_TRIP, SMALLER, SNDBUF, SYSTEM_WIDE
from tests.support.declarations import valid

Figures = Mapping[str, Mapping[Quantity, float]]


def _found(hypothesis: Hypothesis, figures: Figures) -> Found:
    """Return the figures of a hypothesis: those given, and 100 for all others."""
    return {
        case.name: dict.fromkeys(hypothesis.quantities, 100.0) | dict(figures.get(case.name, {}))
        for case in hypothesis.cases
    }


_STREAMS = ("beside a download", "alone", "alone, too fast")
_FEW = {"one file, unset": {WAKEUPS: 90.0}}
_REACHED: Figures = {
    "one server, unset": {FIRST_BYTE: 200.0},
    "two, neither set": {FIRST_BYTE: 200.0},
    "own option (h2o), unset": {FIRST_BYTE: 200.0},
}
_SHORT: Figures = {"near, fixed, unset": {FIRST_BYTE: 120.0}}


@pytest.mark.parametrize(
    ("hypothesis", "figures", "word", "said"),
    [
        (ROUND_TRIP, {}, Word.FALSE, "at most 0.0%"),
        (ROUND_TRIP, {"fresh, 128K": {GOODPUT: 95.0}}, Word.TRUE, "at most 5.0%"),
        (ROUND_TRIP, {"grown, 128K": {GOODPUT: 5e7}, "grown, unset": {GOODPUT: 9e7}}, Word.PARTLY, "10 times 128 KiB"),
        (SYSTEM_WIDE, {}, Word.FALSE, "1.0 times"),
        (SYSTEM_WIDE, {**_REACHED, **_FEW}, Word.TRUE, "2.0 times"),
        (SYSTEM_WIDE, {**_REACHED, "one file, set": {WAKEUPS: 150.0}}, Word.PARTLY, "150 wake-ups per MB, not 100"),
        (SYSTEM_WIDE, {**_REACHED, "two, neither set": {FIRST_BYTE: 100.0}}, Word.PARTLY, "does not reach"),
        (SMALLER, {}, Word.TRUE, "100 ms (1K)"),
        (SMALLER, {"1K": {WAKEUPS: 200.0}}, Word.FALSE, "2.0 times as many wake-ups"),
        (SMALLER, {"slow server, 4K": {GOODPUT: 50.0}}, Word.FALSE, "50 bit/s with 4K"),
        (SMALLER, {"bbr, 1K": {FIRST_BYTE: 120.0}}, Word.FALSE, "120 ms with 1K"),
        (SNDBUF, _SHORT, Word.TRUE, "100 ms, with SO_SNDBUF after 120 ms"),
        (SNDBUF, {**_SHORT, "far, fixed, 128K": {GOODPUT: 13.0}}, Word.PARTLY, "13 bit/s"),
        (SNDBUF, {**_SHORT, "far, fixed, unset": {MEMORY: 10.0}}, Word.PARTLY, "memory"),
        (SNDBUF, {"near, autotuned, 128K": {FIRST_BYTE: 120.0}}, Word.FALSE, "does not"),
        (BBR, {}, Word.TRUE, "100 ms and 100 ms with BBR;"),
        (BBR, {"BBR, unset": {FIRST_BYTE: 150.0}}, Word.PARTLY, "150 ms and 100 ms with BBR;"),
        (
            BBR,
            {name: {FIRST_BYTE: 150.0} for name in ("BBR, unset", "BBR and a deep queue, unset")},
            Word.FALSE,
            "150 ms and 100 ms with BBR and a deep queue.",
        ),
        (EVENTS, {}, Word.FALSE, "100 ms and 100 ms alone"),
        (EVENTS, {"alone, unset": {DELAY: 150.0}}, Word.PARTLY, "150 ms and 100 ms alone"),
        (EVENTS, {f"{stream}, unset": {DELAY: 150.0} for stream in _STREAMS}, Word.TRUE, "150 ms and 100 ms alone"),
        (HTTP3, {}, Word.TRUE, "100 ms (traefik-h3)"),
        (HTTP3, {"traefik-h3, unset": {FIRST_BYTE: 150.0}}, Word.PARTLY, "150 ms (traefik-h3)"),
        (HTTP3, {"traefik, 128K": {FIRST_BYTE: 50.0}}, Word.FALSE, "50 ms with LOWAT=131072"),
        (KTLS, {}, Word.TRUE, "after 100 ms, and with LOWAT=16384 after 100 ms"),
        (KTLS, {"kTLS, unset": {FIRST_BYTE: 150.0}}, Word.FALSE, "after 150 ms, and with LOWAT=16384 after 100 ms"),
        (STALL, {}, Word.FALSE, "loses 0% (paced), 0% (paced, 20 ms)"),
        (
            STALL,
            {"paced, before 5.18": {GOODPUT: 80.0}},
            Word.PARTLY,
            "loses 20% (paced), 0% (paced, 20 ms)",
        ),
        (STALL, {"not paced, now": {GOODPUT: 80.0}}, Word.TRUE, "at most 20% of the goodput"),
    ],
)
def test_a_verdict_follows_from_the_figures(hypothesis: Hypothesis, figures: Figures, word: Word, said: str) -> None:
    """Each word has its figures, and the sentence has those that decide."""
    found = _found(hypothesis, figures)
    verdict = hypothesis.judge(found)
    assert verdict.word is word
    assert said in verdict.because
    assert hypothesis.holds(found) == (word is hypothesis.expected)


def test_no_verdict_without_ktls() -> None:
    """If nginx has sent nothing by sendfile(2) and kTLS, the figures say nothing about them."""
    with pytest.raises(InvalidRun, match=r"sendfile\(2\), observed none"):
        KTLS.judge(_found(KTLS, {"kTLS, 128K": {SENDFILE: 0.0}}))


def test_the_document() -> None:
    """The document has the places of all hypotheses; the study does not hold when a verdict is another one."""
    found = myths.findings([(hypothesis, _found(hypothesis, {})) for hypothesis in myths.HYPOTHESES])
    assert found.places.keys() == places(document_of("myths")).keys()
    assert not found.holds
    assert "\n\n**False.** With LOWAT" in found.places["events"]
    assert "| case: unset, 128K, 16K | goodput |" in found.places["round-trip"]
    assert "| grown | 100 bit/s | 0 KiB |" in found.places["round-trip"]
    assert myths.findings([(ROUND_TRIP, _found(ROUND_TRIP, {}))]).holds


@pytest.mark.parametrize("hypothesis", myths.HYPOTHESES, ids=lambda hypothesis: hypothesis.name)
def test_a_hypothesis(hypothesis: Hypothesis) -> None:
    """Its cases can be run and have names of their own, its commands name all values, and its picture is valid.
    Cases with a kernel of the study's own have no command but the study's.
    """
    assert len({case.name for case in hypothesis.cases}) == len(hypothesis.cases)
    for case in hypothesis.cases:
        knobs = {name: value for name, value in case.knobs.items() if name != "CONFIG"}
        assert Arm(name="arm", knobs=with_defaults(knobs)).scenario
    lowats = [line.split("LOWAT=")[-1].partition(" CONTROL=no")[0] for line in hypothesis.commands if "LOWAT=" in line]
    assert sum(len(values.split(",")) for values in lowats) == sum(case.kernel == LABS for case in hypothesis.cases)
    assert any(line.startswith("make myths ") for line in hypothesis.commands) == any(
        case.kernel != LABS for case in hypothesis.cases
    )
    declaration = valid(hypothesis_picture.draw(hypothesis, _found(hypothesis, {})))
    bars = [panel["layer"][0]["data"]["values"] for panel in declaration["vconcat"]]
    assert [len(rows) for rows in bars] == [len(each.cases) + (each.claimed is not None) for each in hypothesis.panels]


def test_cases_share_a_row() -> None:
    """Cases that differ in the last part of their names share a row, in which each unit and each value is said once."""
    rows = [
        ("a, unset", "2.00 s", "0.5", "1 KiB"),
        ("a, 1K", "500 ms", "7", "1 KiB"),
        ("a, 2K", "400 ms", "8", "1 KiB"),
    ]
    shared, other = table(["time", "count", "size"], [*rows, ("1K", "1 ms", "9", "2 KiB")]).rows
    assert shared == ("a", "unset, 1K, 2K", "2.00 s, 500, 400 ms", "0.5, 7, 8", "1 KiB")
    assert other == ("plain", "1K", "1 ms", "9", "2 KiB")


def test_a_configuration_with_a_fixed_buffer() -> None:
    """The file that the command makes sets the buffer of the lab's own configuration once."""
    ((name, text),) = SNDBUF.files.items()
    assert text().count("sndbuf=256k;") == 1
    assert SNDBUF.commands[0].endswith(f"> {name}")
