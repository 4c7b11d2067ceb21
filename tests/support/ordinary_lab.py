"""A lab whose user is not root."""

import os
from dataclasses import dataclass
from pathlib import Path

from tests.support import ordinary
from tests.support.lab import Lab


@dataclass(frozen=True, kw_only=True)
class OrdinaryLab(Lab):
    """A lab whose user is not root."""

    @property
    def environment(self) -> dict[str, str]:
        """The lab's environment, with a home that the user may enter."""
        return super().environment | {"HOME": str(self.root), "USER": "nobody", "XDG_CACHE_HOME": str(self.cache)}

    @property
    def cache(self) -> Path:
        """The folder for the caches of all programs, which may not exist yet."""
        return self.root / ".cache"

    def command(self, *words: str) -> list[str]:
        """Returns the lab's command; if this user is root, the command runs as an ordinary user."""
        plain = super().command(*words)
        return ordinary.command(self.root / "stage", *plain) if os.geteuid() == 0 else plain
