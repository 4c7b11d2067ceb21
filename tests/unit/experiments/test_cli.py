"""The command line: words such as LOWAT=16384 may stand anywhere, and what nobody knows is refused."""

import pytest

from priolab.experiments import cli


@pytest.mark.parametrize("words", [["LOWAT=1x", "--print-folder"], ["--print-folder", "LOWAT=1x"]])
def test_words_may_come_after_options(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A word is read before and after an option; its error shows that it was read."""
    assert cli.main(["run", "--seed", "1", *words]) == 2
    assert "LOWAT=1x is not allowed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["run", "--sed", "1"], ["run", "--print-folder", "LOWAT=1", "--sed"], ["show", "a", "b"]]
)
def test_an_unknown_argument_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown option, and a word too many for a command that takes one, give exit code 2."""
    assert cli.main(words) == 2
    assert capsys.readouterr().err.startswith("priolab: unrecognized arguments: ")
