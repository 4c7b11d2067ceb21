"""A Link in words."""

import pytest

from netem.link import Link
from netem.words import WORDS, link_from


def test_defaults_are_the_maps_link() -> None:
    """128 kB/s, 300 ms toward the client, 25 packets."""
    assert link_from({}) == Link(rate_bit_s=1_024_000, delay_ns=300_000_000, queue_packets=25)


def test_every_word_is_read() -> None:
    """Each word sets its field; what is no word of the Link is left alone."""
    words = {
        "RATE": "128kbit",
        "DELAY": "150ms",
        "DELAY_UP": "20ms",
        "QUEUE": "30kb",
        "LOSS": "1.5%",
        "JITTER": "10ms",
        "PATH": "/bin",
    }
    assert set(words) - {"PATH"} == set(WORDS)
    assert link_from(words) == Link(
        rate_bit_s=128_000,
        delay_ns=150_000_000,
        delay_up_ns=20_000_000,
        queue_packets=20,
        loss=0.015,
        jitter_ns=10_000_000,
    )


def test_unlimited() -> None:
    """A rate may be none at all."""
    assert link_from({"RATE": "unlimited", "DELAY": "0ms"}) == Link(rate_bit_s=None, delay_ns=0)


@pytest.mark.parametrize(
    ("name", "text"), [("RATE", "fast"), ("DELAY", "300"), ("QUEUE", "0"), ("LOSS", "2"), ("DELAY_UP", "61s")]
)
def test_nonsense_is_named(name: str, text: str) -> None:
    """The word, its value, and what is allowed."""
    with pytest.raises(ValueError, match=rf"^{name}={text} is not allowed; allowed: "):
        link_from({name: text})


def test_jitter_beyond_the_delay() -> None:
    """Words that make no Link together are refused as well."""
    with pytest.raises(ValueError, match="jitter"):
        link_from({"JITTER": "400ms"})
