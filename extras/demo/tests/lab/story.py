"""Compares the claims of the demo's story, step by step, with the measured arms of the step."""

from collections.abc import Callable, Mapping
from typing import Any

Arm = Mapping[str, Any]
PACKET_BUFFER_BYTES = 65536


def _begins(arm: Arm) -> float:
    return float(arm["script"]["first_byte_ms"])


def fast_link(first: Arm, second: Arm) -> None:
    """The image has arrived before the script exists, with LOWAT and without."""
    assert first["verdict"] == second["verdict"] == "nothing-to-prioritize"
    for arm in (first, second):
        assert arm["image"]["last_byte_ms"] < arm["loads"][-1]["script_available_ms"]


def asking(first: Arm, second: Arm) -> None:
    """Both arms have the same times, although they ask for opposite orders: the front no longer holds the image."""
    assert (first["verdict"], second["verdict"]) == ("inverted", "kept")
    for name in ("script", "image"):
        assert first[name] == second[name]
    for arm in (first, second):
        assert arm["ledger"]["image_bytes_at_available"]["pending"] == 0
        assert arm["ledger"]["image_bytes_at_available"]["committed"] == 0


def lowat(first: Arm, second: Arm) -> None:
    """Image bytes wait in the front with LOWAT, and the script's first byte comes in less than half the time."""
    assert (first["verdict"], second["verdict"]) == ("inverted", "kept")
    assert second["ledger"]["image_bytes_at_available"]["pending"] > 0
    assert _begins(second) < _begins(first) / 2


def which_value(first: Arm, second: Arm) -> None:
    """The smaller LOWAT brings the script earlier. Up to 64 KiB more than LOWAT are unsent, half a second."""
    assert first["verdict"] == second["verdict"] == "kept"
    assert _begins(second) < _begins(first)
    for arm in (first, second):
        unsent, asked = arm["observed"]["notsent_most_bytes"], arm["scenario"]["lowat"]
        assert asked < unsent <= asked + PACKET_BUFFER_BYTES
    assert 0.4 < PACKET_BUFFER_BYTES * 8 / second["scenario"]["rate_bit_s"] < 0.6


def tuned(first: Arm, second: Arm) -> None:
    """The BPF tuner runs with LOWAT=auto, and the script's first byte comes earlier than with the fixed value."""
    assert second["observed"]["tuner"] == "bpf"
    assert second["verdict"] == "kept"
    assert _begins(second) < _begins(first)


def deep_queue(first: Arm, second: Arm) -> None:
    """The deep queue inverts the order, and the longest wait is in the bottleneck queue."""
    assert (first["verdict"], second["verdict"]) == ("kept", "inverted")
    assert second["ledger"]["largest"] == "bottleneck_queue"


def deaf(first: Arm, second: Arm) -> None:
    """HAProxy's script begins early, too, but much of the image comes while the script is sent."""
    assert (first["verdict"], second["verdict"]) == ("kept", "undecided")
    assert _begins(second) < 1.5 * _begins(first)
    during, size = second["image_bytes_during_script"], second["scenario"]["size_bytes"]
    assert 0.3 * size < during


TOLD: tuple[Callable[[Arm, Arm], None], ...] = (fast_link, asking, lowat, which_value, tuned, deep_queue, deaf)
"""The checks, in the order of the steps."""
