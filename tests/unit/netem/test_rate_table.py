"""Tests of tables of a rate over time, and their traces."""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common import trace as traces
from priolab.common.packets import PACKET_BYTES
from priolab.common.trace import Trace
from priolab.netem.rate_table import RateTable

MBIT = 10**6
BEGAN = datetime(2026, 11, 27, 23, 59, 55, tzinfo=UTC)


def trace_of(text: str, **told: Any) -> Trace:
    return RateTable.read(text, **told).trace("walk")


def bits(times_ms: Sequence[int], begin_ms: int, end_ms: int) -> int:
    """Return the bits of the opportunities after one time and until another."""
    return sum(begin_ms < time_ms <= end_ms for time_ms in times_ms) * PACKET_BYTES * 8


@pytest.mark.parametrize(
    "text",
    [
        "0 10\n0.5 2.5\n1 0\n1.5 20\n",
        "time,rate\n0,10\n0.5,2.5\n\n1,0\n# a gap\n1.5,20\n",
        "1700000000;10;x\n1700000000.5;2.5;y\n1700000001;0;z\n1700000001.5;20;z\n",
        "0\t10\r\n0.5\t2.5\r\n1\t0\r\n1.5\t20\r\n",
    ],
)
def test_a_table(text: str) -> None:
    """Each rate lasts until the next time, the last one as long as the one before it."""
    trace = trace_of(text)
    assert (trace.name, trace.times_ms[-1]) == ("walk", 2000)
    for begin_ms, rate in ((0, 10 * MBIT), (500, 2.5 * MBIT), (1000, 0), (1500, 20 * MBIT)):
        assert bits(trace.times_ms, begin_ms, begin_ms + 500) == pytest.approx(rate / 2, abs=2 * PACKET_BYTES * 8)


def test_the_beginning() -> None:
    """A duration takes the beginning only."""
    assert RateTable.read("0 10\n10 10\n").trace("walk", 1500).times_ms[-1] == 1500


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "fewer than two lines"),
        ("# 0 1\n# 1 1\n", "fewer than two lines"),
        ("0 1\n", "fewer than two times"),
        ("0 1\n1 x\n", "line 2 has no rate: 'x'"),
        ("0 1\nx 1\n", "line 2 has no time, such as 0.5 or 2026-11-27T10:15:30: 'x'"),
        ("yesterday 1\ntoday 1\n", "line 2 has no time and rate: today, 1"),
        ("0 1\n0 2\n", "fewer than two times"),
        ("0 1\n1 -1\n", "line 2: no rate is negative or infinite: '-1'"),
        ("0 1\n1 1e999\n", "line 2: no rate is negative or infinite"),
        ("0 1\n1e999 1\n", "line 2 has no time"),
        ("0 nan\n1 1\n", "fewer than two times"),
        ("0 0\n1 0\n", "no opportunities"),
        ("0 1\n90 1\n4000 1\n", "it lasts 7910 s, more than an hour"),
        ("time,rate\n0,5,5\n1,6,5\n", "line 2 has 3 cells, the heading 2: with decimal commas, separate the columns"),
        ("0,5\n1,6,5\n", "line 2 has 3 cells, the first row 2"),
        (
            "0,5,5\n1,6,5\n",
            "it has 3 columns of whole numbers and no heading: with decimal commas, separate the columns",
        ),
        ("time,lat,lon\n0,1,2\n1,1,2\n", "no column is called rate, throughput, bandwidth or bitrate, of time, lat"),
        ("rate,lat,lon\n0,1,2\n1,1,2\n", "no column is called time, of rate, lat, lon; --columns takes two of them"),
    ],
)
def test_no_table(text: str, words: str) -> None:
    """An error says what is wrong, and where."""
    with pytest.raises(ValueError, match=re.escape(words)):
        trace_of(text)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("0 1 parsec\n1 2 parsec\n", "taken: column 1 as the time in s, column 2 as the rate in Mbit/s, of 3 columns"),
        ("lat,lon,rate\n0,1,2\n1,1,2\n", "taken: lat as the time in s, rate as the rate in Mbit/s, of 3 columns"),
    ],
)
def test_further_columns(text: str, note: str) -> None:
    """A note says which of several columns were taken."""
    assert RateTable.read(text).notes == (note,)


_ROWS = [(0.0, "5.5"), (0.5, "6.5"), (1.0, "0"), (1.5, "12")]
_EXPECTED = trace_of("".join(f"{time} {rate}\n" for time, rate in _ROWS)).times_ms


def _table(form: str, head: str = "", *, time: Callable[[float], str] = str, rate: Callable[[str], str] = str) -> str:
    return head + "".join(form.format(time(at), rate(text)) for at, text in _ROWS)


