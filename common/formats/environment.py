"""The record of a run's environment: env.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class EnvironmentRecord:
    """The environment of a run. The file has further keys, which depend on the fabric.

    kernel: the kernel's release. machine: the architecture. cpus: the number of processors. clock: the properties of
    the clocks. python: Python's version. versions: the programs' versions, by name.
    """

    kernel: str
    machine: str
    cpus: int | None
    clock: Mapping[str, Any]
    python: str
    versions: Mapping[str, str]
