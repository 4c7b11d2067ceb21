"""Odd words: every knob and option of every command with values drawn by Hypothesis is taken, or refused in a line."""

import os
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from priolab.experiments import cli
from priolab.experiments.scenario.knobs import KNOBS
from tests.support.damaged_input import no_runs

_VALUES = (
    *("", " ", "0", "-1", "1", "9" * 30, "9" * 5000, "1e400", "nan", "inf", "-inf", "\u00b2", "\u0661", "1_000"),
    *(
        "none",
        "auto",
        "on",
        "off",
        "yes",
        "stock",
        "a,b",
        ",",
        ",,",
        "1,2,3",
        "none,none",
        "a" * 10**4,
        "\udcff",
        "0x10",
    ),
    *("1kbps", "1.5mbit", "-1mbit", "0kbit", "1e9gbit", "10ms", "1e30s", "0.0000001ms", "0%", "101%", "-1%", "1.5K"),
    *("/dev/zero", "/dev/full", "/proc/self/mem", ".", "..", "/", "~", "nowhere.toml", "./nowhere", "a/b", "@", "a@b"),
    *("[bold]x[/]", "%s", "{x}", "a\nb", "\x1b[31m", "https://", "https://[", "https://a:99999/", "https://\u00b2/"),
    *(
        "tcp://",
        "tcp://a:b",
        ":",
        "a:",
        ":1",
        "[::1]:x",
        "--",
        "-",
        "=",
        "==",
        "1=1",
        "5@1s",
        "1mbit@0s,2mbit@1s",
        "#2",
    ),
)
_EXAMPLES = int(os.environ.get("EXAMPLES", "60"))
_words = st.sampled_from(_VALUES) | st.text(max_size=8).filter(lambda text: "\0" not in text)


def _offline(name: str) -> bool:
    """False for commands that would serve, fetch or build, whatever their words are."""
    return name not in ("demo", "setup", "kernel", "roots", "doctor", "tune", "completion", "tuner-scale")


def _commands() -> Iterator[tuple[str, ArgumentParser]]:
    yield from ((name, parser) for name, parser in cli.whole_command_line()[1].items() if _offline(name))


def _told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Carry a command out up to the place where it would begin to work; assert that it ends as documented."""
    try:
        code = cli.main(words)
    except SystemExit as end:
        code = end.code  # type: ignore[assignment]
    said = capsys.readouterr()
    assert code in (0, 1, 2), (words, code, said.err)
    assert "Traceback" not in said.err
    lines = said.err.splitlines()
    if code:
        assert len(lines) == 1, (words, lines)
        assert lines[0].startswith("priolab: "), (words, lines)


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def test_odd_values_of_knobs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`priolab list` reads one or two knobs with odd values as `run` and `sweep` do."""

    @_settings(_EXAMPLES)
    @given(st.lists(st.tuples(st.sampled_from([*KNOBS, "\u00b2", "", "lowat"]), _words), min_size=1, max_size=2))
    def tried(pairs: list[tuple[str, str]]) -> None:
        _told(["list", *(f"{name}={value}" for name, value in pairs)], capsys)

    with mock.patch.dict(os.environ, HOME=str(tmp_path)):
        tried()


def test_odd_words_of_commands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command with an option that has an odd value, or with an odd word, is refused or does nothing."""
    monkeypatch.chdir(tmp_path)
    commands = {
        name: sorted({option for action in parser._actions for option in action.option_strings} - {"-h", "--help"})
        for name, parser in _commands()
    }

    @_settings(_EXAMPLES)
    @given(st.data())
    def tried(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(commands)))
        words = [name, "FABRIC=nowhere"] if name != "probe" else [name]
        for _ in range(data.draw(st.sampled_from((1, 1, 2)))):
            options: list[list[str]] = [[], *([option] for option in commands[name])]
            words += data.draw(st.sampled_from(options))
            words.append(data.draw(_words).replace("\udcff", "\xff"))  # what captures the output cannot write it
        if name == "sandbox":
            words += ["--", "true"]
        _told(words, capsys)

    with no_runs():
        tried()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