def _stamp(form: str) -> Callable[[float], str]:
    return lambda at: form.format(59 + int(at) - 60 * (at >= 1), 15 + (at >= 1), int(at % 1 * 10))


def _comma(number: Any) -> str:
    return str(number).replace(".", ",")


@pytest.mark.parametrize(
    "text",
    [
        _table("{}, {}\n"),
        _table("{};{}\n", time=_comma, rate=_comma),
        _table("{}\t{}\r\n", "time\trate\n", time=_comma, rate=_comma),
        _table("{}  {}\n", time=_comma, rate=_comma),
        _table('"{}","{}"\n', '"time","rate"\n', time=_comma, rate=_comma),
        _table("{};{};\n", "time;rate;\n", rate=_comma),
        _table("{1},x,{0}\n", "Throughput,cell,Time\n"),
        _table("{0},45.4,147,{1},9\n", "Timestamp,lat,lon,DL_bitrate [Mbps],UL_bitrate [Mbps]\n"),
        _table("{0},9,{1}\n", "t,upload Mbps,download Mbps\n"),
        _table("{},{}\n", "Elapsed (ms),bandwidth\n", time=lambda at: f"{at * 1000:g}"),
        _table("{},{}\n", "time_us,bandwidth\n", time=lambda at: f"{at * 10**6:g}"),
        _table("{} {}\n", "# time rate\n"),
        _table("{} {}\n", "Time (s)  Rate (kbit/s)\n", rate=lambda text: f"{float(text) * 1000:g}"),
        _table("{};{}\n", "time;bits_per_second\n", rate=lambda text: f"{float(text) * MBIT:.0f}"),
        _table("{};{}\n", "time;rate MB/s\n", rate=lambda text: f"{float(text) / 8:.7f}"),
        _table("{} s, {} Mbit/s\n", "when, how fast\n"),
        _table("{}s {} Mbits/sec\n"),
        _table("{};{}\n", "time;rate\n", rate=lambda text: f"{float(text) * 1000:.6f} kbps"),
        _table("{0},{1}\n", "time,dl_bitrate\n", rate=lambda text: f"{float(text) * 1000:,.1f}".replace(",", "")),
        _table('{0},"{1}"\n', "time,DL_bitrate\n", rate=lambda text: f"{float(text) * 1000:,.1f}"),
        _table("{} {}\n", time=lambda at: f"{1700000000 + at}"),
        _table("{} {}\n", time=lambda at: f"{1700000000000 + at * 1000:.0f}"),
        _table("{} {}\n", time=lambda at: f"{1700000000000000 + at * 10**6:.0f}"),
        _table("{} {}\n", time=lambda at: f"{1700000000 * 10**9 + int(at * 10) * 10**8}"),
        _table("{},{}\n", "Timestamp,rate\n", time=_stamp("2026-11-27T10:{1}:{0:02}.{2}00Z")),
        _table("{},{}\n", "Timestamp,rate\n", time=_stamp("2026-11-27 10:{1}:{0:02}.{2}+02:00")),
        _table("{};{}\n", "Timestamp;rate\n", time=_stamp("2026.11.27_10.{1}.{0:02}.{2}"), rate=_comma),
        _table("{};{}\n", "Zeit;bitrate\n", time=_stamp("27.11.2026 10:{1}:{0:02},{2}"), rate=_comma),
        _table("{},{}\n", "time,rate\n", time=_stamp("11/27/2026 10:{1}:{0:02}.{2} PM")),
        _table("{} {}\n", time=_stamp("2026-11-27 10:{1}:{0:02}.{2}")),
        _table("{} {}\n", time=_stamp("10:{1}:{0:02}.{2}")),
        _table("27.11.2026,{},{}\n", "Date,Time,rate\n", time=_stamp("10:{1}:{0:02}.{2}")),
        "Phone: X\nNotes: a walk, by day\n\n" + _table("{},{}\n", "time,rate\n"),
        "// by hand\n% and foot\n" + _table("{},{}\n\n", "time,rate\n") + "# the end\n",
        _table("{},{}\n", "time,rate\n") + ",\n\n",
        "\n".join(reversed(_table("{},{}\n").splitlines())),
        "-1 nan\n-0.5 -\n" + _table("{} {}\n"),
        _table("{};{}\n") + "0.5;\n",
        _table("{} {}\n").replace("0.5 6.5", "0.5 6\n0.5 7"),
    ],
)
def test_the_same_table(text: str) -> None:
    """However people write a table, its trace is the same."""
    assert trace_of(text).times_ms == _EXPECTED


