"""Tests of the reproduction of the article's pictures, and of the page that reports it."""

import re
from dataclasses import replace

import pytest

from priolab.common.formats.run import Verdict
from priolab.extras.reproduction import claims
from priolab.extras.reproduction.article import Compared
from priolab.extras.reproduction.claims import Claim, chosen
from priolab.extras.reproduction.figures import Figures
from priolab.extras.reproduction.loads import LoadSeen
from priolab.extras.reproduction.page import Page, Picture, html

CONTROL = Figures(
    lowat_bytes=None,
    verdict=Verdict.INVERTED,
    script_first_s=6.7,
    script_last_s=12.4,
    image_first_s=0.7,
    image_last_s=6.5,
    available_s=0.5,
    possible_s=0.8,
    image_before_bytes=716_800,
    record_s=0.13,
)
TREATMENT = replace(
    CONTROL, lowat_bytes=131_072, verdict=Verdict.KEPT, script_first_s=3.0, script_last_s=9.0, image_last_s=12.4
)
LADDER = [
    replace(TREATMENT, lowat_bytes=lowat, script_first_s=first_s)
    for lowat, first_s in ((4096, 1.9), (16_384, 1.95), (65_536, 2.4), (131_072, 3.0))
]


def load(number: int, verdict: Verdict, first_byte_s: float = 3.0, sndbuf_bytes: int | None = 46_080) -> LoadSeen:
    return LoadSeen(
        number=number,
        first_byte_s=first_byte_s,
        before=0.5,
        verdict=verdict,
        sndbuf_bytes=sndbuf_bytes,
        unsent_bytes=sndbuf_bytes,
    )


GROWN = [load(1, Verdict.KEPT, 1.6), load(2, Verdict.UNDECIDED), load(3, Verdict.INVERTED, 7.9, 737_280)]
BOUNDED = [load(1, Verdict.KEPT, 1.6), load(2, Verdict.KEPT), load(3, Verdict.UNDECIDED, 4.1)]


@pytest.mark.parametrize("verdict", Verdict)
def test_pictures_go_by_their_verdict(verdict: Verdict) -> None:
    """Each of three pictures is reproduced by one verdict, and by no other verdict."""
    seen = replace(CONTROL, verdict=verdict)
    assert claims.fast_link(seen).holds == (verdict is Verdict.NOTHING)
    assert claims.slow_link(seen).holds == (verdict is Verdict.INVERTED)
    assert claims.with_lowat(CONTROL, replace(TREATMENT, verdict=verdict)).holds == (verdict is Verdict.KEPT)


def test_lowat_must_bring_it_sooner() -> None:
    """The picture with LOWAT is not reproduced if the script comes no sooner with LOWAT than without."""
    claim = claims.with_lowat(replace(CONTROL, script_first_s=2.9), TREATMENT)
    assert (claim.holds, claim.word) == (False, "not reproduced")
    assert "0.10 s later than with LOWAT unset" in claim.here


def test_the_question_is_answered() -> None:
    """The answer is the largest LOWAT whose first byte is at most one TLS record's time after the earliest."""
    claim = claims.which_value(CONTROL, LADDER)
    assert chosen(LADDER).lowat_bytes == 16_384
    assert (claim.holds, claim.word) == (True, "answered")
    assert claim.here.startswith("With LOWAT 16384 the script's first byte comes at")


def test_the_tolerance_may_be_chosen() -> None:
    """With a larger tolerance the answer is a larger value."""
    values = [chosen(LADDER, tolerance_s).lowat_bytes for tolerance_s in (0.0, 0.5, 5.0)]
    assert values == [4096, 65_536, 131_072]


def test_a_value_that_costs_time_leaves_the_question_open() -> None:
    """The question is open if a LOWAT delays the page, or brings the script later than the next larger LOWAT."""
    slow = replace(LADDER[0], image_last_s=13.1)
    assert claims.which_value(CONTROL, [slow, *LADDER[1:]]).word == "not answered"
    late = replace(LADDER[0], script_first_s=2.2)
    claim = claims.which_value(CONTROL, [late, *LADDER[1:]])
    assert not claim.holds
    assert "With LOWAT 4096 the script comes later than with the next larger value." in claim.here


def test_only_after_several_reloads() -> None:
    """The article's picture 5 is reproduced if the first load is kept, and a later load is inverted.

    In the later load the send buffer has grown.

    With LOWAT no load may be inverted.
    """
    claim = claims.by_load(GROWN, BOUNDED)
    assert claim.holds
    assert "load 1 came at 1.60 s, with a send buffer of 45 KiB. Load 3 was inverted: first byte 7.90 s" in claim.here


@pytest.mark.parametrize(
    ("control", "treatment"),
    [
        ([load(1, Verdict.INVERTED), *GROWN[1:]], BOUNDED),
        (GROWN[:2], BOUNDED),
        (GROWN, [*BOUNDED, load(4, Verdict.INVERTED)]),
    ],
    ids=["inverted at once", "never inverted", "inverted with LOWAT"],
)
def test_otherwise_it_is_not(control: list[LoadSeen], treatment: list[LoadSeen]) -> None:
    """Picture 5 is not reproduced if the first load is inverted, if no load is, or if a load with LOWAT is."""
    assert claims.by_load(control, treatment).word == "not reproduced"


def page(*claims: Claim) -> Page:
    svg = (
        '<svg class="marks" width="200" height="100" viewBox="0 0 200 100" xmlns="http://www.w3.org/2000/svg">'
        '<defs><clipPath id="clip0"/></defs><g clip-path="url(#clip0)"/></svg>'
    )
    pictures = [Picture(claim=claim, svg=svg, table=[["arm", "first"], ["a < b", "1 s"]]) for claim in claims]
    return Page(pictures=pictures, set_up=[Compared(what="server", article="nginx 1.5.10", here="nginx & co")])


def claim(*, holds: bool = True, is_question: bool = False) -> Claim:
    return Claim(
        title="A <link>",
        source="picture 7.2",
        article="It was",
        here="It is",
        numbers=[Compared(what="first byte", article="seconds later", here="6.7 s")],
        criterion="so",
        holds=holds,
        is_question=is_question,
    )


def test_the_page_counts() -> None:
    """The headline counts pictures and the question apart. The page holds only if every claim holds."""
    asked = claim(is_question=True)
    assert page(claim(), claim(holds=False), asked).headline == (
        "1 of 2 pictures reproduced; the open question answered"
    )
    assert page(claim(), asked).holds
    assert not page(claim(), claim(holds=False)).holds


def test_the_html_is_alone() -> None:
    """The HTML refers to nothing outside of the page, escapes texts, and has unique ids in its pictures."""
    text = html(page(claim(), claim(holds=False)))
    assert not re.search(r"<(link|script|img)|@import|url\((?!#)", text)
    assert "1. A &lt;link&gt;" in text
    assert "a &lt; b" in text
    assert text.count("not reproduced") == 1
    ids = re.findall(r'id="([^"]+)"', text)
    assert len(set(ids)) == len(ids) == 2
    assert set(re.findall(r"url\(#([^)]+)\)", text)) == set(ids)
