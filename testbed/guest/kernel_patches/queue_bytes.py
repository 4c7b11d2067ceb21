"""Lets netem limit its queue in bytes: with the highest bit set, the rest of `limit` counts bytes instead of packets.

A packet is dropped if it would exceed the limit. Bytes are those of whole frames, as for netem's rate. The packet being
sent counts, as it does with packets. A parameter of the module says that the kernel can do this.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect

NAME = "netem limits its queue in bytes"
"""The change's name."""

_FILE = "net/sched/sch_netem.c"
_FULL = "if (unlikely(sch->q.qlen >= sch->limit)) {"
_BY_BYTES = (
    "if (unlikely(sch->limit & BIT(31) ?\n"
    "\t\t     sch->qstats.backlog + qdisc_pkt_len(skb) > (sch->limit & ~BIT(31)) :\n"
    "\t\t     sch->q.qlen >= sch->limit)) {"
)
_PARAMETER = """
static bool priolab_bytes = true;
module_param_named(bytes, priolab_bytes, bool, 0444);
"""

CHANGES = (
    Change(
        name=NAME,
        effect=Effect.RESULT,
        since=(7, 2),
        wordings=((Edit(_FILE, _FULL, _BY_BYTES), Edit(_FILE, "", _PARAMETER)),),
    ),
)