def test_notes() -> None:
    """Notes say which columns and units were taken, and what was put right."""
    table = RateTable.read("Timestamp;Speed;DL_bitrate\n2026.11.27_10.15.30;50;5,5\n2026.11.27_10.15.31;51;6,5\n")
    assert table.notes == (
        "taken: Timestamp as time stamps, DL_bitrate as the rate in kbit/s, of 3 columns",
        "rates around 6.5 kbit/s are unlikely (usual: 20 kbit/s to 2 Gbit/s): is the unit right?",
        "the last comma or point of a number is its decimal mark",
    )
    table = RateTable.read("2 5\n0 5\n0 6\n1 -\n3 5\n")
    assert table.notes == (
        "taken: column 1 as the time in s, column 2 as the rate in Mbit/s",
        "1 rows have no rate: the rate before them goes on",
        "the rows were not in the order of their times, and are sorted",
        "1 rows have the time of another: the mean of such rates counts",
    )


def test_a_missing_rate() -> None:
    """The rate before goes on, and the last row lasts for a usual step."""
    for missing in ("NaN", "", "-", "n/a"):
        table = RateTable.read(f"time;rate\n0;5\n1;{missing}\n2;6\n3;{missing}\n")
        assert table.steps == ((0, 5 * MBIT), (1, 5 * MBIT), (2, 6 * MBIT), (3, 6 * MBIT), (4, 0))
        assert table.notes[-1] == "2 rows have no rate: the rate before them goes on"


_FORMS: dict[str, Callable[[int], str]] = {
    "seconds": lambda ms: f"{ms / 1000}",
    "ms": lambda ms: f"{ms} ms",
    "epoch-ms": lambda ms: f"{1_700_000_000_000 + ms}",
    "iso": lambda ms: (BEGAN + timedelta(milliseconds=ms)).isoformat(),
    "g-net": lambda ms: (BEGAN + timedelta(milliseconds=ms)).strftime("%Y.%m.%d_%H.%M.%S.%f"),
    "german": lambda ms: (BEGAN + timedelta(milliseconds=ms)).strftime("%d.%m.%Y %H:%M:%S,%f"),
    "of-the-day": lambda ms: (BEGAN + timedelta(milliseconds=ms)).strftime("%H:%M:%S.%f"),
}


@given(
    st.lists(st.integers(1, 400), min_size=2, max_size=30),
    st.sampled_from((100, 1000, 1500)),
    st.sampled_from((("\t", True), (";", True), (";", False), (",", False), (" ", True), (" ", False))),
    st.sampled_from(sorted(_FORMS)),
    st.sampled_from((["cell", "throughput", "timestamp"], [])),
    st.randoms(use_true_random=False),
)
def test_drawn_tables(
    tenths: list[int], step_ms: int, style: tuple[str, bool], form: str, names: list[str], random: Random
) -> None:
    """A drawn recording is the same table in every style: separator, decimal mark, times, heading, order of rows."""
    separator, has_comma = style
    rows = []
    for at, rate in enumerate(tenths):
        time, number = _FORMS[form](at * step_ms), f"{rate / 10}"
        if has_comma:
            number = number.replace(".", ",")
            time = time.replace(".", ",") if form == "seconds" else time
        elif separator == ",":
            time = f'"{time}"'
        cells = ["x", number, time] if names else [time, number]
        rows.append(separator.join(cells))
    if form != "of-the-day":
        random.shuffle(rows)
    table = RateTable.read("\n".join((separator.join(names), *rows)))
    wanted = [(at * step_ms, rate / 10) for at, rate in enumerate(tenths)]
    assert [(round(time_s * 1000), round(bit_s / MBIT, 6)) for time_s, bit_s in table.steps[:-1]] == wanted
    assert round(table.steps[-1][0] * 1000) == len(tenths) * step_ms


def test_a_hole() -> None:
    """Nothing is sent where the recording has no rows; an irregular table has no holes."""
    table = RateTable.read("0,5\n1,6\n67,5\n68,5\n")
    assert table.notes[-1] == "1 hole of 65 s in all, where the table has no rows: nothing is sent there"
    times_ms = table.trace("walk").times_ms
    assert times_ms[-1] == 69_000
    assert bits(times_ms, 2_000, 67_000) == 0
    assert bits(times_ms, 1_000, 2_000) == pytest.approx(6 * MBIT, abs=PACKET_BYTES * 8)
    last = RateTable.read("0,5\n1,6\n2,6\n67,5\n").trace("walk").times_ms
    assert last[-1] == 68_000, "the last rate lasts for a usual step"
    rare = RateTable.read("0 10\n10 2\n90 5\n")
    assert len(rare.notes) == 1
    assert bits(rare.trace("walk").times_ms, 80_000, 90_000) == pytest.approx(20 * MBIT, abs=2 * PACKET_BYTES * 8)


def test_midnight() -> None:
    """Times of day go on after midnight."""
    table = RateTable.read("23:59:58 5\n23:59:59 5\n00:00:00 5\n00:00:01 5\n")
    assert table.steps[-1][0] == 4
    assert table.notes == ("taken: column 1 as times of day, column 2 as the rate in Mbit/s",)


