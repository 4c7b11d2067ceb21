"""The import name of the sandbox, which is an extra."""

from priolab.extras.sandbox.sandbox import ClientFailed, Place, Result, Sandbox

__all__ = ["ClientFailed", "Place", "Result", "Sandbox"]
