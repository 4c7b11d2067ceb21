"""The pictures of the containers' network namespaces (common/snapshot).

Rules:
1. The reference is the first picture, which is read when everything runs: the engine makes a container's namespace and
   its sysctls itself. So a change before the loads shows only in the options of the link's commands.
2. The origin's image has no Python, so its namespace stays hidden (HIDDEN).
"""

import json
from collections.abc import Callable, Sequence

from priolab.testbed import ExpectedSettings, Portrayed

_SEEN = ("client", "front", "link")
HIDDEN = ("origin",)
_READ = ("python3", "-m", "priolab.common.snapshot")


class ContainerPictures:
    """The pictures of the services that have Python."""

    def __init__(self, run: Callable[[str, Sequence[str]], str]) -> None:
        """run: runs a command in a service's container, and returns its output. Raises StepFailed."""
        self._run = run
        self._portraits = {service: ExpectedSettings() for service in _SEEN}
        self._begun = False

    def asked_of_link(self, commands: Sequence[Sequence[str]], changing: Sequence[str]) -> None:
        """Declares what the commands of the link ask for. changing: settings that rate steps change."""
        portrait = self._portraits["link"]
        portrait.declare_commands(commands)
        portrait.leave_open(changing)

    def portrayed(self) -> list[Portrayed]:
        """Returns, for each service, the requested and the observed settings."""
        seen = {service: json.loads(self._run(service, _READ)) for service in _SEEN}
        if not self._begun:
            self._begun = True
            for service, portrait in self._portraits.items():
                portrait.refer_to(seen[service])
        return [
            Portrayed(place=service, asked=portrait.requested(seen[service]), seen=seen[service])
            for service, portrait in self._portraits.items()
        ]
