"""What is expected of a run: texts, and the client's exit code."""

import pytest

from priolab.common.errors import ScenarioError
from priolab.testbed.sandbox.expectations import EXPECT, NEVER, Expectation, Verdict
from priolab.testbed.sandbox.output_log import OutputFrame

_HOSTS = ("client", "server")
_SAID = [
    OutputFrame(at_ns=0, place="server", stream="out", data=b"Rea"),
    OutputFrame(at_ns=1, place="client", stream="err", data=b"panic"),
    OutputFrame(at_ns=2, place="server", stream="out", data=b"dy\nto go\n"),
]


def _verdict(*given: tuple[str, str]) -> Verdict:
    verdict = Verdict([Expectation.parse(option, words, _HOSTS) for option, words in given])
    verdict.hear(_SAID)
    return verdict


@pytest.mark.parametrize(
    ("option", "words", "code", "lack"),
    [
        (EXPECT, "server prints Ready", 0, None),
        (EXPECT, "server prints y\nto go", 0, None),
        (EXPECT, "server prints panic", 0, "expected: server prints 'panic', but it did not"),
        (NEVER, "server prints panic", 0, None),
        (NEVER, "client prints panic", 0, "expected: client never prints 'panic', but it did in its line 1"),
        (NEVER, "server prints to go", 0, "expected: server never prints 'to go', but it did in its line 2"),
        (EXPECT, "client exits 3", 3, None),
        (EXPECT, "client exits 3", 0, "expected: the client exits 3, but it exited 0"),
    ],
)
def test_what_is_expected(option: str, words: str, code: int, lack: str | None) -> None:
    """A text may come in several pieces; a line says what is not as expected."""
    assert [*_verdict((option, words)).lacks(code)] == ([] if lack is None else [lack])


@pytest.mark.parametrize(
    ("given", "code", "exits"),
    [
        ([], 0, 0),
        ([], 3, 3),
        ([(EXPECT, "server prints Ready")], 3, 3),
        ([(EXPECT, "server prints Ready"), (EXPECT, "client exits 3")], 3, 0),
        ([(EXPECT, "client exits 3")], 0, 1),
        ([(NEVER, "client prints panic")], 0, 1),
        ([(NEVER, "client prints panic")], 5, 5),
    ],
)
def test_the_exit_code(given: list[tuple[str, str]], code: int, exits: int) -> None:
    """It is not 0 if something is not as expected, and that of the client if nobody expects one."""
    assert _verdict(*given).code(code) == exits


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (EXPECT, ""),
        (EXPECT, "server"),
        (EXPECT, "server prints"),
        (EXPECT, "tablet prints x"),
        (EXPECT, "server exits 0"),
        (EXPECT, "client exits 256"),
        (NEVER, "client exits 0"),
    ],
)
def test_words_that_expect_nothing(option: str, words: str) -> None:
    """The error names the hosts."""
    with pytest.raises(
        ScenarioError, match=f"^{option}={words} is not allowed; allowed: HOST prints TEXT with a HOST of"
    ):
        Expectation.parse(option, words, _HOSTS)
