"""The import name of the sandbox."""

from priolab.testbed import (
    AsyncNet,
    ClientFailed,
    FailingSeed,
    Host,
    Loss,
    Net,
    NotInTime,
    Packet,
    Result,
    Sandbox,
    Timeline,
)

__all__ = [
    "AsyncNet",
    "ClientFailed",
    "FailingSeed",
    "Host",
    "Loss",
    "Net",
    "NotInTime",
    "Packet",
    "Result",
    "Sandbox",
    "Timeline",
]
