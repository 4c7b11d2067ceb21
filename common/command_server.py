"""The messages between the process that carries out commands in turn and the program that asks it to.

The process is `priolab.experiments.command_server`. What a command writes reaches the program as it comes. The answer
follows in one line, which begins with the character RS, as in RFC 7464.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

PROCESS = "priolab.experiments.command_server"
"""The module to start, with the first request as its argument. It reads further requests from its standard input."""

STOPPED = 128
"""Exit codes from here on are those of commands that a signal has stopped. Their process ends, too."""

_RS = "\x1e"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The end of a command: its exit code, and what it has written to its standard output."""

    code: int
    out: str


def request(words: Sequence[str]) -> str:
    """Returns the line that asks for a command. words: those after `priolab`."""
    return json.dumps(list(words))


def words_of(line: str) -> list[str]:
    """Returns the words of a request."""
    return [str(word) for word in json.loads(line)]


def answer_line(answer: Answer) -> str:
    """Returns the line that answers a request."""
    return _RS + json.dumps(asdict(answer))


def answer_of(line: str) -> Answer | None:
    """Returns the answer in a line; None if a command has written the line."""
    return Answer(**json.loads(line.removeprefix(_RS))) if line.startswith(_RS) else None
