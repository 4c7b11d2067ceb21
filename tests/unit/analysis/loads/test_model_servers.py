"""Five model servers on drawn pages: what the verdict says of a server whose scheduling is known.

A model writes frames into a kernel that takes LOWAT more than the link has carried, as a front does with LOWAT set.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from priolab.analysis.loads.interleaving import Interleaving, Piece
from priolab.analysis.loads.metrics import PageLoad, ResourceTimes
from priolab.analysis.loads.metrics import Piece as Arrived
from priolab.analysis.loads.requested_order import AskedOrder
from priolab.analysis.loads.verdict import Judgement, judge
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.run import Verdict
from tests.support.pages import page_of_parts, part

KIB, MS = 1024, 10**6
FRAME = 8 * KIB
RATE = 128 * KIB
"""Of the link, in bytes per second."""
LOWAT = 16 * KIB
BURST = LOWAT + 80 * KIB
DELAY_NS = 100 * MS
IMPORTANT = "script"


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A page: sizes and the times at which the origin has the responses, in the order of the requests.

    weights: those of important and other resources; None for urgencies.
    """

    sizes: Mapping[str, int]
    available_ms: Mapping[str, int]
    weights: tuple[int, int] | None = None


@dataclass
class Waiting:
    """The streams that a model may serve now. got: the bytes that each stream got while the same ones were waiting."""

    drawn: Drawn
    swapped: bool
    names: Sequence[str] = ()
    got: dict[str, int] = field(default_factory=dict)

    def is_first(self, name: str) -> bool:
        return (name == IMPORTANT) is not self.swapped

    def weight(self, name: str) -> int:
        weights = self.drawn.weights or (183, 147)
        return weights[0 if self.is_first(name) else 1]


Model = Callable[[Waiting], str]


def strict(waiting: Waiting) -> str:
    return min(waiting.names, key=lambda name: not waiting.is_first(name))


def fair(waiting: Waiting) -> str:
    return min(waiting.names, key=lambda name: waiting.got.get(name, 0))


def weighted(waiting: Waiting) -> str:
    return min(waiting.names, key=lambda name: waiting.got.get(name, 0) / waiting.weight(name))


def first_come(waiting: Waiting) -> str:
    return waiting.names[0]


def contrary(waiting: Waiting) -> str:
    return min(waiting.names, key=waiting.is_first)


def served(drawn: Drawn, model: Model, *, swapped: bool = False) -> list[tuple[str, int, int]]:
    """Returns what the model writes: name, bytes, and the place of each frame."""
    left, place = dict(drawn.sizes), 0
    waiting, frames = Waiting(drawn, swapped), []
    while any(left.values()):
        now_ms = max(0, place - LOWAT) * 1000 // RATE
        names = [name for name, size in left.items() if size and drawn.available_ms[name] <= now_ms]
        if not names:  # the link is idle
            soonest = min((name for name, size in left.items() if size), key=lambda name: drawn.available_ms[name])
            names = [soonest]
        if names != waiting.names:
            waiting.names, waiting.got = names, {}
        name = model(waiting)
        size = min(FRAME, left[name])
        frames.append((name, size, place))
        left[name] -= size
        waiting.got[name] = waiting.got.get(name, 0) + size
        place += size
    return frames


