"""The command that repeats a run of a Sandbox in Python. Pure."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from priolab.testbed.sandbox import knobs
from priolab.testbed.sandbox.schedule import AT, assigned, seconds
from priolab.testbed.sandbox.spec import CLIENT, ENVIRONMENT, LISTENS, SERVER, SandboxSpec

_MOST_STDIN_BYTES = 1000


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """The order of a run. given: the knobs of the client's link, and others without a host. links: those of the
    links of other hosts. memory, wall_limit: the options; None for the usual. stdin: the client's standard input.
    expectations: the options of each, and its words.
    """

    spec: SandboxSpec
    given: Mapping[str, str]
    links: Mapping[str, Mapping[str, str]]
    memory: str | None = None
    stdin: bytes = b""
    wall_limit: str | None = None
    expectations: Sequence[tuple[str, str]] = ()

    @property
    def command(self) -> str:
        """The command, for a shell in any folder."""
        line = shlex.join(["priolab", "sandbox", *self._words(), "--", *self.spec.client])
        folder = "" if self.spec.folder == str(Path.cwd()) else f"cd {shlex.quote(self.spec.folder)} && "
        if not self.stdin:
            return f"{folder}{line} </dev/null"
        text = self.stdin.decode(errors="replace")
        if len(self.stdin) > _MOST_STDIN_BYTES or text.encode() != self.stdin or "\0" in text:
            return f"{folder}{line} <INPUT  # {len(self.stdin)} bytes"
        return f"{folder}printf %s {shlex.quote(text)} | {line}"

    def _words(self) -> Iterator[str]:
        spec = self.spec
        for host, link in {CLIENT: {**self.given, knobs.SEED: str(spec.seed)}, **self.links}.items():
            yield from (assigned(host, name, value) for name, value in link.items())
        if spec.server:
            yield from ("--server", shlex.join(spec.server))
        for host, command in spec.hosts.items():
            yield from ("--host", host, shlex.join(command))
        for host, port in {SERVER: spec.wait, **spec.waits}.items():
            if (host, port) != (SERVER, LISTENS):
                yield from ("--wait-port", port if host == SERVER else f"{host}:{port}")
        for host, name, value in spec.sysctls:
            yield from ("--set", f"{host}.{name}={value}")
        for name, value in spec.environment.items():
            if ENVIRONMENT.get(name) != value:
                yield from ("--env", f"{name}={value}")
        for path in spec.visible or ():
            yield from ("--read", path)
        for at_ns, event in spec.schedule:
            yield from (AT, f"{seconds(at_ns)}s", event)
        if spec.limit_ns != round(knobs.LIMIT_S * 10**9):
            yield from ("--limit", f"{seconds(spec.limit_ns)}s")
        for option, text in (("--memory", self.memory), ("--wall-limit", self.wall_limit), *self.expectations):
            if text is not None:
                yield from (option, text)
        for word, is_given in (("--ipv6", spec.ipv6), ("--scratch", spec.scratch), ("--scheduler=default", spec.fair)):
            if is_given:
                yield word
