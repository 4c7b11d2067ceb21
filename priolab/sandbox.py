"""The import name of the sandbox."""

from priolab.testbed import ClientFailed, Host, Result, Sandbox

__all__ = ["ClientFailed", "Host", "Result", "Sandbox"]