def verdict(drawn: Drawn, model: Model, *, swapped: bool = False) -> Judgement:
    """Returns the verdict on a load from the model."""
    frames = served(drawn, model, swapped=swapped)
    page = page_of_parts(
        *(part(name, size_bytes=size, important=name == IMPORTANT) for name, size in drawn.sizes.items())
    )
    arrived: dict[str, list[Arrived]] = {name: [] for name in drawn.sizes}
    for name, size, place in frames:
        arrived[name].append(Arrived(t_ns=DELAY_NS + (place + size) * 10**9 // RATE, size_bytes=size))
    times = {
        each.name: ResourceTimes(
            resource=each,
            requested_ns=0,
            available_ns=drawn.available_ms[each.name] * MS,
            headers_ns=0,
            pieces=tuple(arrived[each.name]),
        )
        for each in page.resources
    }
    load = PageLoad(number=1, started_ns=0, finished_ns=10**12, page=page, resources=times)
    scene = Interleaving(
        pieces=[Piece(resource=name, begin=place, size_bytes=size) for name, size, place in frames],
        written=lambda t_ns: t_ns * RATE // 10**9 + LOWAT + FRAME,
        burst_bytes=BURST,
    )
    return judge(load, order(drawn, swapped=swapped), DELAY_NS, scene=scene)


def order(drawn: Drawn, *, swapped: bool) -> AskedOrder:
    """Returns what the client asks for, by weights or by urgencies."""
    waiting = Waiting(drawn, swapped)
    return AskedOrder.of(
        [
            Event(
                t_ns=0,
                kind=Kind.REQUEST_SENT,
                load=1,
                resource=name,
                stream_id=2 * number + 1,
                detail=f"weight={waiting.weight(name)}"
                if drawn.weights
                else f"priority: u={1 if waiting.is_first(name) else 5}",
            )
            for number, name in enumerate(drawn.sizes)
        ],
        1,
    )


@st.composite
def drawn_pages(draw: st.DrawFn, *, by_weight: bool = False, last: bool = True) -> Drawn:
    """Draws a page whose important resource is requested last, or anywhere."""
    images = [f"image-{number}" for number in range(draw(st.integers(1, 8)))]
    names = [*images]
    names.insert(len(images) if last else draw(st.integers(0, len(images))), IMPORTANT)
    sizes = {name: draw(st.integers(8, 600)) * KIB for name in names}
    available = dict.fromkeys(images, 0) | {IMPORTANT: draw(st.integers(0, 1500))}
    weights = draw(st.sampled_from([(183, 147), (256, 32), (220, 32)])) if by_weight else None
    return Drawn(sizes=sizes, available_ms={name: available[name] for name in names}, weights=weights)


def was_late(told: Judgement) -> bool:
    """True if so much came before the resource that the share beside it does not matter."""
    percent = int(told.reason.partition("%")[0]) if told.reason[0].isdigit() else 0
    return percent >= 50


BY_URGENCY, BY_WEIGHT = drawn_pages(), drawn_pages(by_weight=True)


@given(drawn=st.one_of(BY_URGENCY, BY_WEIGHT, drawn_pages(last=False)))
def test_strict_is_kept(drawn: Drawn) -> None:
    """A strict server is kept, whatever share was asked for, unless the load is too late or too small to tell."""
    told = verdict(drawn, strict)
    assume(told.verdict is not Verdict.NOTHING and not was_late(told))
    assert told.verdict is Verdict.KEPT or not told.tells, told.reason


@pytest.mark.parametrize("model", [fair, first_come, contrary])
@given(drawn=st.one_of(BY_URGENCY, BY_WEIGHT))
def test_a_server_that_ignores_the_order_is_never_kept(model: Model, drawn: Drawn) -> None:
    """A server that shares evenly, serves the first request first, or does the contrary is not kept.

    The important resource is requested last. The first two do the same if the client asks for the contrary.
    """
    told = verdict(drawn, model)
    assert told.verdict is not Verdict.KEPT, told.reason
    if model is not contrary:
        assert served(drawn, model) == served(drawn, model, swapped=True)


@given(drawn=BY_WEIGHT)
def test_weighted_is_kept_if_weights_are_asked_for(drawn: Drawn) -> None:
    """A server that shares by weight is kept if the client sends weights, unless the load is too late to tell.

    Of a small resource the first frame alone may wait for a frame of each other one.
    """
    assume(drawn.sizes[IMPORTANT] > BURST)
    told = verdict(drawn, weighted)
    assume(told.verdict is not Verdict.NOTHING and not was_late(told))
    assert told.verdict is Verdict.KEPT or not told.tells, told.reason


@given(drawn=BY_URGENCY)
def test_weighted_is_not_kept_if_all_is_asked_for(drawn: Drawn) -> None:
    """A server that shares 183:147 is not kept if the client asks for everything."""
    assert verdict(drawn, weighted).verdict is not Verdict.KEPT


@given(drawn=drawn_pages(last=False))
def test_even_sharing_is_never_kept(drawn: Drawn) -> None:
    """Wherever the important resource is requested: a large one that got an even share is not kept."""
    assume(drawn.sizes[IMPORTANT] >= BURST)
    assume(any(drawn.sizes[name] >= 2 * BURST for name in drawn.sizes if name != IMPORTANT))
    told = verdict(drawn, fair)
    assert told.verdict is not Verdict.KEPT, told.reason


@pytest.mark.parametrize(("model", "share"), [(fair, "51%"), (weighted, "56%")])
def test_the_sentence_names_both_shares(model: Model, share: str) -> None:
    """The sentence has the share that came, and the one that was asked for."""
    drawn = Drawn(sizes={"image": 700 * KIB, IMPORTANT: 400 * KIB}, available_ms={"image": 0, IMPORTANT: 200})
    told = verdict(drawn, model)
    assert told.verdict is Verdict.UNDECIDED
    assert f"both shared the link, and the script got {share} of it, and 100% was asked for" in told.reason


def test_weights_that_were_followed() -> None:
    """A server that gives 55 % where the weights 183 and 147 ask for 55 % kept the order; even sharing did not."""
    sizes = {"image": 1400 * KIB, IMPORTANT: 700 * KIB}
    drawn = Drawn(sizes=sizes, available_ms={"image": 0, IMPORTANT: 200}, weights=(183, 147))
    told = verdict(drawn, weighted)
    assert told.verdict is Verdict.KEPT
    assert told.reason.endswith("both shared the link, and the script got 56% of it, and 55% was asked for")
    told = verdict(drawn, fair)
    assert told.verdict is Verdict.UNDECIDED
    assert told.reason.endswith("the script got 50% of it, and 55% was asked for")


def test_a_resource_that_fits_into_the_kernel() -> None:
    """If the kernel may take the whole resource at once, one load cannot show its share, and the sentence says so."""
    drawn = Drawn(sizes={"image": 700 * KIB, IMPORTANT: 20 * KIB}, available_ms={"image": 0, IMPORTANT: 200})
    for model in (strict, fair):
        told = verdict(drawn, model)
        assert (told.verdict, told.tells) == (Verdict.UNDECIDED, False)
        assert "a front may hand over 96 KiB at once, and the script has 20" in told.reason


def test_signals_that_come_later() -> None:
    """Only what the front wrote after the client's last signal counts, if this signal asked for another share."""

    def asked(t_ns: int, kind: Kind, name: str, urgency: int) -> Event:
        stream_id = {"image": 1, IMPORTANT: 3}[name]
        return Event(t_ns=t_ns, kind=kind, load=1, resource=name, stream_id=stream_id, detail=f"priority: u={urgency}")

    first = [asked(0, Kind.REQUEST_SENT, "image", 2), asked(0, Kind.REQUEST_SENT, IMPORTANT, 5)]
    later = [asked(7, Kind.PRIORITY_SENT, IMPORTANT, 1)]
    assert AskedOrder.of([*first, *later], 1).settled_ns([IMPORTANT], ["image"]) == 7
    assert AskedOrder.of(first, 1).settled_ns([IMPORTANT], ["image"]) is None
    assert (
        AskedOrder.of([*first, asked(7, Kind.PRIORITY_SENT, "image", 3)], 1).settled_ns(["image"], [IMPORTANT]) is None
    )
