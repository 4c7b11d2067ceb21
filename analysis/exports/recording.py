"""Reads the input of the export formats: the runs of an experiment that are ok.

Other runs are left out, so that no format shows an invalid run as a result.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from priolab.analysis.exports.streams import Stream, streams
from priolab.analysis.loads.findings import judgement
from priolab.analysis.loads.metrics import PageLoad, loads_of_good_run, with_rate
from priolab.analysis.loads.verdict import Judgement
from priolab.analysis.records.runs import Evidence, Experiment, Layers, Run
from priolab.common.formats.events import Event
from priolab.common.formats.plan import Plan
from priolab.common.formats.reading import FolderError
from priolab.common.formats.run import RunRecord
from priolab.common.formats.samples import OriginRequest, QueueSample, SocketSample
from priolab.common.formats.scenario import ScenarioRecord


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A run that is ok, with the run's logs. loads: all complete loads, the measured load last."""

    name: str
    arm: str
    record: RunRecord
    plan: Plan
    events: tuple[Event, ...]
    requests: tuple[OriginRequest, ...]
    loads: tuple[PageLoad, ...]
    streams: tuple[Stream, ...]
    layers: Layers

    @property
    def scenario(self) -> ScenarioRecord:
        """The run's scenario, from run.json."""
        return self.record.scenario

    @cached_property
    def judgement(self) -> Judgement:
        """The verdict on the measured load, from the event logs."""
        plan = self.plan
        evidence = Evidence(events=self.events, requests=self.requests, page=plan.page, groups=plan.groups)
        return judgement(self.measured, evidence, self.layers, self.scenario)

    @property
    def measured(self) -> PageLoad:
        """The measured load."""
        return self.loads[-1]

    @property
    def zero_ns(self) -> int:
        """The time of the client's first event, with which the run begins in exports."""
        return self.events[0].t_ns

    @property
    def end_ns(self) -> int:
        """The time of the client's last event."""
        return self.events[-1].t_ns

    def ms(self, t_ns: int) -> float:
        """Converts a time to milliseconds since the client's first event."""
        return (t_ns - self.zero_ns) / 10**6

    def parent(self, stream: Stream) -> int:
        """Returns the number of the stream on which `stream` depends in the plan (RFC 7540, 5.3.1); 0 for the root."""
        position = stream.request.signals.position
        name = position.depends_on if position else None
        groups = {group.name: group.stream_id for group in self.plan.groups}
        of_load = {other.name: other.stream_id for other in self.streams if other.load == stream.load}
        return 0 if name is None else groups.get(name) or of_load.get(name, 0)

    @cached_property
    def sockets(self) -> tuple[SocketSample, ...]:
        """The samples of the front's socket from the client's first event to the last."""
        samples = self.layers.sockets
        return tuple(sample for sample in samples if self.zero_ns <= sample.t_ns <= self.end_ns)

    @cached_property
    def queue(self) -> tuple[QueueSample, ...]:
        """The samples of the link's queue from the client's first event to the last.

        The last sample before the first event is included, because the link records changes only.
        """
        samples = [sample for sample in self.layers.queue if sample.t_ns <= self.end_ns]
        earlier = sum(sample.t_ns <= self.zero_ns for sample in samples)
        return tuple(samples[max(0, earlier - 1) :])


@dataclass(frozen=True, kw_only=True)
class Album:
    """The recordings of an experiment. left_out: names of runs that are not ok, with their status."""

    experiment: str
    revision: str
    started_at: datetime
    recordings: tuple[Recording, ...]
    left_out: tuple[str, ...]

    def wall_clock(self, recording: Recording, t_ns: int) -> datetime:
        """Converts a time on the run's clock to a date and time. Each run's first event gets the experiment's start.

        So viewers can overlay runs. The true date is not known, because a guest's clock has no date, and jumps.
        Differences between times of a run are exact to the microsecond.
        """
        return self.started_at + timedelta(microseconds=(t_ns - recording.zero_ns) / 1000)


def album(experiment: Experiment) -> Album:
    """Reads every run of an experiment that is ok. Raises FolderError."""
    return Album(
        experiment=experiment.record.experiment,
        revision=experiment.record.git_revision or "unknown",
        started_at=_started_at(experiment),
        recordings=tuple(_recording(run) for run in experiment.runs if run.status == "ok"),
        left_out=tuple(f"{run.path.name} ({run.status})" for run in experiment.runs if run.status != "ok"),
    )


def _started_at(experiment: Experiment) -> datetime:
    given = experiment.record.started_at
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        moment = datetime.min
    if moment.tzinfo is None:
        raise FolderError(
            f"{experiment.path / 'experiment.json'}: started_at is {given}, not a date and time with a time zone"
        )
    return moment


def _recording(run: Run) -> Recording:
    plan, evidence = run.plan(), run.evidence()
    return Recording(
        name=run.path.name,
        arm=run.arm,
        record=run.record,
        plan=plan,
        events=evidence.events,
        requests=evidence.requests,
        loads=tuple(with_rate(loads_of_good_run(evidence), run.scenario)),
        streams=streams(evidence.events, plan, evidence.source),
        layers=run.layers(),
    )
