"""The thresholds of the judgement on a server, each with its reason.

From which share on a stream counts as served alone is in analysis/loads/probe.py (ALONE), because a run's verdict has
the same threshold.
"""

DIFFERENCE = 0.03
"""Shares of the flow-control window, 0 to 1, count as equal if they differ by less than this. A step is about 0.02."""

DOUBT_STEPS = 1.5
"""The uncertainty of a share of the window, in steps by which the window opens.

A server may have no bytes ready when the window opens.
"""

FIRST = 0.95
"""From this share of the window on, a stream came before the other one, if no signal asks for an order.

A server may begin a DATA frame of the earlier request before it has the later one: 16 KiB are 4 % of a probe. Signals
that ask for an order are sent before the window opens, so for them ALONE holds.
"""

EVENLY = 0.8
"""The largest share of the window of a stream that shares it: servers that take turns in pieces of several steps, such
as HAProxy, give one of two equal streams up to 71 % of a probe."""

ARRIVES = 1 / 3
"""The smallest fraction of the expected effect with which the order counts as arrived.

The whole effect cannot arrive, because the image has a head start of a tenth to a third of the load, and fronts queue
some data. In measurements 0.36 to 0.91 of the expected effect arrives.
"""

NOTHING = 0.1
"""Below this fraction of the expected effect, asking for the order has no effect. Queued data make less no matter."""

MUCH = 0.2
"""A part of a load, or of a resource, by which two loads must differ to be told apart: the head start is smaller."""

IN_ORDER = 0.7
"""From this share of the bytes of two competing streams on, one came before the other. A step of the window that was
still the other's is a quarter of the smallest stream of a probe."""

LEAST_COMPETING_BYTES = 16_384
"""Two streams have competed if they got so many bytes together while both could be sent: two steps."""

STALLED_STEPS = 15
"""A server that sends nothing in so many steps, though it may, has stopped: 150 ms, longer than servers' timers."""
