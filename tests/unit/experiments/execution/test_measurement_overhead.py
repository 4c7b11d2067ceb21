"""Tests of the cost of the instruments in run.json."""

import json
from pathlib import Path

import pytest

from priolab.experiments.execution.measurement_overhead import cost, instruments
from priolab.experiments.results.run_folder import RunFolder


@pytest.mark.parametrize(
    ("account", "stands_still", "ns_per_event", "reason"),
    [
        ({"events": 4, "spent_ns": 1001}, False, 250, None),
        ({"events": 4, "spent_ns": 1001}, True, None, "the clock stands still while a program works"),
        ({"events": 0, "spent_ns": 0}, False, None, "no event"),
        (None, False, None, "the instrument left no record"),
    ],
)
def test_what_an_instrument_costs(
    account: dict[str, int] | None,
    stands_still: bool,  # noqa: FBT001
    ns_per_event: int | None,
    reason: str | None,
) -> None:
    """The cost is in nanoseconds per event, or null with a reason."""
    found = cost(account, stands_still=stands_still)
    assert (found["ns_per_event"], found["reason"]) == (ns_per_event, reason)
    assert found["events"] == (account["events"] if account else None)


def test_instruments_are_read_from_the_folder(tmp_path: Path) -> None:
    """The cost is computed from the client's counts and its clock. A run without these files has no cost."""
    folder = RunFolder(tmp_path / "control.1")
    folder.create()
    assert instruments(folder)["client"]["reason"] == "the instrument left no record"
    (folder.client / "socket.json").write_text(json.dumps({"instrument": {"events": 2, "spent_ns": 80}}))
    assert instruments(folder)["client"] == {"events": 2, "ns_per_event": 40, "reason": None}
    folder.environment.write_text(json.dumps({"clock": {"python": {"advances_while_working": False}}}))
    assert instruments(folder)["client"]["ns_per_event"] is None
