"""Chooses the instants at which the script of a sweep's page is ready (JS_DELAY). Pure.

A server writes whole buffers, and a packet buffer has 64 KiB. A script that is ready just before the server writes the
next buffer is sent soon. One that is ready just after it waits until the buffer is sent. So at a single instant the
time of the first byte is partly luck, and the soonest value of LOWAT is partly the luckiest. Instants that are spread
evenly over the time of a write take the luck out of the mean.
"""

from collections.abc import Mapping

from priolab.analysis.sweeps.network_knobs import JS_DELAY
from priolab.common.errors import ScenarioError
from priolab.common.packets import PACKET_BUFFER_BYTES
from priolab.experiments.scenario import pages
from priolab.experiments.scenario.knobs import KNOBS
from priolab.netem.link_options import LINK_OPTIONS, link_from

INSTANTS = 4
"""The number of instants that a sweep tries if nobody gives JS_DELAY."""


def instants_ms(knobs: Mapping[str, str], number: int = INSTANTS, buffers: int = 1) -> tuple[int, ...]:
    """Returns delays of the script, in whole milliseconds, none twice; the first one is JS_DELAY's default.

    They are spread evenly over the time that the link needs for some packet buffers. knobs: all knobs of the network.
    Raises ValueError for a link that cannot be.
    """
    first_ms = int(KNOBS[JS_DELAY].parse(KNOBS[JS_DELAY].default) / 10**6)
    rate_bit_s = link_from({name: knobs[name] for name in LINK_OPTIONS}).rate_bit_s
    whole_ms = buffers * PACKET_BUFFER_BYTES * 8000 / rate_bit_s if rate_bit_s else 0.0
    return tuple(first_ms + max(each, round(whole_ms * each / number)) for each in range(number))


def can_vary(page: str) -> bool:
    """True if the page has a resource that is ready after JS_DELAY; False also for a page that cannot be read."""
    parameters = pages.Parameters(size_bytes=KNOBS["SIZE"].parse(KNOBS["SIZE"].default), script_delay_ns=0)
    try:
        return JS_DELAY in pages.page_of(page, parameters).parameters
    except ScenarioError:
        return False
