"""Tests of the judgement: synthetic probes and loads, the faults that they show, and what follows from what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.analysis.judgement.thresholds import STALLED_STEPS
from priolab.analysis.loads.probe import Probe
from priolab.client.dialects import PLAIN
from priolab.common.formats.events import Event, Kind
from priolab.experiments.commands import probe
from priolab.experiments.scenario.pages import Parameters, page_of
from priolab.extras.gate.checks import Check
from priolab.extras.gate.faults import Fault
from priolab.extras.gate.findings import Finding, Result
from priolab.extras.gate.judging import judged
from priolab.extras.gate.seen import Seen

_SIZE = 400_000
_STEPS = 40
_PARAMETERS = Parameters(size_bytes=_SIZE, script_delay_ns=0)
ALL: tuple[Check, ...] = (
    Check(kind="urgency"),
    Check(kind="incremental"),
    Check(kind="update"),
    Check(kind="reset"),
    Check(kind="connections"),
)


def event(t_ns: int, kind: Kind, **fields: object) -> Event:
    """Make an event of the first load."""
    return Event(t_ns=t_ns, kind=kind, load=1, **fields)  # type: ignore[arg-type]


def probe_events(share: float) -> list[Event]:
    """Make the events of a probe in which the second resource gets this share of each step of the window."""
    events = [event(0, Kind.LOAD_STARTED)]
    for stream, name in ((1, "first"), (3, "second")):
        events.append(event(0, Kind.REQUEST_SENT, stream_id=stream, resource=name, detail="priority: u=2"))
    for step in range(_STEPS):
        events.append(event(step, Kind.WINDOW_OPENED, size_bytes=8000))
        for stream, name, part in ((1, "first", 1 - share), (3, "second", share)):
            if size := round(8000 * part):
                events.append(event(step, Kind.DATA_HEADER, stream_id=stream, resource=name, size_bytes=size))
                events.append(event(step, Kind.DATA, stream_id=stream, resource=name, size_bytes=size))
    return events


def found(shares: dict[str, tuple[float, ...]], checks: tuple[Check, ...] = ALL) -> tuple[Finding, ...]:
    """Judge the checks with the second resource's shares in the trials of each kind of check."""
    seen = {}
    for check in checks:
        for (role, trial), share in zip(check.trials(), shares[check.kind], strict=True):
            page = page_of(trial.page, _PARAMETERS)
            seen[check.name, role] = Seen(trial=trial, events=probe_events(share), page=page)
    return judged(checks, seen)


SOUND: dict[str, tuple[float, ...]] = {
    "urgency": (1, 0),
    "incremental": (0.5,),
    "update": (1, 0),
    "reset": (1, 0),
    "connections": (1, 0),
}


@pytest.mark.parametrize(
    ("shares", "faults"),
    [
        ({}, []),
        ({"urgency": (0, 1)}, [Fault.INVERTS]),
        ({"urgency": (0, 0)}, [Fault.IGNORES_URGENCY]),
        ({"urgency": (0.5, 0.5)}, [Fault.IGNORES_URGENCY]),
        ({"urgency": (0.7, 0.3)}, [Fault.SHARES]),
        ({"urgency": (0, 0), "incremental": (0,)}, [Fault.BY_STREAM_ID]),
        ({"urgency": (0, 1), "incremental": (0,)}, [Fault.INVERTS, Fault.IGNORES_INCREMENTAL]),
        ({"urgency": (0, 0), "update": (0, 0), "reset": (0, 0)}, [Fault.IGNORES_URGENCY]),
        ({"incremental": (0,)}, [Fault.IGNORES_INCREMENTAL]),
        ({"incremental": (1,)}, [Fault.IGNORES_INCREMENTAL]),
        ({"update": (0, 1)}, [Fault.FORGETS_UPDATES]),
        ({"reset": (0, 0)}, [Fault.LOST_BY_RESET]),
        ({"connections": (0, 1)}, [Fault.MIXES_CONNECTIONS]),
        ({"reset": (0, 0), "connections": (0, 1)}, [Fault.LOST_BY_RESET, Fault.MIXES_CONNECTIONS]),
    ],
)
def test_faults(shares: dict[str, tuple[float, ...]], faults: list[Fault]) -> None:
    """Shares of the window that show faults, and the names of these faults."""
    result = Result(target="x", title="y", findings=found(SOUND | shares), took_s=1.0)
    assert result.faults == faults
    assert result.passed is not bool(faults)


