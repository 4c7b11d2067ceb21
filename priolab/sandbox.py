"""The import name of the sandbox."""

from priolab.testbed import ClientFailed, Host, Loss, Packet, Result, Sandbox, Timeline

__all__ = ["ClientFailed", "Host", "Loss", "Packet", "Result", "Sandbox", "Timeline"]
