"""A decision of the tuner."""

from priolab.common.formats.decisions import SET, Decision, Trigger, Why

CLIENT = "198.18.0.2"


DECISION = Decision(
    t_ns=1_000,
    peer=CLIENT,
    peer_port=40_000,
    port=443,
    event=Trigger.ESTABLISHED,
    delivery_rate_bytes_s=0,
    rate_bytes_s=289_000,
    rtt_ns=50_000_000,
    cwnd_segments=10,
    mss_bytes=1448,
    old_bytes=0,
    new_bytes=17_954,
    why=Why.FLOOR,
    outcome=SET,
)