@pytest.mark.parametrize(
    ("served", "fault"),
    [("a" * 12 + "b" * 12 + "c" * 12 + "d" * 8, Fault.FIRST_FOR_ALL), ("abcd" * 8, Fault.IGNORES_URGENCY)],
)
def test_one_priority_for_all(served: str, fault: Fault) -> None:
    """Urgency is ignored, and streams with i share only if the first request has i: its priority counts for all."""
    checks = tuple(Check(kind=kind) for kind in ("urgency", "incremental", "fair"))
    seen = {}
    for check, share in zip(checks[:2], (0, 0.5), strict=True):
        for role, trial in check.trials():
            page = page_of(trial.page, _PARAMETERS)
            seen[check.name, role] = Seen(trial=trial, events=probe_events(share), page=page)
    ((role, trial),) = checks[2].trials()
    events = [event(0, Kind.WINDOW_OPENED, stream_id=1, resource=name, size_bytes=98_304) for name in "abcd"]
    events.append(event(0, Kind.WINDOW_OPENED, size_bytes=8192))
    for name in served:
        events += [event(1, Kind.DATA, stream_id=1, resource=name, size_bytes=8192)]
        events += [event(1, Kind.WINDOW_OPENED, size_bytes=8192)]
    seen[checks[2].name, role] = Seen(trial=trial, events=events, page=page_of(trial.page, _PARAMETERS))
    assert judged(checks, seen)[0].faults == (fault,)


def test_what_follows() -> None:
    """A check that fails because urgency is ignored names no fault and quotes no frames, but says so."""
    findings = found(SOUND | {"urgency": (0, 0), "reset": (0, 0)})
    assert findings[3].passed is False
    assert not findings[3].faults
    assert not findings[3].frames
    assert findings[3].text.endswith("this follows from the failure of the check urgency")
    assert (findings[3].follows, findings[0].follows) == (findings[0].check.name, None)


def test_what_follows_in_another_dialect() -> None:
    """The failure of a check follows only from the check `urgency` of a dialect that is part of its own."""
    checks: tuple[Check, ...] = (
        Check(kind="urgency", dialect="plain"),
        Check(kind="urgency"),
        Check(kind="update"),
        Check(kind="reset", dialect="plain"),
    )
    seen = {}
    for check, shares in zip(checks, [(0, 0, 0, 0), (1, 0), (0, 1), (0, 0)], strict=True):
        for (role, trial), share in zip(check.trials(), shares, strict=True):
            page = page_of(trial.page, _PARAMETERS)
            seen[check.name, role] = Seen(trial=trial, events=probe_events(share), page=page)
    faults = [each.faults for each in judged(checks, seen)]
    assert faults == [(Fault.IGNORES_URGENCY,), (), (Fault.FORGETS_UPDATES,), ()]


@pytest.mark.parametrize(
    ("usual", "strong", "faults", "followed"),
    [
        ((1, 0), (1, 0), (), True),
        ((0.55, 0.46), (0.88, 0.12), (Fault.SHARES,), True),
        ((0.6, 0.49), (0.03, 0.95), (Fault.INVERTS,), False),
        ((0.5, 0.5), (0.5, 0.5), (Fault.IGNORES_URGENCY,), False),
    ],
)
def test_weights(
    usual: tuple[float, float],
    strong: tuple[float, float],
    faults: tuple[Fault, ...],
    followed: bool,  # noqa: FBT001
) -> None:
    """In a dialect with weights the judgement follows from both pairs of probes, with what they ask for.

    The frames are those of the probe in which the stream asked for first got the least.
    """
    checks: tuple[Check, ...] = (
        Check(kind="urgency", dialect="plain"),
        Check(kind="urgency", dialect="plain+reprioritize", must="followed"),
    )
    finding, lenient = found({"urgency": (*usual, *strong)}, checks)
    assert (finding.faults, lenient.passed) == (faults, followed)
    assert "weights 183:147 ask for 55%; the stream asked for first got" in finding.reason
    assert "weights 256:32 ask for 89%; the stream asked for first got" in finding.reason


def test_gate_and_probe_agree() -> None:
    """The words of gate and `priolab probe` for the same shares are the same, in each dialect."""
    for shares in ((55, 46, 88, 12), (60, 49, 3, 95), (100, 0, 100, 0), (50, 50, 50, 50)):
        checks: tuple[Check, ...] = (Check(kind="urgency", dialect="plain"),)
        (finding,) = found({"urgency": tuple(share / 100 for share in shares)}, checks)
        probes = iter(
            Probe(important="second", steps=_STEPS, served=(("second", s), ("first", 100 - s))) for s in shares
        )
        answer = probe._answer(PLAIN, lambda _: next(probes))  # noqa: B023
        assert finding.reason.startswith(f"{answer.word}: ")


