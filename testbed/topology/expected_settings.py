"""The settings that a place should have, to be compared with the place's picture (common/snapshot).

Rules:
1. The reference is the place's picture before any server or link. In a guest it is read once, before the first run:
   every place of the same name begins with the same settings.
2. Whoever changes a setting of a place declares it here, with the requested value. Everything else must stay as it was.
3. Devices that the lab adds later have the settings of the devices that it made before. What the kernel adds by itself
   with a device, such as routes, is taken from the first picture.
"""

from collections.abc import Mapping, Sequence

from priolab.common.snapshot.settings_snapshot import SettingsSnapshot
from priolab.common.snapshot.usual import unusual
from priolab.netem.expected_qdiscs import ExpectedQdiscs, expected_qdiscs


class ExpectedSettings:
    """The settings asked of a place."""

    def __init__(self) -> None:
        self._reference: SettingsSnapshot = {}
        self._declared: dict[str, str] = {}
        self._made: Sequence[ExpectedQdiscs] = ()
        self._devices: set[str] = set()
        self._open: set[str] = set()
        self._first: SettingsSnapshot | None = None

    def begin(self, reference: SettingsSnapshot) -> None:
        """Sets the reference. What has been declared so far is part of it."""
        self.refer_to(reference)
        self._declared = {}

    def refer_to(self, reference: SettingsSnapshot) -> None:
        """Sets the reference, and keeps what has been declared."""
        self._reference = reference

    def declare(self, settings: Mapping[str, str]) -> None:
        """Declares settings that the lab changes: values by name."""
        self._declared |= settings

    def declare_commands(self, commands: Sequence[Sequence[str]]) -> None:
        """Declares what the commands change that make a link. Raises ValueError for a command that the lab lacks."""
        made = expected_qdiscs(commands)
        self._made = (*self._made, made)
        self._declared |= made.settings
        self._devices |= {*made.devices}

    def declare_device(self, name: str) -> None:
        """Declares a further device."""
        self._devices.add(name)

    def leave_open(self, names: Sequence[str]) -> None:
        """Declares settings that the lab changes during the loads, and whose changes other checks follow."""
        self._open |= {*names}

    def requested(self, seen: SettingsSnapshot) -> SettingsSnapshot:
        """Returns the requested settings. seen: the picture of the place; what rule 3 takes from it is its first."""
        if self._first is None:
            self._first = seen
        asked = {**self._reference, **{name: each for name, each in self._declared.items() if self._exists(name, seen)}}
        roots = {name.split(" of ")[1].split(",")[0] for name in self._declared if name.startswith("qdisc 1: of ")}
        for name in [name for name in asked if any(name.startswith(f"qdisc of {root} at root") for root in roots)]:
            del asked[name]
        for name, each in self._first.items():
            if name not in asked and self._is_new(name):
                asked[name] = each
        asked |= {name: each for name, each in self._of_new_devices().items() if name not in self._reference}
        return {name: each for name, each in asked.items() if name not in self._open} | {
            name: seen[name] for name in self._open if name in seen
        }

    def unusual(self) -> list[str]:
        """Returns the machine's own settings that the lab did not set."""
        return unusual({name: each for name, each in self._reference.items() if name not in self._declared})

    def _exists(self, name: str, seen: SettingsSnapshot) -> bool:
        """False for a sysctl that neither the place nor its reference has, such as those of all devices at once."""
        return not name.startswith("net.") or name in seen or name in self._reference

    def _is_new(self, name: str) -> bool:
        """True for a setting of a device, a rule or a qdisc that the lab added, and whose value it did not ask for."""
        words = name.replace(",", " ").split()
        if any(device in words or name.startswith(f"net.ipv4.conf.{device}.") for device in self._devices):
            return True
        if any(words[2:] == ["iif", device, "table", table] for made in self._made for device, table in made.rules):
            return words[0] == "rule"
        qdisc = name.split(",")[0]
        return words[0] == "qdisc" and self._declared.get(f"{qdisc}, kind") not in (None, "netem", "tbf", "pfifo")

    def _of_new_devices(self) -> SettingsSnapshot:
        """Returns what every device of the lab has in common, for the devices that it added.

        It does not apply to a device that the reference has, as that of a container may have.
        """
        usual = {
            name.split(", ")[1]: each
            for name, each in self._reference.items()
            if name.startswith(f"device {self._usual()}, ")
        }
        other = {device for made in self._made for device in made.devices if made.without_offloads}
        return {
            f"device {device}, {what}": each
            for device in self._devices
            for what, each in usual.items()
            if what != "flags" and not (what == "offloads" and device in other)
        }

    def _usual(self) -> str:
        """Returns the name of a device of the reference that the lab made, and did not add later."""
        devices = (name.split()[1].rstrip(",") for name, each in self._reference.items() if each == "veth")
        return next((device for device in devices if device not in self._devices), "")
