"""Tests of the test for netem in namespaces of this machine."""

from collections.abc import Sequence

import pytest

from priolab.common.errors import StepFailed
from priolab.common.process import processes
from priolab.testbed.topology import namespace_requirements

_UNKNOWN = "ended with exit code 2: Error: Specified qdisc kind is unknown."
_NOT_FOUND = "ended with exit code 127: unshare: failed to execute tc: No such file or directory"


@pytest.mark.parametrize(
    ("failure", "lack"),
    [
        (_UNKNOWN, "this kernel has no sch_netem"),
        (_NOT_FOUND, f"unknown if this kernel has sch_netem: {_NOT_FOUND}"),
    ],
)
def test_a_failed_trial_is_no_answer(monkeypatch: pytest.MonkeyPatch, failure: str, lack: str) -> None:
    """netem is reported as missing only if the kernel refused the qdisc. Other errors are reported as they are."""

    def run(command: Sequence[str], *, step: str) -> str:
        if "netem" in command:
            raise StepFailed(step, failure)
        return ""

    monkeypatch.setattr(processes, "run", run)
    assert namespace_requirements.no_netem() == lack
