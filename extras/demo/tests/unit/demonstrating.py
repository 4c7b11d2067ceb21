"""The demo's job queue and finished arms, with made-up fabric and versions instead of this machine's."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from priolab.experiments.execution.request import Request, RunSettings, arms_for
from priolab.experiments.hosts.virtual import Virtual
from priolab.experiments.scenario.knobs import KNOBS
from priolab.extras.demo import finished_arms, job_queue

VERSIONS = {"nginx": "nginx/1.22.1", "h2": "4.4.1"}
KERNEL = "linux-6.1"
CODE = "c0de"


def request_of(words: Mapping[str, str]) -> Request:
    """Return a request of one arm in a guest, whether or not this machine has a guest kernel."""
    knobs = {name: value for name, value in words.items() if name in KNOBS}
    return Request(
        name="maps",
        arms=tuple(arms_for(knobs, control=False)),
        repeat=1,
        run_settings=RunSettings(fabric=Virtual(), fabric_reason="as asked", sample=10**7),
        results=Path(words.get("RESULTS", "results")),
    )


def settle(patch: pytest.MonkeyPatch) -> None:
    """Replace every property of this machine that the demo depends on."""
    patch.setattr(job_queue, "request_from", request_of)
    patch.setattr(finished_arms, "_versions", lambda *_, **__: VERSIONS)
    patch.setattr(finished_arms, "_code", lambda: CODE)
    patch.setattr(Virtual, "kernel", lambda _: KERNEL)
