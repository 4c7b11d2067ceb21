"""Derives apt's sources for a Debian suite from the sources of this machine. Pure.

Rules:
1. A machine with Debian's sources fetches other suites from the same addresses, and trusts them by the same keys.
2. A machine without Debian's sources, such as one with Ubuntu, fetches suites from the archive that the user names, or
   from the one that debootstrap uses. It trusts them by the key ring of the package debian-archive-keyring.
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
_USUAL = re.compile(r"""^\s*DEF_MIRROR=["']?([a-z]+:[^"'\s$]+)""", re.MULTILINE)
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


def debian_sources(found: Iterable[Source], mirror: str | None, usual: str | None) -> Sequence[Source]:
    """Returns Debian's archive and, if there is one, its security archive; nothing if no archive is known.

    found: this machine's sources. mirror: the address of the archive that the user names, which need not have a
    security archive. usual: the address of the archive that debootstrap uses. A value that is missing is None.
    """
    own = [source for source in found if source.kind in (_MAIN, _SECURITY) and not source.uri.startswith("cdrom:")]
    main = next((source for source in own if source.kind == _MAIN), None)
    trusted = main or Source(uri="", trust=(f"Signed-By: {KEYRING}",))
    if mirror:
        return [replace(trusted, uri=mirror)]
    if main:
        return [main, *[source for source in own if source.kind == _SECURITY][:1]]
    if usual is None:
        return []
    archive = replace(trusted, uri=usual)
    beside = f"{usual.rstrip('/').removesuffix(_MAIN)}{_SECURITY}"
    return [archive, replace(trusted, uri=beside)] if archive.kind == _MAIN else [archive]


def usual_archive(script: str) -> str | None:
    """Returns the address that a script of debootstrap uses if it is given none; None if the script has none."""
    found = _USUAL.search(script)
    return found[1] if found else None


def sources_for(suite: str, archives: Sequence[Source]) -> str:
    """Returns the content of a file .sources for the suite. archives: the result of `debian_sources`, not empty."""
    main, *security = archives
    if suite in ROLLING:
        return _stanza(main, [suite])
    stanzas = [_stanza(main, [suite, f"{suite}-updates"])]
    return "\n".join(stanzas + [_stanza(source, [f"{suite}-security"]) for source in security])


def _stanza(source: Source, suites: Sequence[str]) -> str:
    uri = re.sub("^file:", "copy:", source.uri)  # of the method `file`, apt leaves the packages where they are
    lines = ["Types: deb", f"URIs: {uri}", f"Suites: {' '.join(suites)}", "Components: main", *source.trust]
    return "".join(f"{line}\n" for line in lines)
