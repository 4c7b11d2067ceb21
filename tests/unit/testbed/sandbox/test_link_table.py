"""Tables of a link's values over time, as events."""

from pathlib import Path

import pytest

from priolab.common.errors import ScenarioError
from priolab.testbed.sandbox.link_table import with_tables

_MS = 10**6
_TABLE = """\
# a walk
time, RATE, LOSS
0s, 10mbit, 0%
100ms, 2mbit, -

300ms, 10mbit, 5%
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Returns the path of a table."""
    file = tmp_path / "walk.txt"
    file.write_text(_TABLE)
    return file


def test_a_table_is_a_schedule(table: Path) -> None:
    """Each row gives the events of its time; those that are not of a table stay where they are."""
    assert with_tables([("1s", "heal"), ("2s", f"follow phone {table}")]) == (
        ("1s", "heal"),
        ("2000000000ns", "phone.RATE=10mbit"),
        ("2000000000ns", "phone.LOSS=0%"),
        ("2100000000ns", "phone.RATE=2mbit"),
        ("2300000000ns", "phone.RATE=10mbit"),
        ("2300000000ns", "phone.LOSS=5%"),
    )


def test_a_table_several_times(table: Path) -> None:
    """The last row is the first of the next round, and has its values after the last one alone."""
    events = with_tables([("0s", f"follow client {table} 3")])
    rates = [(int(at.removesuffix("ns")) // _MS, text) for at, text in events if text.startswith("RATE")]
    fast, slow = "RATE=10mbit", "RATE=2mbit"
    assert rates == [(0, fast), (100, slow), (300, fast), (400, slow), (600, fast), (700, slow), (900, fast)]
    assert [text for _, text in events if text.startswith("LOSS")] == ["LOSS=0%"] * 3 + ["LOSS=5%"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "{file} line 1= is not allowed; allowed: a first line of time and knobs of LINK, RATE"),
        ("RATE\n1mbit", "{file} line 1=RATE is not allowed; allowed: a first line of time and knobs"),
        ("\ntime QDISC", "{file} line 2=time QDISC is not allowed; allowed: a first line of time and knobs"),
        ("time RATE", "{file}=nothing is not allowed; allowed: a row with a time and values"),
        ("time RATE\n1 1mbit", "{file} line 2=1 1mbit is not allowed; allowed: a time with a unit"),
        ("time RATE\n1s 1mbit\n1s 1mbit", "{file} line 3=1s 1mbit is not allowed; allowed: a time with a unit, later"),
        ("time RATE\n1s", "{file} line 2=1s is not allowed; allowed: a time with a unit, later than that of the row"),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, said: str) -> None:
    """The error names the line."""
    file = tmp_path / "walk.txt"
    file.write_text(text)
    with pytest.raises(ScenarioError) as error:
        with_tables([("0s", f"follow phone {file}")])
    assert str(error.value).startswith(said.format(file=file))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "--at=0s follow is not allowed; allowed: follow HOST FILE, or"),
        (" phone", "--at=0s follow phone is not allowed; allowed: follow HOST FILE, or"),
        (" phone FILE often", "--at=0s follow phone FILE often is not allowed; allowed: follow HOST FILE, or"),
        (" phone FILE 0", "--at=follow phone FILE 0 is not allowed; allowed: 1 to 10000 times"),
        (" phone FILE 10000", "--at=follow phone FILE 10000 is not allowed; allowed: at most"),
        (" phone FILE 3", "--at=soon is not allowed; allowed: a time with a unit, from 0s"),
        (" phone /nosuch", "--at=follow /nosuch is not allowed; allowed: a readable file (No such file or directory)"),
    ],
)
def test_words_that_follow_nothing(table: Path, words: str, said: str) -> None:
    """The error says what is allowed."""
    text = f"follow{words.replace('FILE', str(table))}"
    given = [("soon" if "FILE 3" in words else "0s", text)] * 4
    with pytest.raises(ScenarioError) as error:
        with_tables(given)
    assert str(error.value).startswith(said.replace("FILE", str(table), 1) if "FILE " in said else said)


def test_a_long_table_many_times(tmp_path: Path) -> None:
    """Events are counted while they are made: ten thousand rounds of this table would be five hundred million."""
    file = tmp_path / "walk.txt"
    file.write_text("time LOSS\n" + "".join(f"{number}us 1%\n" for number in range(50_000)))
    with pytest.raises(ScenarioError, match="at most 100000 events"):
        with_tables([("0s", f"follow phone {file} 10000")])
