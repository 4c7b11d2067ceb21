"""Tests of wrapped words."""

import pytest

from priolab.experiments.commands.console import wrapped

TEXT = "control: the script waited 6.18 s = 5.58 unsent in the kernel + 0.16 in the bottleneck queue"
PATH = "/tmp/" + "long/" * 20


@pytest.mark.parametrize("width", [20, 33, 47, 80, 120])
def test_words_stay_whole(width: int) -> None:
    """No line is too long, further lines are indented, and together they are the text."""
    lines = [line.plain for line in wrapped(TEXT, width)]
    assert all(len(line) <= width for line in lines)
    assert all(line.startswith("  ") for line in lines[1:])
    assert " ".join(line.strip() for line in lines) == TEXT
    assert not any(line.endswith("6.18") for line in lines), "a number and its unit stay together"


def test_what_is_indented_stays_indented() -> None:
    """The lines of an indented text are indented, too; line ends stay."""
    lines = [line.plain for line in wrapped("one\n    two three four five six\n", 20)]
    assert lines == ["one", "    two three four", "      five six", ""]


def test_a_path_stays_whole() -> None:
    """A word that is longer than a line is not broken, so that it can be copied."""
    assert [line.plain for line in wrapped(f"results: {PATH} there", 40)] == ["results:", f"  {PATH}", "  there"]


def test_styles_stay() -> None:
    """Styles apply to the same words after wrapping."""
    (_, second) = wrapped("aaaaaaaaaa aaaaaaa [red]bbbb[/]", 20)
    assert second.plain == "  bbbb"
    assert [str(span.style) for span in second.spans] == ["red"]
