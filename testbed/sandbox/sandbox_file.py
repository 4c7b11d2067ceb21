"""A sandbox as a TOML file: what the words and options of `priolab sandbox` say, for `priolab sandbox FILE.toml`."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from priolab.common.errors import ScenarioError
from priolab.common.formats.toml_schema import Word, declared, read_toml
from priolab.testbed.sandbox.schedule import assigned
from priolab.testbed.sandbox.spec import CLIENT, SERVER

SUFFIX = ".toml"
"""The end of a file's name among the words of the command, where knobs are."""

_COMMAND = "command"
_Host = Annotated[Mapping[str, Word], Meta(description="a table of command and knobs")]
_Options = Annotated[tuple[str, ...], Meta(description="a list of texts")]
_Pair = Annotated[tuple[str, str], Meta(description='a time and an event, such as ["5s", "phone.LOSS=100%"]')]


class _SandboxFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """A sandbox. Tables of hosts have their commands and the knobs of their links; other keys are options' names."""

    client: _Host
    server: _Host = {}
    hosts: Annotated[Mapping[str, _Host], Meta(description="a table for each host")] = {}
    schedule: Annotated[tuple[_Pair, ...], Meta(description="a list of pairs of a time and an event")] = ()
    expect: _Options = ()
    never: _Options = ()
    wait_port: _Options = ()
    set: _Options = ()
    env: _Options = ()
    read: _Options = ()
    ipv6: bool = False
    scratch: bool = False
    memory: str | None = None
    limit: str | None = None
    scheduler: Literal["fifo", "default"] | None = None
    faults: str | None = None


def take_file(options: argparse.Namespace) -> str:
    """Puts what a file among the words says into the options, before what they say themselves.

    Returns the client's command; an empty text without a file. Raises ScenarioError.
    """
    files = [word for word in options.words if word.endswith(SUFFIX) and "=" not in word]
    if not files:
        return ""
    if len(files) > 1:
        raise ScenarioError("FILE", " ".join(files), "one file")
    (name,) = files
    found = declared(name, read_toml("FILE", Path(name)), _SandboxFile)
    hosts = {CLIENT: found.client, SERVER: found.server, **found.hosts}
    options.words = [
        *(
            assigned(host, knob, str(value))
            for host, of in hosts.items()
            for knob, value in of.items()
            if knob != _COMMAND
        ),
        *(word for word in options.words if word != name),
    ]
    commands = {host: str(of.get(_COMMAND, "")) for host, of in hosts.items()}
    options.server = options.server or commands[SERVER] or None
    options.host = [*([host, commands[host]] for host in found.hosts), *options.host]
    options.at = [*found.schedule, *options.at]
    for option in ("expect", "never", "wait_port", "set", "env", "read"):
        setattr(options, option, [*getattr(found, option), *getattr(options, option)])
    options.ipv6, options.scratch = options.ipv6 or found.ipv6, options.scratch or found.scratch
    for option in ("memory", "limit", "scheduler", "faults"):
        given = getattr(options, option)
        setattr(options, option, getattr(found, option) if given is None else given)
    return commands[CLIENT]
