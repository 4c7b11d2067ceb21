"""The record of a run's environment: env.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class EnvironmentRecord:
    """The environment of a run; the file has further keys, which depend on the fabric.

    kernel: its release. clock: what is known of the clocks. versions: of the programs, by name.
    """

    kernel: str
    machine: str
    cpus: int | None
    clock: Mapping[str, Any]
    python: str
    versions: Mapping[str, str]
