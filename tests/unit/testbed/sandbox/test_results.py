"""Results of runs in Python: how they look, and the command that repeats a run."""

import shlex
from pathlib import Path

import pytest

from priolab.experiments import cli
from priolab.testbed.sandbox import command, knobs
from priolab.testbed.sandbox.outcome import Beside, Direction, Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputFrame
from priolab.testbed.sandbox.packet import Cause, Loss
from priolab.testbed.sandbox.repetition import Repetition
from priolab.testbed.sandbox.sandbox import Result
from priolab.testbed.sandbox.spec import ENVIRONMENT, SandboxSpec


def _result(code: int | None, *frames: tuple[str, bytes], ending: Ending = Ending.ENDED) -> Result:
    written = [OutputFrame(at_ns=0, place=place, stream="out", data=data) for place, data in frames]
    return Result(outcome=Outcome(ending=ending, code=code, duration_ns=1_500_000_000), frames=written)


def test_two_lines() -> None:
    """A result has its exit code, its time and the client's last line."""
    shown = repr(_result(3, ("client", b"one\ntw"), ("server", b"no"), ("client", b"o\n\n")))
    assert shown == "Result: exit code 3 after 1.500000 s\nthe client wrote at last: two"
    assert repr(_result(-9)) == "Result: signal 9 after 1.500000 s\nthe client wrote nothing"
    assert repr(_result(None, ending=Ending.LIMIT)).startswith("Result: not ended (limit) after 1.500000 s\n")


def test_losses_by_cause_and_place() -> None:
    """What the links counted, without what was not lost."""
    beside = {"phone": Beside(up=Direction(dropped=2)), "server": Beside()}
    outcome = Outcome(ending=Ending.ENDED, code=0, down=Direction(dropped=1, lost=5), beside=beside)
    assert Result(outcome=outcome, frames=[]).losses == {
        Loss(cause=Cause.QUEUE, link="client", way="down"): 1,
        Loss(cause=Cause.LOSS, link="client", way="down"): 5,
        Loss(cause=Cause.QUEUE, link="phone", way="up"): 2,
    }


def _spec(given: dict[str, str], links: dict[str, dict[str, str]], **fields: object) -> SandboxSpec:
    usual: dict[str, object] = {"folder": str(Path.cwd()), "environment": ENVIRONMENT, "server": ("serve", "a b")}
    return SandboxSpec(
        knobs=knobs.of_way(given),
        seed=knobs.seed(given),
        links={name: knobs.of_way(link) for name, link in links.items()},
        **{"client": ("ask", "it's"), "limit_ns": 86_400 * 10**9, **usual, **fields},  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("given", "links", "fields"),
    [
        ({}, {}, {}),
        ({"RATE": "10mbit", "SEED": "7"}, {}, {"server": None, "scratch": True}),
        (
            {"DELAY": "20ms"},
            {},
            {
                "limit_ns": 123_456_567_800_000,
                "schedule": (
                    (5 * 10**9, "LOSS=100%"),
                    (6_000_000_001, "run client 'sh -c \"it is\"'"),
                    (7 * 10**9, "heal"),
                ),
            },
        ),
        (
            {"LINK": "wpt-4g"},
            {"phone": {"DELAY": "80ms"}, "server": {"QUEUE": "9"}},
            {
                "hosts": {"phone": ("call", "home"), "empty": ()},
                "waits": {"phone": "80"},
                "wait": "none",
                "sysctls": (("phone", "net.ipv4.tcp_sack", "0"),),
                "environment": {**ENVIRONMENT, "A": "b c"},
                "limit_ns": 5 * 10**9,
                "ipv6": True,
                "fair": True,
            },
        ),
    ],
)
def test_the_command_asks_for_the_same(
    given: dict[str, str], links: dict[str, dict[str, str]], fields: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command's words give the spec that was carried out."""
    spec = _spec(given, links, **fields)
    made = Repetition(spec=spec, given=given, links=links).command
    assert made.endswith(" </dev/null")
    words = shlex.split(made.removesuffix(" </dev/null"))
    monkeypatch.setattr("sys.stdin", None)
    assert command.request_of(cli.options_from(cli.command_line(words[1:]), words[1:])).spec == spec


def test_folder_and_standard_input() -> None:
    """Another folder is entered first; a text is given again, and bytes that are no short text are named."""
    spec = _spec({}, {}, folder="/a b", server=None)
    asked = Repetition(spec=spec, given={}, links={}, stdin=b"it's\n").command
    assert asked == """cd '/a b' && printf %s 'it'"'"'s\n' | priolab sandbox SEED=1 -- ask 'it'"'"'s'"""
    assert Repetition(spec=spec, given={}, links={}, stdin=b"\0" * 9).command.endswith(" <INPUT  # 9 bytes")
    assert "--memory 1g" in Repetition(spec=spec, given={}, links={}, memory="1g").command
