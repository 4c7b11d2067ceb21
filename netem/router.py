"""Sets up the link from inside its own place, as in a container: finds the devices, takes the addresses, shapes."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from netem.control import HOME
from netem.link import Link
from netem.shaper import TRIAL, Shaper, commands, devices, lack_of_netem

FERRY = HOME / "ferry"
"""The socket at which a ferry in such a place answers."""

_STATE = HOME / "state.json"
_RUN_S = 10.0


@dataclass(frozen=True, kw_only=True)
class State:
    """The link as it was set up, for programs that read it in the place. devices: those with its qdiscs, by direction.

    instead_of_netem: the reason why the ferry replaces netem without being asked for; None otherwise.
    """

    shaper: Shaper
    instead_of_netem: str | None
    to_client: str
    to_front: str
    devices: Mapping[str, Sequence[str]]
    commands: Sequence[Sequence[str]]

    def write(self) -> None:
        """Writes the state's file for `read`, atomically."""
        unready = _STATE.with_suffix(".unready")
        unready.write_text(json.dumps(asdict(self)))
        unready.rename(_STATE)

    @classmethod
    def read(cls) -> Self:
        """Reads the state's file. Raises OSError if the place is not a link yet."""
        document: dict[str, Any] = json.loads(_STATE.read_text())
        return cls(**document | {"shaper": Shaper(document["shaper"])})


def run(command: Sequence[str]) -> str:
    """Runs a short command and returns its output. Raises RuntimeError, with its error output, or if it hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_RUN_S, check=False)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(command)} did not end within {_RUN_S:g} s") from None
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


@dataclass(frozen=True, kw_only=True)
class Router:
    """A place between two networks."""

    to_client: str
    to_front: str

    @classmethod
    def between(cls, *, near: str, far: str) -> Self:
        """Finds the devices with these addresses. Raises ValueError if one is missing, RuntimeError if ip fails."""
        devices = {
            address["local"]: device["ifname"]
            for device in json.loads(run(["ip", "-json", "address", "show"]))
            for address in device["addr_info"]
        }
        missing = [address for address in (near, far) if address not in devices]
        if missing:
            raise ValueError(f"no device here has the address {' or '.join(missing)}")
        return cls(to_client=devices[near], to_front=devices[far])

    def take(self, near_gateway: str, far_gateway: str) -> None:
        """Adds the gateway addresses that both networks send to. Raises RuntimeError."""
        run(["ip", "address", "add", f"{near_gateway}/24", "dev", self.to_client])
        run(["ip", "address", "add", f"{far_gateway}/24", "dev", self.to_front])

    def shape(self, link: Link, asked: Shaper | None) -> State:
        """Makes the link. asked: None takes netem, or the ferry if the kernel has no netem. Raises RuntimeError."""
        lack = _lack_of_netem() if asked is None and link.shaped else None
        shaper = asked or (Shaper.FERRY if lack else Shaper.NETEM)
        made = commands(shaper, link, self.to_client, self.to_front)
        for command in made:
            run(command)
        return State(
            shaper=shaper,
            instead_of_netem=lack,
            to_client=self.to_client,
            to_front=self.to_front,
            devices=devices(link, self.to_client, self.to_front),
            commands=made,
        )


def _lack_of_netem() -> str | None:
    try:
        for command in TRIAL:
            run(command)
    except RuntimeError as error:
        return lack_of_netem(str(error))
    return None
