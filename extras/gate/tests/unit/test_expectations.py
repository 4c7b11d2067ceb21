"""Tests of files of expectations, and of the command's arguments: each error is one line."""

from pathlib import Path

import pytest

from priolab.common.errors import ScenarioError
from priolab.common.home import ROOT
from priolab.experiments.cli import main
from priolab.experiments.scenario.knobs import scenario_from
from priolab.extras.gate.checks import DEFAULT, KINDS, Check, read_expectations
from priolab.extras.gate.command import split
from priolab.extras.gate.faults import Fault

_HEAD = "format = 1\n"
_CHECK = '[[check]]\nkind = "urgency"\n'


def written(folder: Path, text: str) -> Path:
    """Write a file of expectations."""
    file = folder / "expect.toml"
    file.write_text(text)
    return file


def test_the_default() -> None:
    """The default file has every kind of check of which the RFC says something; the lab accepts each one's trials."""
    read = read_expectations(DEFAULT)
    assert [each.kind for each in read.check] == [kind for kind in KINDS if kind != "response"]
    trials = [trial for check in (*read.check, Check(kind="response")) for _, trial in check.trials()]
    assert len(trials) == 21
    for trial in trials:
        assert str(scenario_from(trial.knobs).plan) == trial.plan


def test_values(tmp_path: Path) -> None:
    """Keys that are given replace the defaults."""
    text = f'{_HEAD}[[check]]\nkind = "urgency"\ndialect = "plain"\nmust = "followed"\n'
    text += '[[check]]\nkind = "late"\npage = "news"\nnative = true\nloads = 1\n'
    urgency, late = read_expectations(written(tmp_path, text)).check
    assert (urgency.dialect, urgency.must) == ("plain", "followed")
    ((_, trial),) = late.trials()
    assert trial.knobs == {
        "PLAN": "loads",
        "PAGE": "news",
        "DIALECT": "header",
        "PRIORITY": "spdy",
        "RELOADS": "0",
        "LOWAT": "none",
        "NATIVE": "on",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format = ", "a readable TOML file (Invalid value"),
        (_CHECK, ": format=nothing is not allowed; allowed: 1"),
        ("format = 2\n" + _CHECK, ": format=2 is not allowed; allowed: 1"),
        ('format = "1"\n' + _CHECK, ': format="1" is not allowed; allowed: 1'),
        (_HEAD, ": check=nothing is not allowed; allowed: 1 to 50 tables [[check]]"),
        (_HEAD + "check = []\n", ": check=[] is not allowed; allowed: 1 to 50 tables [[check]]"),
        (_HEAD + _CHECK + _CHECK, ": the check urgency, header is there twice"),
        (
            _HEAD + '[[check]]\nkind = "ugrency"\n',
            "check 1: kind=ugrency is not allowed; allowed: urgency, incr",
        ),
        (
            _HEAD + _CHECK + 'mist = "strict"\n',
            "check 1=mist is not allowed; allowed: the keys kind, dialect, must",
        ),
        (
            _HEAD + "checks = 1\n" + _CHECK,
            "=checks is not allowed; allowed: the keys format, title, check",
        ),
        (
            _HEAD + _CHECK + 'must = "lenient"\n',
            "check 1: must=lenient is not allowed; allowed: strict, followed",
        ),
        (_HEAD + '[[check]]\nkind = "late"\nmust = "x"\n', "check 1: must=x is not allowed; allowed: kept"),
        (
            _HEAD + _CHECK + 'dialect = "headre"\n',
            "check 1: dialect headre: a part is unknown or repeated; allowed: parts",
        ),
        (
            _HEAD + '[[check]]\nkind = "update"\ndialect = "header"\n',
            "check 1: header is not allowed in a check update; allowed: a",
        ),
        (
            _HEAD + _CHECK + 'page = "maps"\n',
            "check 1: page is not allowed in a check urgency; allowed: kind, dialect, must",
        ),
        (_HEAD + '[[check]]\ndialect = "header"\n', "check 1: kind=nothing is not allowed; allowed: urgency, incr"),
        (_HEAD + '[[check]]\nkind = "late"\nlowat = 0\n', "check 1: lowat=0 is not allowed; allowed: 1 to 4294967295"),
        (_HEAD + '[[check]]\nkind = "late"\npage = "mops"\n', "page=mops is not allowed; allowed: "),
        (_HEAD + '[[check]]\nkind = "late"\npage = "no.toml"\n', ": page=no.toml is not allowed; allowed: "),
        (_HEAD + '[[check]]\nkind = "late"\nloads = "3"\n', 'check 1: loads="3" is not allowed; allowed: 1 to 10'),
        ("a = " + "[" * 2000 + "]" * 2000, "nested too deeply"),
    ],
)
def test_wrong_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    """The command ends with 2 and one line, which names the file, the check and the key."""
    file = written(tmp_path, text)
    assert main(["gate", "nginx", "--expect", str(file)]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert len(err.splitlines()) == 1
    assert str(file) in err
    assert said in err, err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ngnix"], "SERVER=ngnix is not allowed; allowed: "),
        (["./no-such-folder"], "SERVER=./no-such-folder is not allowed; allowed: the path of a server's folder"),
        (["nginx,h2o"], "SERVER=nginx,h2o is not allowed; allowed: one value"),
        (["nginx", "h2o"], "SERVER=nginx h2o is not allowed; allowed: one server"),
        (["nginx", "SERVER=h2o"], "SERVER=nginx h2o is not allowed; allowed: one server"),
        ([], "SERVER= is not allowed; allowed: a server, --program PATH, or a URL"),
        (
            ["ftp://127.0.0.1/x?y=z"],
            "URL=ftp://127.0.0.1/x?y=z is not allowed; allowed: https://HOST[:PORT]/PATH, or http",
        ),
        (["http://127.0.0.1/x", "--ca", "x"], "--ca=x is not allowed; allowed: no value with http://127.0.0.1/x"),
        (["nginx", "LOWAT=1"], "LOWAT=1 is not allowed; allowed: the knobs of `priolab gate`"),
        (["nginx", "--ca", "x"], "--ca=x is not allowed; allowed: no value without a URL"),
        (["nginx", "--connect", ""], "--connect= is not allowed; allowed: no value without a URL"),
        (["https://a.test/", "--connect", ""], "--connect= is not allowed; allowed: HOST[:PORT]"),
        (["https://a.test/", "--connect", "a.test:0"], "--connect=a.test:0 is not allowed; allowed: HOST[:PORT]"),
        (["https://a.test:0/"], "URL=https://a.test:0/ is not allowed; allowed: https://HOST[:PORT]/PATH"),
        (["https://127.0.0.1/x", "SEED=2"], "SEED=2 is not allowed; allowed: no knob with a URL"),
        (["https:///x"], "URL=https:///x is not allowed; allowed: https://HOST[:PORT]/PATH"),
        (["nginx", "--limit", "soon"], "--limit=soon is not allowed; allowed: a time with a unit, from 1s to 3600s"),
        (["nginx", "--expect", "/nowhere"], "--expect=/nowhere is not allowed; allowed: a readable TOML file"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """The command ends with 2 and one line."""
    assert main(["gate", *words]) == 2
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 1, out + err
    assert said in err, err


def test_targets() -> None:
    """A build needs no server's name; a URL with a query is no knob."""
    assert split([], "./nginx") == ("./nginx", {"PROGRAM": "./nginx"})
    assert split(["h2o", "SEED=2"], "./h2o") == ("./h2o", {"PROGRAM": "./h2o", "SERVER": "h2o", "SEED": "2"})
    assert split(["https://a.test/x?y=z"], None) == ("https://a.test/x?y=z", {})
    with pytest.raises(ScenarioError):
        split(["nginx", "FABRIK=virtual"], None)


def test_the_guide_has_all() -> None:
    """Each kind of check and each fault has its place in the guide's tables."""
    guide = (ROOT / "docs/guide/gate.md").read_text()
    assert [kind for kind in KINDS if f"\n| `{kind}` | " not in guide] == []
    rows = "; ".join(
        line.split("|")[2] for line in guide.partition("| check | faults |")[2].splitlines() if "|" in line
    )
    named = {name.strip() for name in rows.split(";")}
    assert [fault for fault in Fault if fault not in named] == []
