"""Tests of the knobs of a Link."""

import json
from pathlib import Path

import pytest

from priolab.common.trace import Trace
from priolab.netem.link import Link, Qdisc, RateStep
from priolab.netem.link_options import LINK_OPTIONS, link_from, packed_traces


def test_defaults_are_the_maps_link() -> None:
    """The defaults are 128 kB/s, 300 ms toward the client, and 25 packets."""
    assert link_from({}) == Link(rate_bit_s=1_024_000, delay_ns=300_000_000, queue_packets=25)


def test_every_word_is_read() -> None:
    """Each knob sets its field; knobs that are not the Link's are ignored."""
    words = {
        "RATE": "128kbit",
        "RATE_UP": "64kbit",
        "RATE_STEPS": "1mbit@2s+64kbit@2500ms",
        "DELAY": "150ms",
        "DELAY_UP": "20ms",
        "QUEUE": "20",
        "LOSS": "1.5%",
        "JITTER": "10ms",
        "LOSS_BURST": "2.5",
        "REORDER": "3%",
        "QDISC": "fq_codel",
        "ECN": "on",
        "PATH": "/bin",
    }
    assert set(words) - {"PATH"} == set(LINK_OPTIONS) - {"TRACE", "TRACE_UP"}
    assert link_from(words) == Link(
        rate_bit_s=128_000,
        rate_up_bit_s=64_000,
        delay_ns=150_000_000,
        delay_up_ns=20_000_000,
        queue_packets=20,
        loss=0.015,
        jitter_ns=10_000_000,
        loss_burst_packets=2.5,
        reorder=0.03,
        qdisc=Qdisc.FQ_CODEL,
        ecn=True,
        rate_steps=(
            RateStep(at_ns=2 * 10**9, rate_bit_s=1_000_000),
            RateStep(at_ns=2_500_000_000, rate_bit_s=64_000),
        ),
    )


def test_traces(tmp_path: Path) -> None:
    """A trace is read from a file or from a packed text, and its mean rate holds until it begins."""
    (tmp_path / "t").write_text("4\n8\n")
    found = link_from({"TRACE": str(tmp_path / "t"), "TRACE_UP": "none", "DELAY": "0ms"})
    assert found == Link(rate_bit_s=3_028_000, delay_ns=0, trace=Trace(name="t", times_ms=(4, 8)))
    assert link_from({**packed_traces(found), "DELAY": "0ms"}) == found
    assert Link.from_document(json.loads(json.dumps(found.as_document()))) == found
    with pytest.raises(ValueError, match=r"^TRACE=/none is not allowed; allowed: none, or a file"):
        link_from({"TRACE": "/none"})
    for field in ("trace", "trace_up"):
        with pytest.raises(ValueError, match=f"^{field}: allowed none with QDISC=fq; any trace with QDISC=fifo$"):
            link_from({field.upper(): str(tmp_path / "t"), "QDISC": "fq"})
        with pytest.raises(ValueError, match=rf"^{field}: allowed none with rate steps \(RATE_STEPS\)"):
            link_from({field.upper(): str(tmp_path / "t"), "RATE_STEPS": "1mbit@2s"})


def test_unlimited() -> None:
    """A link may have no rate."""
    assert link_from({"RATE": "unlimited", "DELAY": "0ms"}) == Link(rate_bit_s=None, delay_ns=0)


NOT_WORDS = [
    ("LOSS_BURST", "0.5"),
    ("LOSS_BURST", "1001"),
    ("REORDER", "26%"),
    ("REORDER", "1"),
    ("QDISC", "red"),
    ("ECN", "yes"),
]


@pytest.mark.parametrize(
    ("name", "text"),
    [("RATE", "fast"), ("DELAY", "300"), ("QUEUE", "0"), ("LOSS", "2"), ("DELAY_UP", "61s"), *NOT_WORDS],
)
def test_nonsense_is_named(name: str, text: str) -> None:
    """The error names the knob, its value, and what is allowed."""
    with pytest.raises(ValueError, match=rf"^{name}={text} is not allowed; allowed: "):
        link_from({name: text})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1mbit",
        "1mbit@",
        "@2s",
        "1mbit@2",
        "1mbit@0s",
        "unlimited@2s",
        "999bit@2s",
        "1mbit@3601s",
        "1mbit@2s+",
        "1mbit@2s+2mbit@2s",
        "1mbit@2s+2mbit@1s",
        "1mbit@2s,2mbit@3s",
        "+".join(f"1mbit@{second}s" for second in range(1, 18)),
    ],
)
def test_steps_that_are_none(text: str) -> None:
    """Steps without rate or time, in wrong order, or more than sixteen are refused."""
    with pytest.raises(ValueError, match=r"^RATE_STEPS=.* is not allowed; allowed: up to 16 steps RATE@TIME"):
        link_from({"RATE_STEPS": text})


@pytest.mark.parametrize("words", [{"RATE": "unlimited"}, {"QUEUE": "1"}])
def test_steps_that_the_link_cannot_make(words: dict[str, str]) -> None:
    """Steps need a rate, and room in the queue beside the packet being sent."""
    with pytest.raises(ValueError, match=r"^rate_steps: allowed with a .* only$"):
        link_from({"RATE_STEPS": "1mbit@2s", **words})


def test_steps_are_written_as_they_are_read() -> None:
    """Steps are written in bits and nanoseconds, in whatever notation they were given. No steps give None."""
    link = link_from({"RATE_STEPS": "1280kbps@2s+128kbps@6s"})
    text = link.as_document()["rate_steps"]
    assert text == "10240000bit@2000000000ns+1024000bit@6000000000ns"
    assert link_from({"RATE_STEPS": text}) == link
    assert link_from({}).as_document()["rate_steps"] is None


def test_jitter_beyond_the_delay() -> None:
    """Knobs that give no valid Link together are refused, too."""
    with pytest.raises(ValueError, match="jitter"):
        link_from({"JITTER": "400ms"})
