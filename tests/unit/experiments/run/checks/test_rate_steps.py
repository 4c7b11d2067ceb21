"""Tests that compare the requested rate steps with the observed ones."""

import json
from pathlib import Path

import pytest

from priolab.common.errors import InvalidRun
from priolab.experiments.run.checks.rate_steps import Span, check_steps, observed_steps
from priolab.netem.calibration import REAL, VIRTUAL
from priolab.netem.link import Link, RateStep

S = 10**9
LINK = Link(
    rate_bit_s=1_000_000,
    delay_ns=0,
    rate_steps=(RateStep(at_ns=2 * S, rate_bit_s=10_000_001), RateStep(at_ns=6 * S, rate_bit_s=1_000_000)),
)
SPAN = Span(began_ns=100 * S, ended_ns=110 * S)


def noted(folder: Path, *lines: tuple[int, int, int]) -> Path:
    """Write changes.jsonl with lines of (requested time in ns, lateness in ns, rate)."""
    text = [
        json.dumps({"t_ns": asked_ns + late_ns, "asked_ns": asked_ns, "rate_bit_s": rate_bit_s})
        for asked_ns, late_ns, rate_bit_s in lines
    ]
    (folder / "changes.jsonl").write_text("".join(f"{line}\n" for line in text))
    return folder


def test_steps_that_were_made(tmp_path: Path) -> None:
    """Steps have their lateness. A rate may be rounded down to whole bytes, as kernels do."""
    folder = noted(tmp_path, (102 * S, 50, 10_000_000), (106 * S, 2_000_000, 1_000_000))
    found = observed_steps(LINK, folder, SPAN)
    assert [(step["at_ns"], step["rate_bit_s"], step["late_ns"], step["reason"]) for step in found] == [
        (2 * S, 10_000_000, 50, None),
        (6 * S, 1_000_000, 2_000_000, None),
    ]
    check_steps(found, VIRTUAL)


def test_a_step_after_the_load_is_no_fault(tmp_path: Path) -> None:
    """A rate step after the end of the load has no observed rate, but a reason, and the run stays valid."""
    found = observed_steps(LINK, noted(tmp_path, (102 * S, 0, 10_000_001)), Span(began_ns=100 * S, ended_ns=105 * S))
    assert (found[1]["rate_bit_s"], found[1]["late_ns"]) == (None, None)
    assert found[1]["reason"] == "the load had ended before this step"
    check_steps(found, VIRTUAL)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ((106 * S, 25_000_000, 1_000_000), "the link's rate in bit/s, set 6000 ms into the load: lateness in ns"),
        (
            (106 * S, 0, 999_992),
            "the link's rate in bit/s, set 6000 ms into the load: asked for 1000000, observed 999992",
        ),
        ((106 * S, 0, 1_000_001), "the link's rate in bit/s, set 6000 ms into the load"),
        (
            (107 * S, 0, 1_000_000),
            "the link's rate in bit/s, set 6000 ms into the load: asked for 1000000, observed None",
        ),
    ],
)
def test_a_step_that_is_not_what_was_asked(tmp_path: Path, line: tuple[int, int, int], text: str) -> None:
    """A step that is late, has another rate, or is missing makes the run invalid."""
    found = observed_steps(LINK, noted(tmp_path, (102 * S, 0, 10_000_001), line), SPAN)
    with pytest.raises(InvalidRun) as caught:
        check_steps(found, REAL)
    assert text in str(caught.value)


def test_a_link_without_steps_has_no_record(tmp_path: Path) -> None:
    """A link without rate steps needs no file."""
    assert observed_steps(Link(rate_bit_s=1000, delay_ns=0), tmp_path, SPAN) == []
