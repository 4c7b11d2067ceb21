"""Claims of the story and the talk: each number, order, place and colour has some, and they can fail."""

import re
from pathlib import Path

import pytest

from priolab.common.home import ROOT
from priolab.extras.demo.story import Sentence, closing, joined, steps
from priolab.extras.demo.tests.claims import State, fault, placed
from priolab.extras.demo.tests.sentences import spoken, states, story_claims

TALK = (ROOT / "docs/guide/talk.md").read_text()
_TESTS = Path(__file__).parents[1]
_SEEN: State = {
    "above.kernel": 644 * 1024.0,
    "below.kernel": 190 * 1024.0,
    "below.rate": 128_000.0,
    "above.script begins": 6.69,
    "below.script begins": 2.96,
    "above.verdict": "order inverted",
    "the colour of script": "orange",
}


@pytest.mark.parametrize(
    "claim",
    [
        "above.kernel > 600 KiB",
        "above.kernel > below.kernel * 3",
        "below.script begins < 0.5 * above.script begins",
        "64 KiB / below.rate > 0.5 s",
        "below.rate = 128 kB/s",
        "above.script begins = 6690 ms",
        "above.verdict = order inverted",
        "the colour of script = orange",
    ],
)
def test_a_claim_holds(claim: str) -> None:
    """Quantities are compared with numbers, with each other, and with texts."""
    assert fault(claim, _SEEN) is None


@pytest.mark.parametrize(
    "claim",
    [
        "above.kernel < 600 KiB",
        "above.kernel = 644 MiB",
        "above.script begins = 6.75 s",
        "above.verdict = order kept",
        "above.verdict > 1",
        "above.front = 0 KiB",
        "below.verdict = order kept",
        "the colour of image = blue",
    ],
)
def test_a_claim_fails(claim: str) -> None:
    """A claim fails if it is false, and if the page does not show what it is about."""
    assert str(fault(claim, _SEEN)).startswith(claim)


def test_no_claim() -> None:
    """A text that compares nothing is no claim; a claim without a place says how to give one."""
    with pytest.raises(ValueError, match="LEFT = RIGHT"):
        fault("the image is late", _SEEN)
    with pytest.raises(ValueError, match="does not say where it holds"):
        placed("", "above.kernel > 1 KiB")
    with pytest.raises(ValueError, match="either claims, or talk"):
        Sentence(words="Nothing ever waits.")
    with pytest.raises(ValueError, match="either claims, or talk"):
        Sentence(words="Nothing ever waits.", talk=True, claims=("end: above.verdict = order kept",))


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("HTTP/2 lets a client say which response is urgent.", []),
        ("The limit is 16 KiB, half of 32.", ["16", "half", "32."]),
        ("Orange comes first, and blue later.", ["Orange", "first", "blue", "later"]),
        ("Below, the image waits in the front.", ["Below", "front"]),
    ],
)
def test_words_that_state_something(sentence: str, words: list[str]) -> None:
    """Numbers, orders, places and colours are found; the version in a protocol's name is no number."""
    assert states(sentence) == words


def test_what_states_something_is_no_talk() -> None:
    """A sentence of the story that states a number, an order, a place or a colour has claims; no bet does so."""
    sentences = [each for step in steps() for each in (*step.text, *step.say)] + [*closing().points, *closing().say]
    assert [(each.words, states(each.words)) for each in sentences if each.talk and states(each.words)] == []
    assert [step.bet for step in steps() if step.bet and states(step.bet)] == []
    assert all(claim.text.count(" ") >= 2 for claim in story_claims())


def test_the_talk_is_tied() -> None:
    """In docs/guide/talk.md such a sentence is the story's, or its comment ties it to claims or to a test that exists.

    An answer to a question has a link to what was measured.
    """
    told, _, answers = TALK.partition("\n## Questions that come\n")
    says = [*(joined(step.say) for step in steps()), joined(closing().say)]
    of_story = {each.words for each in spoken("\n\n".join(says))}
    tests = set(re.findall(r"^def (test_\w+)\(", "\n".join(f.read_text() for f in _TESTS.rglob("test_*.py")), re.M))
    loose = [each for each in spoken(told) if states(each.words) and not each.tied and each.words not in of_story]
    assert [(each.words, states(each.words)) for each in loose] == []
    tied = [text for each in spoken(told) for text in each.tied]
    assert {text for text in tied if text.startswith("test_")} <= tests
    assert len([placed("", text) for text in tied if not text.startswith("test_")]) > 4
    for answer in answers.split("\n- ")[1:]:
        assert not states(answer) or "](" in answer, answer
