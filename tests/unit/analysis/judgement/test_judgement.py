"""Tests of the judgement on a server: the words that follow from shares and effects, at their thresholds."""

from dataclasses import replace

import pytest

from priolab.analysis.judgement.late import Late, late_reply
from priolab.analysis.judgement.layers import Layer, Outcome, begins_early, expected_effect, layer, outcome
from priolab.analysis.judgement.order import Sharing, equal, sharing
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.verdict import Judgement
from priolab.common.formats.run import Verdict
from tests.support.builders import page_load


@pytest.mark.parametrize(
    ("share", "word"),
    [
        (1.0, Sharing.REQUESTED_FIRST),
        (0.95, Sharing.REQUESTED_FIRST),
        (0.94, Sharing.UNEVEN),
        (0.8, Sharing.SHARED),
        (0.2, Sharing.SHARED),
        (0.19, Sharing.UNEVEN),
        (0.05, Sharing.REQUESTED_LAST),
    ],
)
def test_sharing(share: float, word: Sharing) -> None:
    """Two streams share, or come one after the other; only the latter is in turn."""
    assert sharing(share) is word
    assert word.in_turn is (share in (1.0, 0.95, 0.05))


def test_a_step_is_no_difference() -> None:
    """Shares that differ by a step of the window, 0.02, are equal."""
    assert equal(0.5, 0.52)
    assert not equal(0.5, 0.54)


@pytest.mark.parametrize(
    ("arriving", "word"),
    [(0.34, "arrives"), (0.33, "weak"), (0.1, "weak"), (0.09, "lost"), (-0.09, "lost"), (-0.1, "turned round")],
)
def test_outcomes(arriving: float, word: str) -> None:
    """A third of the expected effect arrives; less than a tenth is none, in either direction."""
    assert outcome(arriving) == word


def test_layers() -> None:
    """The outcomes without LOWAT and with it name the layer that lost the order."""
    assert layer(None, None, honoured=False) is Layer.SERVER
    assert layer(Outcome.ARRIVES, None, honoured=True) is Layer.NOWHERE
    assert layer(Outcome.LOST, Outcome.ARRIVES, honoured=True) is Layer.SOCKET
    assert layer(Outcome.LOST, Outcome.WEAK, honoured=True) is Layer.FRONT
    assert begins_early(0.9, 0.6)
    assert not begins_early(0.9, 0.8)
    assert (expected_effect(1, 0), expected_effect(0.5, 0.5)) == (1, 0)


def _load(script: tuple[tuple[int, int], ...], image: tuple[tuple[int, int], ...], number: int) -> PageLoad:
    return replace(page_load(image, script), number=number, focal_name="script")


MIXED = ((300, 10), (900, 10)), ((100, 10), (800, 10))
IDLE = ((300, 10), (900, 10)), ((1000, 10), (1100, 10))


@pytest.mark.parametrize(
    ("pieces", "verdicts", "tells", "is_read", "word", "number"),
    [
        (MIXED, ("kept", "kept"), True, False, Late.KEPT, 2),
        (MIXED, ("inverted", "kept"), True, False, Late.LOST, 1),
        (MIXED, ("kept", "inverted"), True, True, Late.LOST_LATER, 2),
        (MIXED, ("undecided", "kept"), False, False, Late.UNDECIDED, 1),
        (MIXED, ("undecided", "kept"), False, True, Late.KEPT, 2),
        (IDLE, ("kept", "kept"), True, True, Late.STARVED, 1),
    ],
)
def test_a_late_resource(
    pieces: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]],
    verdicts: tuple[str, ...],
    tells: bool,  # noqa: FBT001
    is_read: bool,  # noqa: FBT001
    word: Late,
    number: int,
) -> None:
    """It is kept in every load, lost in the first or a later one, or starves the others; what cannot tell may pass."""
    loads = [
        (
            _load(*pieces, each),
            Judgement(verdict=Verdict(verdict), reason="why", focal="script", favoured=True, tells=tells),
        )
        for each, verdict in enumerate(verdicts, start=1)
    ]
    reply = late_reply(loads, is_read=is_read)
    assert (reply.word, reply.load) == (word, number)
