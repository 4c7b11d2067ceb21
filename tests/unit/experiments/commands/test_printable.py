"""Tests of texts from unknown sources on a terminal."""

import pytest

from priolab.experiments.commands.console import Report
from priolab.experiments.commands.printable import printable
from priolab.experiments.scenario.named import Entry
from priolab.experiments.sweep.listing import lines_of


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain, and grün", "plain, and grün"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\u202eb", "a\\u202eb"),
        ("two\nlines", "two\nlines"),
        ("a\rb", "a\\rb"),
    ],
)
def test_nothing_that_a_terminal_obeys(text: str, seen: str) -> None:
    """Control characters and characters that reverse the direction of writing are escaped; line ends stay."""
    assert printable(text) == seen


def test_no_sentence_of_the_list_has_two_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """Titles and expectations of people's own may end with a question mark or a full stop."""
    Report().lines(lines_of(Entry(name="mine", title="Is it late at all?", expect="It is.", knobs={})))
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[1:3]] == [
        "Is it late at all?",
        "Expect: It is.",
    ]


def test_a_path_stays_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Paths are printed unchanged on both streams, without emoji or styles."""
    report = Report()
    for text in ("/tmp/a:b:c:smile:", "/tmp/[bold]x[/bold]", "\x1b]0;title\x07"):
        report.say(text)
        report.complain(text)
        report.note(text)
        report.table(["file"], [[text]])
    out, err = capsys.readouterr()
    for said in (out, err):
        assert ":smile:" in said
        assert "[bold]x[/bold]" in said
        assert "\\x1b]0;title\\x07" in said


def test_a_complaint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """An error message is one line, and only beginning and end of a long text are shown."""
    Report().complain("begin\n" + "x" * 10**6 + "end")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("priolab: begin\\nx")
    assert line.endswith("xend")
    assert len(line) < 2000
