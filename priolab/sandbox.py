"""The import name of the sandbox."""

from priolab.testbed.sandbox.sandbox import ClientFailed, Place, Result, Sandbox

__all__ = ["ClientFailed", "Place", "Result", "Sandbox"]
