"""The queueing discipline of the front's device, in the guest: fq paces, and pfifo_fast changes nothing."""

import pytest

from priolab.analysis.records.runs import load_run
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.usefixtures("guest")


@pytest.mark.parametrize(("qdisc", "paces"), [("pfifo_fast", False), ("fq", True)])
def test_fq_paces(run: Runs, qdisc: str, *, paces: bool) -> None:
    """With fq alone the front's kernel holds bytes back although half of the congestion window is free.

    The run is ok, so the discipline was read back before and after the loads.
    """
    done = run(f"FRONT_QDISC={qdisc}", "RELOADS=1", "LOWAT=131072", "CONTROL=no")
    arm = done.arm("lowat-131072")
    assert arm["status"] == "ok", done.trouble
    assert arm["observed"]["front_qdisc"] == qdisc
    assert done.folder is not None
    sockets = load_run(done.folder / "lowat-131072.1").layers().sockets
    held = [each.notsent_bytes >= each.mss_bytes and each.unacked_segments < each.cwnd_segments / 2 for each in sockets]
    assert any(held) == paces