@pytest.mark.parametrize(
    ("text", "told", "words"),
    [
        (
            "0 5500\n1 6500\n",
            {},
            "rates around 6500 would be 6.5 Gbit/s in Mbit/s; --unit kbit reads them as 6.5 Mbit/s",
        ),
        ("0 5500000\n1 6500000\n", {}, "--unit bit reads them as 6.5 Mbit/s, --unit mbit as they are"),
        ("0 0.006\n1 0.006\n", {}, "--unit gbit reads them as 6 Mbit/s"),
        ("0 5\n1000 6\n2000 5\n", {}, "its times would be 1000 s apart; --time-unit ms takes them for milliseconds"),
        ("time (s),rate\n0,5\n1000,6\n", {}, "its times would be 1000 s apart"),
    ],
)
def test_a_wrong_unit(text: str, told: dict[str, str], words: str) -> None:
    """A unit that nobody told is not believed if it makes an unlikely link; the error names the one that fits."""
    with pytest.raises(ValueError, match=re.escape(words)):
        RateTable.read(text, **told)


def test_a_unit_that_is_told() -> None:
    """What the user says counts; an unlikely rate is noted."""
    assert RateTable.read("0 5500\n1 6500\n", unit="mbit").notes[-1].startswith("rates around 6.5 Gbit/s are unlikely")
    assert RateTable.read("0 5500000\n1 6500000\n", unit="kbit").notes[-1].startswith("rates around 6.5 Gbit/s are")
    assert RateTable.read("0 5500\n1 6500\n", unit="kbit").steps[0] == (0, 5_500_000)
    assert RateTable.read("0 5\n1000 6\n", time_unit="s").steps[-1][0] == 2000
    assert RateTable.read("0 5\n1000 6\n", time_unit="ms").steps[-1][0] == 2
    noted = RateTable.read("time,rate (Mbit/s)\n0,5500\n1,6500\n", unit="kbit").notes
    assert "--unit kbit counts, although the rates of rate (Mbit/s) are in Mbit/s" in noted


@pytest.mark.parametrize(("columns", "rate"), [(("time", "ul"), 2), (("1", "3"), 3), (("TIME", "2"), 2)])
def test_columns_by_name(columns: tuple[str, str], rate: int) -> None:
    """The user may name the columns, or count them."""
    table = RateTable.read("time,ul,dl_rate\n0,2,3\n1,2,3\n", columns=columns)
    assert table.steps[0][1] == rate * MBIT
    for bad in (("time", "4"), ("time", "x"), ("1", "time"), ("0", "1")):
        with pytest.raises(ValueError, match="column"):
            RateTable.read("time,ul,dl_rate\n0,2,3\n1,2,3\n", columns=bad)


def test_a_long_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """What bounds a trace is the size of its file, not the number of its opportunities."""
    assert len(trace_of("0 500\n15 500\n").times_ms) > 10**6
    monkeypatch.setattr(traces, "MOST_BYTES", 2**20)
    with pytest.raises(ValueError, match=r"its file would have more than 1 MiB after 5\.\d+ s"):
        trace_of("0 500\n15 500\n")
    with pytest.raises(ValueError, match=r"more than 1 MiB after 0\.001 s"):
        trace_of("0 1e300\n1 1e300\n", unit="mbit")


@given(st.text(alphabet="0159.,;:-+ \t\n#/eE_TZkMbits", max_size=80))
def test_any_text(text: str) -> None:
    """Whatever stands in a table, it is a table or an error of one line."""
    try:
        words = json.dumps(RateTable.read(text).notes)
    except ValueError as error:
        words = str(error)
        assert len(words) < 300
    assert words.isprintable()


@given(st.lists(st.tuples(st.integers(300, 900), st.floats(0.5, 50)), min_size=2, max_size=20))
def test_no_bit_is_lost(steps: list[tuple[int, float]]) -> None:
    """The opportunities of a trace carry the recorded bits, to within one packet."""
    ends = [0]
    for length_ms, _ in steps:
        ends.append(ends[-1] + length_ms)
    text = "\n".join(f"{end / 1000} {rate}" for end, (_, rate) in zip(ends, steps, strict=False))
    lengths = [later - earlier for earlier, later in pairwise(ends)][:-1]
    lengths.append(lengths[-1])
    wanted = sum(length_ms * 1000 * rate for length_ms, (_, rate) in zip(lengths, steps, strict=True))
    if wanted < 2 * PACKET_BYTES * 8:
        return
    times_ms = trace_of(text).times_ms
    assert bits(times_ms, 0, times_ms[-1]) == pytest.approx(wanted, abs=1.01 * PACKET_BYTES * 8)
