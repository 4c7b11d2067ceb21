"""Finds contradictions between the captures between two fronts (VIA) and the origin's log, or the scenario. Pure.

Nothing holds requests back on the way to the second front, so their times are known within the tolerance. Responses may
wait in queues, so only the shortest time of their way is known.
"""

from collections.abc import Iterator

from priolab.analysis.loads.contradiction import Allowance, Contradiction, in_ms
from priolab.analysis.loads.contradictions import unsent
from priolab.analysis.loads.request_checks import served
from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.formats.samples import OriginRequest
from priolab.common.formats.scenario import ViaRecord
from priolab.common.formats.upstream_timing import Passage


def hop_contradictions(
    evidence: Evidence, layers: Layers, via: ViaRecord, loads: int, allowance: Allowance
) -> Iterator[Contradiction]:
    """Returns the contradictions about the second hop. loads: the number of page loads."""
    for resource in evidence.page.resources:
        requests = served(resource, evidence)[-loads:]
        passages = [each for each in layers.passages if each.path == resource.path][-loads:]
        if len(passages) != len(requests):
            what = f"responses with the {resource.name} that were captured between the fronts"
            yield Contradiction(what=what, asked=str(len(requests)), seen=str(len(passages)))
        for number, (passage, request) in enumerate(zip(passages, requests, strict=False), 1):
            yield from _times(f"{resource.name} in load {number}", passage, request, via, allowance)
    yield from unsent(layers.connections, via.lowat, "the second front's kernel")


def _times(
    name: str, passage: Passage, request: OriginRequest, via: ViaRecord, allowance: Allowance
) -> Iterator[Contradiction]:
    asked_ns = request.received_ns - passage.requested_ns
    what = f"time from the front's request for the {name} to its arrival at the origin"
    if asked_ns < via.delay_ns - allowance.moment_ns:
        yield Contradiction(what=what, asked=f"at least {in_ms(via.delay_ns)}", seen=in_ms(asked_ns))
    if asked_ns > via.delay_ns + allowance.too_late_ns:
        yield Contradiction(what=what, asked=in_ms(via.delay_ns), seen=in_ms(asked_ns))
    crossed_ns = passage.arrived_ns - passage.sent_ns
    if crossed_ns < via.delay_ns - allowance.moment_ns:
        what = f"time of the {name} on the link between the fronts"
        yield Contradiction(what=what, asked=f"at least {in_ms(via.delay_ns)}", seen=in_ms(crossed_ns))
    if request.available_ns is not None and passage.sent_ns < request.available_ns - allowance.moment_ns:
        what = f"time from the origin's response with the {name} until the second front sent it"
        seen = in_ms(passage.sent_ns - request.available_ns)
        yield Contradiction(what=what, asked="not negative", seen=seen)
