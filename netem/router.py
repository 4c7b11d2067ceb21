"""Sets up the link from inside its place, as in a container: finds devices, adds addresses, runs the commands."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from priolab.common.running import ProgramFailed, finished
from priolab.netem.availability import TRIAL, lack_of_netem
from priolab.netem.control import HOME
from priolab.netem.link import Link
from priolab.netem.shaper import chosen, commands, devices, lack_of
from priolab.netem.shaper_kind import Shaper

FERRY = HOME / "ferry"
"""The socket at which a ferry in the link's place answers (netem/ferry/process.py)."""

_STATE = HOME / "state.json"
_RUN_S = 10.0


@dataclass(frozen=True, kw_only=True)
class State:
    """The facts about a link that has been set up. A file holds them for other programs in the link's place.

    instead_of_netem: the reason why SHAPER=auto chose the ferry; None otherwise. to_client, to_front: the devices of
    the two networks. devices: the devices that have the link's qdiscs, by direction. commands: the commands that were
    run.
    """

    shaper: Shaper
    instead_of_netem: str | None
    to_client: str
    to_front: str
    devices: Mapping[str, Sequence[str]]
    commands: Sequence[Sequence[str]]

    def write(self) -> None:
        """Writes the file atomically, for `read`."""
        unready = _STATE.with_suffix(".unready")
        unready.write_text(json.dumps(asdict(self)))
        unready.rename(_STATE)

    @classmethod
    def read(cls) -> Self:
        """Reads the file. Raises OSError if the link is not set up yet."""
        document: dict[str, Any] = json.loads(_STATE.read_text())
        return cls(**document | {"shaper": Shaper(document["shaper"])})


def run(command: Sequence[str]) -> str:
    """Runs a short command and returns its output. Raises RuntimeError if the command fails or takes too long."""
    try:
        done = finished(command, _RUN_S)
    except ProgramFailed as error:
        raise RuntimeError(str(error)) from None
    if done.code != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.code}: {done.errors.strip()}")
    return done.out


@dataclass(frozen=True, kw_only=True)
class Router:
    """The link's place, with the devices toward the client and toward the front."""

    to_client: str
    to_front: str

    @classmethod
    def between(cls, *, near: str, far: str) -> Self:
        """Finds the two devices of the link's place by their addresses.

        near: the address in the client's network. far: the address in the front's network. Raises ValueError if no
        device has one of the addresses, and RuntimeError if ip(8) fails.
        """
        devices = {
            address["local"]: device["ifname"]
            for device in json.loads(run(["ip", "-json", "address", "show"]))
            for address in device["addr_info"]
        }
        missing = [address for address in (near, far) if address not in devices]
        if missing:
            raise ValueError(f"no device in the link's place has the address {' or '.join(missing)}")
        return cls(to_client=devices[near], to_front=devices[far])

    def take(self, near_gateway: str, far_gateway: str) -> None:
        """Adds, to the place's two devices, the addresses that client and front use as gateways.

        Raises RuntimeError.
        """
        run(["ip", "address", "add", f"{near_gateway}/24", "dev", self.to_client])
        run(["ip", "address", "add", f"{far_gateway}/24", "dev", self.to_front])

    def shape(self, link: Link, asked: Shaper | None) -> State:
        """Makes the link. Raises RuntimeError if a command fails.

        asked: the shaper; None for netem, or for the ferry if the kernel has no netem.
        """
        shaper, lack = chosen(asked, link, _lack_of_netem)
        if refusal := lack_of(shaper, link):
            raise RuntimeError(f"{refusal}; {lack or 'use SHAPER=auto'}")
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
