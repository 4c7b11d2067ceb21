"""Derives apt's sources for a Debian suite from the sources of this machine. Pure.

Rules:
1. A machine with Debian's sources fetches other suites from the same addresses, and trusts them by the same keys.
2. A machine without Debian's sources, such as one with Ubuntu, fetches suites from Debian's own servers, and trusts
   them by the key ring of the package debian-archive-keyring.
3. A rolling suite has no updates and no security archive. Other suites have both.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ROLLING = ("sid", "unstable", "experimental")

_MAIN, _SECURITY = "debian", "debian-security"
_OPTIONS = re.compile(r"\[([^\]]*)\]")
_OPTION = re.compile(r"([a-z-]+)=(\S+)")
_KEPT = {"signed-by": "Signed-By", "trusted": "Trusted", "check-valid-until": "Check-Valid-Until"}


@dataclass(frozen=True, kw_only=True)
class Source:
    """An archive. uri: its address. trust: lines in the format of deb822(5) about the keys that apt accepts."""

    uri: str
    trust: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The last part of the address, which is `debian` or `debian-security` for Debian's archives."""
        return self.uri.rstrip("/").rpartition("/")[2]


DEBIAN = (
    Source(uri=f"http://deb.debian.org/{_MAIN}", trust=(f"Signed-By: {KEYRING}",)),
    Source(uri=f"http://deb.debian.org/{_SECURITY}", trust=(f"Signed-By: {KEYRING}",)),
)
"""Debian's own servers."""


def one_line_sources(text: str) -> Iterator[Source]:
    """Yields the sources in a file whose name ends in .list (sources.list(5)), without those of other package types."""
    for line in text.splitlines():
        kind, _, rest = line.partition("#")[0].strip().partition(" ")
        if kind != "deb":
            continue
        options = _OPTIONS.match(rest.lstrip())
        words = _OPTIONS.sub("", rest, count=1).split()
        if words:
            given = _OPTION.findall(options[1]) if options else []
            trust = tuple(f"{_KEPT[name]}: {value.replace(',', ' ')}" for name, value in given if name in _KEPT)
            yield Source(uri=words[0], trust=trust)


def deb822_sources(text: str) -> Iterator[Source]:
    """Yields the sources in a file whose name ends in .sources (deb822(5)), without disabled and other types."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n[ \t]*\n", kept):
        fields = dict(_fields(stanza))
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").strip() == "no":
            continue
        trust = tuple(f"{own}:{fields[name]}" for name, own in _KEPT.items() if name in fields)
        for uri in fields.get("uris", "").split():
            yield Source(uri=uri, trust=trust)


def _fields(stanza: str) -> Iterator[tuple[str, str]]:
    """Yields (name, value) of each field. The name is in lower case, the value has its further lines."""
    for field in re.split(r"\n(?![ \t])", stanza.strip("\n")):
        name, _, value = field.partition(":")
        yield name.lower(), value.rstrip()


def sources_for(suite: str, found: Iterable[Source], mirror: str | None) -> str:
    """Returns the content of a file .sources for the suite.

    found: this machine's sources. mirror: the address to use for the suite and its updates, without the security
    archive; None for the addresses of this machine's sources.
    """
    debian = [source for source in found if source.kind in (_MAIN, _SECURITY) and not source.uri.startswith("cdrom:")]
    if not any(source.kind == _MAIN for source in debian):
        debian = list(DEBIAN)
    main = next(source for source in debian if source.kind == _MAIN)
    if mirror:
        main = replace(main, uri=mirror)
    stanzas = [_stanza(main, [suite] if suite in ROLLING else [suite, f"{suite}-updates"])]
    security = next((source for source in debian if source.kind == _SECURITY), None)
    if security and not mirror and suite not in ROLLING:
        stanzas.append(_stanza(security, [f"{suite}-security"]))
    return "\n".join(stanzas)


def _stanza(source: Source, suites: Sequence[str]) -> str:
    uri = re.sub("^file:", "copy:", source.uri)  # of the method `file`, apt leaves the packages where they are
    lines = ["Types: deb", f"URIs: {uri}", f"Suites: {' '.join(suites)}", "Components: main", *source.trust]
    return "".join(f"{line}\n" for line in lines)
