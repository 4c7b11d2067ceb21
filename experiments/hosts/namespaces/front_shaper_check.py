"""The requirements of SHAPER_AT=front, in every fabric whose places are namespaces."""

from collections.abc import Callable

from priolab.experiments.scenario.scenario import Scenario, ShaperAt
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.errors import Unavailable

_WHAT = "SHAPER_AT=front"


def check_egress(scenario: Scenario, shaper: Shaper | None, no_netem: Callable[[], str | None]) -> None:
    """Checks that the kernel has the qdiscs that SHAPER_AT=front needs. Raises Unavailable.

    no_netem: returns the reason why the kernel has no netem; None if the kernel has netem.
    """
    if scenario.shaper_at is not ShaperAt.FRONT:
        return
    if shaper is Shaper.FERRY:
        reason = "the ferry is a process of the link's place, and cannot shape the front's egress"
        raise Unavailable(f"{_WHAT} with SHAPER={shaper}", reason, "use SHAPER=netem, or SHAPER_AT=link")
    if lack := no_netem():
        raise Unavailable(_WHAT, lack, "use FABRIC=virtual, or SHAPER_AT=link")
