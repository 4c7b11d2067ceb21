"""The demo's job queue and finished arms on no machine in particular: fabric and versions are made up."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from experiments.demo import finished_arms, job_queue
from experiments.execution.request import Manner, Request, arms_for
from experiments.scenario.knobs import KNOBS
from experiments.testbed.guest.virtual import Virtual

VERSIONS = {"nginx": "nginx/1.22.1", "h2": "4.4.1"}
KERNEL = "linux-6.1"
CODE = "c0de"


def request_of(words: Mapping[str, str]) -> Request:
    """Of one arm, in the guest, whether there is one here or not."""
    knobs = {name: value for name, value in words.items() if name in KNOBS}
    return Request(
        name="maps",
        arms=tuple(arms_for(knobs, control=False)),
        repeat=1,
        manner=Manner(fabric=Virtual(), fabric_reason="as asked", sample_ns=10**7),
        results=Path(words.get("RESULTS", "results")),
    )


def settle(patch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine counts from here on."""
    patch.setattr(job_queue, "request_from", request_of)
    patch.setattr(finished_arms, "_versions", lambda *_, **__: VERSIONS)
    patch.setattr(finished_arms, "_code", lambda: CODE)
    patch.setattr(Virtual, "kernel", lambda _: KERNEL)
