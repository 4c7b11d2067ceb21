"""Tests of the log of decisions, and of the check that the live socket had the logged values."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.errors import InvalidRun
from priolab.common.formats.decisions import DRY_RUN, SET, Decision, Trigger, Why, refused, writing
from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import ProcessSample
from priolab.experiments.run.checks.settings import check_tuned
from priolab.experiments.scenario.knobs import scenario_from
from priolab.proxy.tuner.in_kernel import read_record
from tests.support.builders import process_sample
from tests.unit.proxy.tuner.decisions import CLIENT, DECISION

AUTO = scenario_from({"LOWAT": "auto"})
LATER = replace(DECISION, t_ns=5_000, event=Trigger.ROUND_TRIP, old_bytes=17_954, new_bytes=500_000, why=Why.RATE)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Decisions are written at once, a line each, and read back the same."""
    file = tmp_path / "lowat.jsonl"
    with writing(file) as note:
        note(DECISION)
        assert read_journal(file, Decision) == [DECISION]
        note(LATER)
    assert read_journal(file, Decision) == [DECISION, LATER]


@pytest.mark.parametrize(
    ("decision", "line"),
    [
        (DECISION, "198.18.0.2 port 40000: LOWAT unset -> 17954 bytes (floor; 289 kB/s, rtt 50.0 ms, cwnd 10)"),
        (
            replace(LATER, rate_bytes_s=0, outcome=DRY_RUN),
            "198.18.0.2 port 40000: LOWAT 17954 -> 500000 bytes (rate; rate unknown, rtt 50.0 ms, cwnd 10) [dry run]",
        ),
    ],
)
def test_for_people(decision: Decision, line: str) -> None:
    """A decision as text has the connection, the change, and the numbers behind the change."""
    assert str(decision) == line


@pytest.mark.parametrize(("error", "outcome"), [(0, SET), (-22, refused("Invalid argument"))])
@pytest.mark.parametrize(
    ("family", "address", "peer"),
    [(2, bytes([198, 18, 0, 2]) + bytes(12), CLIENT), (10, bytes(15) + b"\1", "::1")],
)
def test_a_record_of_the_kernels(family: int, address: bytes, peer: str, error: int, outcome: str) -> None:
    """A `struct decision` of the kernel is read completely, and an error number becomes the outcome."""
    numbers = struct.pack("=5Q", 1_000, 0, 5_000, 6_000, 289_000)
    rest = struct.pack("=9IiI", family, 443, 5, 1, 50_000, 10, 1448, 0, 17_954, error, 0)
    record = numbers + address + (40_000).to_bytes(2, "big").rjust(4, b"\0") + rest
    expected = replace(DECISION, acked_rate_bytes_s=5_000, highest_rate_bytes_s=6_000, peer=peer, outcome=outcome)
    assert read_record(record, dry_run=False) == expected


def _sample(t_ns: int, lowat_bytes: int) -> ProcessSample:
    return replace(process_sample(t_ns, 443), lowat_bytes=lowat_bytes)


@pytest.mark.parametrize(
    "samples",
    [
        [_sample(500, 0), _sample(2_000, 17_954), _sample(6_000, 500_000)],
        # A sample takes time, so it may contain a value that is set shortly after its time stamp.
        [_sample(900, 17_954), _sample(4_900, 500_000)],
    ],
)
def test_the_socket_had_what_the_journal_says(samples: list[ProcessSample]) -> None:
    """The check passes if the socket had the logged values. It ignores decisions about other connections."""
    check_tuned(AUTO, samples, [DECISION, replace(LATER, peer="198.18.1.2", t_ns=1_500), LATER], CLIENT)


@pytest.mark.parametrize(
    ("samples", "decisions", "message"),
    [
        ([_sample(2_000, 0)], [DECISION], "live socket: asked for .17954., observed 0"),
        ([_sample(6_000, 17_954)], [DECISION, LATER], "live socket: asked for .500000., observed 17954"),
        ([_sample(2_000, 0)], [], "journal: asked for a decision about 198.18.0.2, observed none"),
        ([_sample(2_000, 0)], [replace(DECISION, outcome=refused("x"))], "observed none"),
    ],
)
def test_a_socket_that_had_something_else(
    samples: list[ProcessSample], decisions: list[Decision], message: str
) -> None:
    """A socket with another value makes the run invalid."""
    with pytest.raises(InvalidRun, match=message):
        check_tuned(AUTO, samples, decisions, CLIENT)
