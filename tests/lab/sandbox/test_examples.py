"""The examples of the guides to the sandbox: each repeats, and writes what its guide shows, digits aside."""

import re
from pathlib import Path

import pytest

from tools.campaigns.sandbox_examples import GUIDES, copied, examples, needed, repetition

pytestmark = pytest.mark.usefixtures("guest")

_MEASURED = re.compile(r"<!-- measured: (\S+) -->\n```\n(.*?)```\n<!-- end -->", re.DOTALL)
_LONG = ("a-retry-storm", "two-uploads-near-and-far", "cubic-against-bbr")
_SHOWN = {name: out for guide in GUIDES for name, out in _MEASURED.findall(guide.read_text())}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the files of the examples, and the program in Go."""
    return copied(tmp_path_factory.mktemp("examples"))


def _without_figures(text: str) -> str:
    return re.sub(r"[\d.]+", "#", re.sub(r" +", " ", text))


def test_there_are_some() -> None:
    """The guide has the examples, with their outputs."""
    assert len(examples()) > 13
    assert {*_SHOWN} == {*examples()}


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """Return the marks of an example. A second one of a kind, with other values, and long ones wait for releases."""
    costly = [pytest.mark.release] if name.endswith("-2") or name in _LONG else []
    return [pytest.mark.needs("go", *needed(name)), *costly]


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in examples()])
def test_it_repeats(name: str, folder: Path) -> None:
    """Two new guests give the same output, counts and packets; a kept one gives the same output."""
    words = examples()[name]
    first = repetition(words, folder, fresh=True)
    assert first.outcome.code == 0
    assert repetition(words, folder, fresh=True) == first
    assert repetition(words, folder).out == first.out
    assert _without_figures(first.out) == _without_figures(_SHOWN[name])
