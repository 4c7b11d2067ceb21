"""The import name of the sandbox."""

from priolab.testbed import ClientFailed, FailingSeed, Host, Loss, Packet, Result, Sandbox, Timeline

__all__ = ["ClientFailed", "FailingSeed", "Host", "Loss", "Packet", "Result", "Sandbox", "Timeline"]