def test_other_expectations() -> None:
    """A server that shares by weight passes `followed`; one that sends streams in turn passes `in turn`."""
    checks: tuple[Check, ...] = (Check(kind="urgency", must="followed"), Check(kind="incremental", must="in turn"))
    assert [each.passed for each in found({"urgency": (0.7, 0.3), "incremental": (0,)}, checks)] == [True, True]
    findings = found({"urgency": (0.7, 0.3), "incremental": (0.5,)}, checks)
    assert findings[1].faults == (Fault.TAKES_TURNS,)


def test_no_result() -> None:
    """A trial without a result is an error of its check, with its reason; it is no fault of the scheduler."""
    checks: tuple[Check, ...] = (Check(kind="urgency"),)
    page = page_of("pair", _PARAMETERS)
    seen = {
        (checks[0].name, role): Seen(trial=trial, events=(), page=page, failure="it ended")
        for role, trial in checks[0].trials()
    }
    (finding,) = judged(checks, seen)
    assert (finding.passed, finding.error, finding.text, finding.faults) == (False, True, "it ended", ())


def test_the_frames_until_a_trial_failed() -> None:
    """A load that stalls has the frames until then; it starves nobody if the important resource is incomplete, too."""
    late = Check(kind="late")
    ((role, trial),) = late.trials()
    events = [event(0, Kind.REQUEST_SENT, stream_id=3, resource="script", detail="priority: u=2")]
    seen = Seen(trial=trial, events=events, page=page_of("maps", _PARAMETERS), failure="it took longer")
    (finding,) = judged((late,), {(late.name, role): seen})
    assert (finding.error, finding.faults) == (True, ())
    assert finding.frames == ("   0.000 s  HEADERS stream 3 script, priority: u=2",)


def test_not_checked() -> None:
    """A check without trials is not made; if no check is made the gate does not pass."""
    (finding,) = judged((Check(kind="late"),), {})
    assert finding.passed is None
    assert not Result(target="x", title="y", findings=(finding,), took_s=1.0).passed


@pytest.mark.parametrize(("steps", "faults"), [(STALLED_STEPS, (Fault.STARVES,)), (STALLED_STEPS - 1, ())])
def test_a_probe_that_stalls(steps: int, faults: tuple[Fault, ...]) -> None:
    """If a probe fails and nothing came in many steps of the connection's window, the server starves the streams."""
    check = Check(kind="urgency")
    events = [*probe_events(1), *(event(_STEPS, Kind.WINDOW_OPENED, size_bytes=8000) for _ in range(steps))]
    page = page_of("pair", _PARAMETERS)
    seen = {
        (check.name, role): Seen(trial=trial, events=events, page=page, failure="it took longer")
        for role, trial in check.trials()
    }
    (finding,) = judged((check,), seen)
    assert (finding.faults, finding.error) == (faults, not faults)


def test_a_load_that_starves() -> None:
    """If a load fails with the important resource complete and nothing of the others, the server starves them."""
    late = Check(kind="late")
    ((role, trial),) = late.trials()
    events = [
        event(0, Kind.LOAD_STARTED),
        event(1, Kind.DATA_HEADER, stream_id=3, resource="script", size_bytes=9),
        event(1, Kind.DATA, stream_id=3, resource="script", size_bytes=9),
        event(2, Kind.ENDED, stream_id=3, resource="script"),
    ]
    seen = Seen(trial=trial, events=events, page=page_of("maps", _PARAMETERS), failure="it took longer")
    (finding,) = judged((late,), {(late.name, role): seen})
    assert finding.faults == (Fault.STARVES,)
    assert not finding.error
    assert "DATA of stream 3 script: 9 bytes, 1 frame" in finding.frames[-1]


def test_frames() -> None:
    """The frames of a probe: requests with priorities, the turns of the streams, how often the windows grew."""
    page = page_of("pair", _PARAMETERS)
    ((_, trial), _) = Check(kind="urgency").trials()
    frames = Seen(trial=trial, events=probe_events(0.5), page=page).frames()
    assert [line.split("s  ")[1] for line in frames[:3]] == [
        "HEADERS stream 1 first, priority: u=2",
        "HEADERS stream 3 second, priority: u=2",
        "DATA of stream 1 first: 4,000 bytes, 1 frame",
    ]
    assert frames[-2:] == [
        f"            and {2 * _STEPS - 6} more turns of the streams",
        f"            the client opened its windows {_STEPS} times",
    ]


@given(st.tuples(*[st.floats(0, 1)] * 2), st.floats(0, 1))
def test_every_share_has_a_judgement(pair: tuple[float, float], twins: float) -> None:
    """A failed check names a fault or says from which check its failure follows, whatever the shares are."""
    shares: dict[str, tuple[float, ...]] = {**dict.fromkeys(SOUND, pair), "incremental": (twins,)}
    for finding in found(shares):
        assert finding.passed or finding.faults or "follows" in finding.text
        assert all(fault.meaning in finding.text for fault in finding.faults)
