"""Expectations of a run: that a host prints a text, or never does, and the client's exit code. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from priolab.common.errors import ScenarioError
from priolab.common.exit_codes import ExitCode
from priolab.netem.parsers import whole
from priolab.testbed.sandbox.output_log import OutputFrame
from priolab.testbed.sandbox.spec import CLIENT

EXPECT, NEVER = "--expect", "--never"
"""The options that have expectations, for errors."""

_PRINTS, _EXITS = "prints", "exits"
_MOST_CODE = 255


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """An expectation. option: EXPECT or NEVER. host: whose programs. text: what they print, anywhere in their output.

    code: the client's exit code; None for an expectation of a text.
    """

    option: str
    host: str
    text: str = ""
    code: int | None = None

    @classmethod
    def parse(cls, option: str, words: str, hosts: Collection[str]) -> "Expectation":
        """Parses `server prints Ready`, or `client exits 0` for EXPECT. hosts: those that exist. Raises ScenarioError.

        The text is what follows the verb and a space.
        """
        host, _, rest = words.strip().partition(" ")
        verb, _, text = rest.partition(" ")
        if host in hosts and verb == _PRINTS and text:
            return cls(option=option, host=host, text=text)
        if option == EXPECT and (host, verb) == (CLIENT, _EXITS):
            with suppress(ValueError):
                return cls(option=option, host=host, code=whole(0, _MOST_CODE)(text))
        exits = f", or {CLIENT} {_EXITS} CODE with 0 to {_MOST_CODE}" if option == EXPECT else ""
        raise ScenarioError(option, words, f"HOST {_PRINTS} TEXT with a HOST of {', '.join(hosts)}{exits}")

    def lack(self, code: int, printed: bytes) -> str | None:
        """Returns what is not as expected, in words. code: the client's exit code. printed: all output of the host."""
        if self.code is not None:
            return None if code == self.code else f"the client exits {self.code}, but it exited {code}"
        at = printed.find(self.text.encode())
        if self.option == EXPECT:
            return None if at >= 0 else f"{self.host} prints {self.text!r}, but it did not"
        line = printed.count(b"\n", 0, at) + 1
        return None if at < 0 else f"{self.host} never prints {self.text!r}, but it did in its line {line}"


class Verdict:
    """Compares a run with expectations: hears what the hosts print, and then tells what is not as expected."""

    def __init__(self, expectations: Sequence[Expectation]) -> None:
        self._expectations = expectations
        self._printed: dict[str, bytes] = {}

    def hear(self, frames: Iterable[OutputFrame]) -> None:
        """Hears what the programs print."""
        for frame in frames if self._expectations else ():
            self._printed[frame.place] = self._printed.get(frame.place, b"") + frame.data

    def lacks(self, code: int) -> Iterator[str]:
        """Yields what is not as expected, in words. code: the client's exit code."""
        for _, lack in self.failing(code):
            yield f"expected: {lack}"

    def failing(self, code: int) -> Iterator[tuple[Expectation, str]]:
        """Yields the expectations that do not hold, with what is so instead. code: the client's exit code."""
        for each in self._expectations:
            if (lack := each.lack(code, self._printed.get(each.host, b""))) is not None:
                yield each, lack

    def code(self, code: int) -> int:
        """Returns the exit code of `priolab sandbox`. code: the client's.

        With expectations it is 0 if they hold, and that of the client is as one of them says, or 0.
        """
        if any(self.lacks(code)):
            return code or ExitCode.NOT_OK
        is_expected = any(each.code is not None for each in self._expectations)
        return ExitCode.OK if is_expected else code
