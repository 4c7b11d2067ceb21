"""The fronts: the catalogue, read from proxy/servers/NAME/server.toml, and server folders of the user's own."""

import json
import os
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from priolab.common.formats.files import MOST_TOML_BYTES, content, from_toml, parsed
from priolab.proxy.own_config import fault
from priolab.proxy.server_entry import check_entry
from priolab.proxy.switch import H2C, HTTP1, TLS, Switch, read_switch
from priolab.proxy.template import placeholders, rendered
from priolab.proxy.wheel import Wheel, wheels_of

SUITES = ("bookworm", "trixie", "sid")
"""The Debian suites that may be the edition of a server."""

VALUES = (
    "program",
    "server_name",
    "address",
    "port",
    "origin",
    "origin_host",
    "origin_port",
    "certificate",
    "key",
    "certificates",
    "config",
    "state",
    "log",
    "modules",
    "buffers",
    "busy_kib",
)
"""The names of the values that every template may use; a server's levels and privileges add names."""

CALLERS = "PRIOLAB_CALLERS_VARIABLES"
"""The variable of a guest with those of its caller that servers get, as a JSON object."""

CATALOGUE = Path(__file__).parent / "servers"


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server of the catalogue, or of the user's own folder.

    name: the server as a user names it: `nginx`, `nginx@trixie` or `./my-front`. folder: the absolute path of the
    folder with server.toml and template. edition: the Debian suite or the version that the name has after the at sign,
    or that the entry names; None for the server that this machine has installed. wheels: the wheels that have the
    server's program, by edition. own: True if the folder is the user's.
    program: the name of the executable, or its absolute path. packages: the distribution's packages, first the package
    with the program. suites: the Debian suites that have these packages;
    empty for a server that no suite has.
    files: the paths of further files that the server needs.
    image_version: the version of the packages in container images, as apt-get takes it.
    base: True if every machine of the lab has the server; other servers are installed on request.
    npm: the folder with the package.json of the server's npm packages; None without npm packages.
    protocol: the protocol above TLS, by its ALPN name. tls: False if the server takes HTTP/2 without TLS from clients.
    env: the names of the variables that the server gets from the environment of the lab's caller.
    version, command: argument lists that print the server's version and start the server. Their placeholders are
    {program}, {config}, {state}, {log}, {folder}, the server's own folder, and {servers}, the folder of the catalogue.
    template: the template of the configuration file; None for a server without such a file. config_name: the name of
    the configuration file.
    native: the server's own limit on the bytes that it writes to the kernel ahead of the network.
    buffering: whether the server takes whole responses from the origin.
    takes_whole: True if, with BUFFERING=on, the server reads responses of at least 2 MiB from the origin at once,
    however slowly the client takes them.
    record: the largest TLS record that the server writes.
    listener: what the server takes from clients: "tls", or without TLS, as the second front of VIA, "http1" or "h2c".
    upstream: the protocol with the second front: "http1" or "h2c". The values of both may have placeholders themselves.
    privileges: template values by the user who starts the server, "root" or "ordinary".
    scheduling: the order in which the server sends streams, in words.
    reads_processor_clock: True if the server reads the processor's clock, which in a guest then gives the guest's time.
    """

    name: str
    folder: Path
    edition: str | None = None
    wheels: Mapping[str, Wheel]
    own: bool = False
    program: str
    packages: tuple[str, ...]
    suites: tuple[str, ...]
    files: tuple[str, ...]
    image_version: str
    base: bool
    npm: Path | None
    protocol: str
    tls: bool
    env: tuple[str, ...]
    version: tuple[str, ...]
    command: tuple[str, ...]
    template: Path | None
    config_name: str
    native: Switch
    buffering: Switch
    record: Switch
    listener: Switch
    upstream: Switch
    privileges: Mapping[str, Mapping[str, str]]
    scheduling: str
    takes_whole: bool
    reads_processor_clock: bool

    @property
    def wheel(self) -> Wheel | None:
        """The wheel that has the program of the server's edition; None if the program comes from elsewhere."""
        return self.wheels.get(self.edition) if self.edition else None

    @property
    def editions(self) -> tuple[str, ...]:
        """The editions that SERVER can name after an at sign."""
        return (*self.suites, *self.wheels)

    @property
    def is_the_labs(self) -> bool:
        """True if the front needs files of the catalogue: a program of the lab's own, or settings."""
        return any("{servers}" in word for word in self.command)

    @property
    def over_tcp(self) -> bool:
        """True if the server serves over TCP, so that TCP_NOTSENT_LOWAT applies."""
        return self.protocol != "h3"

    @property
    def listens(self) -> str:
        """The level of `listener` for the lab's client."""
        return TLS if self.tls else H2C

    @property
    def in_images(self) -> bool:
        """True if the server can run in containers.

        The images of fronts have packages of Debian only: no npm packages, no wheels, and no fronts of the lab's own,
        whose commands name a file in the catalogue. The client's image has no QUIC, and readiness is asked over TLS.
        """
        return not (self.npm or self.wheel or self.is_the_labs) and self.over_tcp and self.tls

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of `env` that are set, from the environment of the lab's caller."""
        callers = os.environ | json.loads(os.environ.get(CALLERS, "{}"))
        return {name: callers[name] for name in self.env if name in callers}

    def record_values(self, record_bytes: int | None) -> Mapping[str, str]:
        """Returns the template values that set the largest TLS record. Raises KeyError.

        record_bytes: the size of this record; None for the server's default.
        """
        if record_bytes is None:
            return self.record.levels["stock"]
        return {name: value.format(bytes=record_bytes) for name, value in self.record.levels["bytes"].items()}

    def render(self, values: Mapping[str, str]) -> str:
        """Renders the configuration file. Raises KeyError if `values` lacks a name of the template."""
        return rendered(self.template_source, values)

    @property
    def template_source(self) -> str:
        """The text of the template; empty for a server without a configuration file."""
        return self.template.read_text() if self.template else ""

    @property
    def template_text(self) -> str:
        """The template for TLS and HTTP/1.1, in which listener and upstream have no placeholders any more."""
        text = self.template_source
        for name, value in {**self.listener.levels[self.listens], **self.upstream.levels[HTTP1]}.items():
            text = text.replace(f"@{{{name}}}", value)
        return text

    @property
    def template_values(self) -> frozenset[str]:
        """The names of the values that the template may use."""
        switches = (self.native, self.buffering, self.record, self.listener, self.upstream)
        levels = [level for switch in switches for level in switch.levels.values()]
        return frozenset(VALUES).union(*levels, *self.privileges.values())

    def arguments(self, words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
        """Returns `words`, which is `version` or `command`, with its placeholders filled in."""
        return tuple(
            word.format_map({"servers": str(CATALOGUE), "folder": str(self.folder), **values}) for word in words
        )


@cache
def catalogue() -> Mapping[str, Server]:
    """Returns the servers of the catalogue by name."""
    return MappingProxyType({folder.name: _read(folder) for folder in sorted(CATALOGUE.iterdir()) if folder.is_dir()})


def server_of(text: str) -> Server:
    """Returns the server that a text names. Raises ValueError, whose text says what is wrong with a folder.

    text: a name of the catalogue, NAME@EDITION, or the path of a server's folder. A path has a slash. The edition is
    one of the server's (Server.editions): a suite or a version. A folder is read once per process.
    """
    if is_folder(text):
        return replace(_of_folder(absolute(text)), name=text)
    name, at, edition = text.partition("@")
    known = catalogue().get(name)
    if known is None:
        raise ValueError(f"no server has the name {text}")
    if not at:
        return known
    if edition not in known.editions:
        raise ValueError(f"no server has the name {text}; {_editions(known)}")
    wheel = known.wheels.get(edition)
    order = wheel.scheduling if wheel else None
    return replace(known, name=text, edition=edition, scheduling=order or known.scheduling)


def _editions(server: Server) -> str:
    if not server.editions:
        return f"{server.name} has no editions"
    return f"{server.name} has the editions {', '.join(server.editions)}"


def is_folder(text: str) -> bool:
    """True if a server's name is the path of a folder: it has a slash, or is a dot."""
    return "/" in text or text == "."


def absolute(path: str) -> Path:
    """Returns the absolute path of a file that a user named. Symbolic links stay as they are."""
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - Path.resolve follows symbolic links


@cache
def _of_folder(folder: Path) -> Server:
    try:
        document = parsed(from_toml, content(folder / "server.toml", MOST_TOML_BYTES))
        check_entry(document)
        read = _read(folder)
        program = os.path.normpath(folder / read.program) if "/" in read.program else read.program
        server = replace(
            read,
            own=True,
            suites=(),
            program=program,
            files=tuple(str(folder / file) for file in read.files),
            config_name=f"own-{read.config_name}",  # a name that no other file of a run folder has
        )
        _check_values(server, content(server.template, MOST_TOML_BYTES).decode() if server.template else "")
    except OSError as error:
        raise ValueError(f"{error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{folder / 'server.toml'}: {error}") from error
    return server


def _check_values(server: Server, template: str) -> None:
    """Checks that the template and the argument lists of a user's server have only known values. Raises ValueError."""
    names = dict.fromkeys(placeholders(template), server.template.name if server.template else "")
    for field, words in (("version", server.version), ("command", server.command)):
        try:
            parts = [part for word in words for part in string.Formatter().parse(word)]
        except ValueError as error:
            raise ValueError(
                f"{field} has a brace without its counterpart: {error}; {{{{ stands for {{ itself"
            ) from error
        names |= {name: field for _, name, _, _ in parts if name is not None}
    known = server.template_values | {"servers", "folder"}
    for name, where in names.items():
        if name not in known:
            raise ValueError(
                f"{where} has {name!r}, which is no placeholder; the placeholders are {', '.join(sorted(known))}"
            )


def with_config(server: Server, path: str) -> Server:
    """Returns the server with a configuration of the user's own in place of its template.

    Raises ValueError, with one line that says what is wrong with the configuration.
    """
    if server.template is None:
        raise ValueError("it has no configuration file: its server.toml has no template")
    file = absolute(path)
    try:
        text = content(file, MOST_TOML_BYTES).decode()
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: not text in UTF-8") from error
    if wrong := fault(text, server.template_text, server.template_values):
        raise ValueError(wrong)
    return replace(server, template=file)


def _read(folder: Path) -> Server:
    entry = tomllib.loads((folder / "server.toml").read_text())
    listener = read_switch(entry, "listener")
    tls = entry.get("tls", True)
    return Server(
        name=folder.name,
        folder=folder,
        edition=entry.get("edition"),
        wheels=wheels_of(entry, folder),
        program=entry["program"],
        packages=tuple(entry.get("packages", [])),
        suites=tuple(entry.get("suites", SUITES if "packages" in entry and "npm" not in entry else ())),
        files=tuple(entry.get("files", [])),
        image_version=entry.get("image_version", "*"),
        base=entry.get("base", False),
        npm=CATALOGUE / entry["npm"] if "npm" in entry else None,
        protocol=entry.get("protocol", "h2"),
        tls=tls,
        env=tuple(entry.get("env", [])),
        version=tuple(entry["version"]),
        command=tuple(entry["command"]),
        template=Path(os.path.normpath(folder / entry["template"])) if "template" in entry else None,
        config_name=Path(entry.get("template", "none")).name,
        native=read_switch(entry, "native"),
        buffering=read_switch(entry, "buffering"),
        record=read_switch(entry, "record"),
        listener=listener if tls else replace(listener, levels={H2C: {}, **listener.levels}),
        upstream=read_switch(entry, "upstream"),
        privileges=entry.get("privileges", {"root": {}, "ordinary": {}}),
        scheduling=entry.get("scheduling", "its server.toml does not describe the order"),
        takes_whole=entry.get("takes_whole", False),
        reads_processor_clock=entry.get("reads_processor_clock", False),
    )
