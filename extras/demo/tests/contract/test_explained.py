"""The texts of the explanation: the same in each language, and without a number of their own."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from priolab.extras.demo.publish import EXPLAINED
from priolab.extras.demo.recorded import in_tree
from priolab.extras.demo.summary import summary
from priolab.extras.demo.tests.explained import CHOICES, LANGUAGES, facts, recording, strings

_MARK = re.compile(r"\{([\w.]+)\}|\[(\w+)\|[^\]]+\]")
_SAID = re.compile(r"HTTP/2|1 KiB|1 kB|1[.,]0(?:24|00)|131072|128 KiB|16384|tcp_notsent_lowat|ipv4|h2o")
"""Numbers that belong to a name, a unit, or a value to set."""


def _texts(document: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(document, str):
        yield path, document
        return
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in pairs:
        yield from _texts(value, f"{path}/{key}")


def _marks(language: str) -> dict[str, list[str]]:
    return {path: sorted(a or b for a, b in _MARK.findall(text)) for path, text in _texts(strings()[language])}


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_each_language_has_the_same_marks(language: str) -> None:
    """A translation has the same keys, and in each text the same facts and words that explain themselves."""
    english, other = (_marks(each) for each in ("en", language))
    assert english.keys() == other.keys()
    assert {path: (marks, other[path]) for path, marks in english.items() if marks != other[path]} == {}
    assert [path for path, text in _texts(strings()[language]) if not text.strip()] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_word_has_a_sentence(language: str) -> None:
    """Each word that can be tapped is explained, in one or two sentences, without another such word."""
    said = strings()[language]
    used = {word for _, text in _texts(said) for _, word in _MARK.findall(text) if word}
    assert used | set(said["places"]) | set(said["legend"]) <= set(said["words"])
    assert not [word for word, text in said["words"].items() if _MARK.search(text)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_has_a_number(language: str) -> None:
    """Numbers of the recording are facts, which the page reads from it; a text has no number of its own."""
    bare = {path: _SAID.sub("", _MARK.sub("", text)) for path, text in _texts(strings()[language])}
    assert {path: text for path, text in bare.items() if re.search(r"\d", text)} == {}


def test_what_is_explained_is_published() -> None:
    """Each recording of the explanation is in the tree, and is recorded for any published file."""
    assert all(recording(knobs)["film"] for knobs in CHOICES.values())
    assert [dict(knobs) for knobs in EXPLAINED] == list(CHOICES.values())


def test_the_summary_tells_the_recordings() -> None:
    """Without scripts the numbers are those of the recordings, too."""
    text = " ".join(summary(in_tree().arms).split())
    without, limited = (facts(recording(CHOICES[name]), "en") for name in ("none", "price"))
    assert f"The picture is complete after {without['picture']}, the script only after {without['works']}" in text
    assert f"{without['unsent']} of the picture are in the send buffer" in text
    assert f"With {limited['limit']} the picture waits" in text
    assert f"the map works {limited['gain']} sooner, after {limited['works']}" in text
    assert f"The picture is complete later, after {limited['picture']}." in text
    assert "<svg" not in summary([])
