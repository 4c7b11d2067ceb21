"""The import name of the sandbox, which is an extra."""

from priolab.extras.sandbox.sandbox import ClientFailed, Result, Sandbox

__all__ = ["ClientFailed", "Result", "Sandbox"]
