"""The namespaces of the host: what is said of a kernel that could not be asked."""

from collections.abc import Sequence

import pytest

from experiments.errors import StepFailed
from experiments.host import processes
from experiments.testbed.namespaces import netns

_UNKNOWN = "ended with 2: Error: Specified qdisc kind is unknown."
_NOT_FOUND = "ended with 127: unshare: failed to execute tc: No such file or directory"


@pytest.mark.parametrize(
    ("failure", "lack"),
    [
        (_UNKNOWN, "this kernel has no sch_netem"),
        (_NOT_FOUND, f"whether this kernel has sch_netem could not be found out: {_NOT_FOUND}"),
    ],
)
def test_a_failed_trial_is_no_answer(monkeypatch: pytest.MonkeyPatch, failure: str, lack: str) -> None:
    """Only the kernel's own refusal says that it has no netem."""

    def run(command: Sequence[str], *, step: str) -> str:
        if "netem" in command:
            raise StepFailed(step, failure)
        return ""

    monkeypatch.setattr(processes, "run", run)
    assert netns.no_netem() == lack
