"""The sentences of the story and of docs/guide/talk.md, and the claims that they are tied to."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from priolab.extras.demo.story import Sentence, closing, marks, steps
from priolab.extras.demo.tests.claims import Claim, placed


def story_claims() -> Iterator[Claim]:
    """Yields the claims of all sentences of the story."""
    for number, step in enumerate(steps(), start=1):
        for sentences in (step.text, step.say):
            yield from _of_sentences(sentences, number)
    for sentences in (closing().points, closing().say):
        yield from _of_sentences(sentences, None)


def _of_sentences(sentences: tuple[Sentence, ...], step: int | None) -> Iterator[Claim]:
    for sentence, mark in zip(sentences, marks(sentences), strict=True):
        for claim in sentence.claims:
            yield placed(sentence.words, claim, step, mark if step else None)


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A sentence of docs/guide/talk.md. tied: what its comment ties it to: claims, or the name of a test."""

    words: str
    tied: tuple[str, ...]


def spoken(talk: str) -> Iterator[Spoken]:
    """Yields the sentences of docs/guide/talk.md, without headings, shell blocks, and numbers of steps and minutes."""
    text = re.sub(r"^```.*?^```$|^#.*?$|^\|[^|]*\|(?=[^|]*\|[^|]*\|$)", "", talk, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\bsteps? \d(?: (?:to|and) \d)?|^[^|\n]*\d, [\w ]+(?= \|)", "step", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\n|\n(?=- )| \|", text):
        for part in re.split(r"(?<=[.?!])\s+(?!<!--)|(?<=-->)\s+", " ".join(paragraph.split())):
            words, _, comment = part.partition("<!--")
            tied = tuple(each.strip() for each in comment.removesuffix("-->").split(";") if each.strip())
            yield Spoken(words=words.strip(), tied=tied)
