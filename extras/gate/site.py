"""Carries out the trials of a gate that are probes against a running server at a URL, which needs no testbed.

Rules:
1. A server at a URL has no link of the lab's, so trials that load a page over this link are not carried out.
2. Probes are made one after the other: a server that mixes up connections would otherwise fail every check.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from priolab.client import dialects
from priolab.client.flow_control_probe import MOST_STEPS
from priolab.client.plan import PROBE_LEAST_BYTES, PlanKind, page_plan
from priolab.client.transport import Deadline, TransportFailed
from priolab.common.errors import StepFailed
from priolab.common.formats.plan import Plan, Steps
from priolab.common.process.scratch import scratch_folder
from priolab.experiments.commands.target import (
    authorities,
    check_unhurried,
    parsed_address,
    parsed_url,
    reached,
    run_client,
    steps_to,
)
from priolab.experiments.scenario.stimuli import Stimulus, stimulus_page
from priolab.extras.gate.expectations import Check, Trial
from priolab.extras.gate.judging import trial_key
from priolab.extras.gate.seen import Seen

_STEP = "gate"
_LIMIT_NS = 60 * 10**9


@dataclass(frozen=True, kw_only=True)
class Site:
    """A running server. address, port: where to connect. path: the resource that probes request, twice."""

    host: str
    authority: str
    address: str
    port: int
    path: str
    ca: Path
    steps: Steps

    def plan(self, trial: Trial) -> Plan:
        """Returns the client's plan for a probe."""
        return page_plan(
            stimulus_page(Stimulus(trial.page), (self.path, self.path)),
            address=self.address,
            port=self.port,
            server_name=self.host,
            authority=self.authority,
            priorities=trial.priorities,
            dialect=dialects.parse(trial.dialect),
            reloads=0,
            window_bytes=PROBE_LEAST_BYTES,
            steps=self.steps,
            load_deadline_ns=_LIMIT_NS + 2 * MOST_STEPS * self.steps.quiet_ns,
            disturbance=trial.disturbance,
        )


def site_at(url: str, connect: str | None, ca: Path | None) -> Site:
    """Returns the server at a URL; connects to it once. Raises ScenarioError, StepFailed."""
    host, port, path = parsed_url("URL", url)
    to_host, to_port = parsed_address(connect) if connect else (host, None)
    trusted = authorities(ca)
    deadline = Deadline(time.monotonic_ns() + _LIMIT_NS, "connecting")
    try:
        address, round_trip_ns = reached(to_host, to_port or port, deadline)
    except TransportFailed as error:
        raise StepFailed(_STEP, str(error)) from None
    return Site(
        host=host,
        authority=urlsplit(url).netloc,
        address=address,
        port=to_port or port,
        path=path,
        ca=trusted,
        steps=steps_to(round_trip_ns),
    )


def carry_out(site: Site, checks: Iterable[Check], told: Callable[[str], None]) -> dict[tuple[str, str], Seen]:
    """Carries out the probes; returns the observation of each. told: called when a probe has ended."""
    trials = {
        trial_key(check, trial): trial for check in checks for trial in check.trials() if trial.plan is PlanKind.PROBE
    }
    deadline, over = Deadline(time.monotonic_ns() + _LIMIT_NS, "the gate"), threading.Event()
    seen = {}
    with scratch_folder("priolab-probe-") as scratch:
        for key, trial in trials.items():
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                seen[key] = _asked(site, trial, Path(folder), deadline, over)
            told(f"{', '.join(key)}: {seen[key].failure or 'seen'}")
    return seen


def _asked(site: Site, trial: Trial, folder: Path, deadline: Deadline, over: threading.Event) -> Seen:
    """Carries out a probe. A probe that fails has the reason, and is no error of the gate's own."""
    page = stimulus_page(Stimulus(trial.page), (site.path, site.path))
    try:
        events = run_client(site.plan(trial), site.ca, folder, deadline, over)
    except StepFailed as error:
        return Seen(trial=trial, events=(), page=page, failure=error.reason)
    except TransportFailed as error:
        return Seen(trial=trial, events=(), page=page, failure=str(error))
    seen = Seen(trial=trial, events=events, page=page)
    for name in (each.name for each in page.resources):
        own = [event for event in events if event.resource == name]
        size = sum(event.size_bytes or 0 for event in own if event.kind == "data")
        if size < PROBE_LEAST_BYTES and any(event.kind == "ended" for event in own):
            reason = f"{site.path} has {size} bytes; a probe needs at least {PROBE_LEAST_BYTES}"
            return Seen(trial=trial, events=events, page=page, failure=reason)
    if seen.probe is not None:
        try:
            check_unhurried(seen.probe)
        except StepFailed as error:
            return Seen(trial=trial, events=events, page=page, failure=error.reason)
    return seen
