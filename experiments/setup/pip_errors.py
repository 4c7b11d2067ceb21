"""Finds the cause of a failure in pip's output, most of which describes consequences of the cause."""

import re

_GENERIC = re.compile(
    r"subprocess-exited-with-error|legacy-install-failure|metadata-generation-failed|This error originates"
    r"|not a problem with pip|See above for output|Failed building wheel|Failed to build|Could not build wheels"
    r"|failed-wheel-build-for-install|did not run successfully|The above exception|During handling of"
)
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded")
_UNREACHABLE = re.compile(r"Retrying \(|Failed to establish a new connection|NewConnectionError|Max retries exceeded")
_INNERMOST = re.compile(
    r"(Temporary failure in name resolution|Name or service not known|Connection refused|Network is unreachable"
    r"|timed out|No route to host|CERTIFICATE_VERIFY_FAILED[^)'\"]*|Tunnel connection failed[^)'\"]*)"
)
_BUILDING = re.compile(
    r"(?:Building wheel for|Failed building wheel for|Preparing metadata for|building) ([A-Za-z0-9._-]+)"
)
_CAUSE = re.compile(r"\b(?:fatal error|error|ERROR|Error|[A-Z]\w*Error|[A-Z]\w*Exception|fatal)\b.*: *\S")
_FRAME = re.compile(r"^[\s\u2502\u2570\u2500>\u00d7]+")  # the frame pip draws around other programs' output
_DIGEST = re.compile(
    r"DO NOT MATCH THE HASHES .*? from (\S+?)(?: \(.*\))?:$.*?^ *Got +([0-9a-f]+)$", re.DOTALL | re.MULTILINE
)
_UNLISTED = re.compile(r"[Ii]n --require-hashes mode, .*?$\s+(\S+)", re.DOTALL | re.MULTILINE)
_VERSIONS = re.compile(r" \(from versions: [^)]*\)")
_LONGEST = 300


_PINS = "which neither constraints.txt nor build-requirements.txt lists"


def cause_of(said: str, pins: str = _PINS) -> str:
    """Returns the cause of pip's failure, with the package if known; an empty text if pip wrote nothing.

    said: pip's output. pins: the clause for a file with a wrong digest, about the place where the right one is.
    """
    if found := _DIGEST.search(said):
        file = found[1].partition("#")[0].rpartition("/")[2]
        return (
            f"{file} has the digest sha256:{found[2]}, {pins};"
            " try PIP_NO_CACHE_DIR=1, then another package index (PIP_INDEX_URL)"
        )
    if found := _UNLISTED.search(said):
        return f"constraints.txt has no digest for {found[1]}; run `make constraints`"
    lines = [_FRAME.sub("", line).strip() for line in said.splitlines()]
    lines = [line for line in lines if line]
    if full := next((line for line in lines if _NO_ROOM.search(line)), None):
        return _short(full)
    causes = [line for line in lines if _CAUSE.search(line) and not _GENERIC.search(line)]
    if any(_UNREACHABLE.search(line) for line in lines):
        why = next((found[0] for line in lines if (found := _INNERMOST.search(line))), None)
        what = next((line for line in reversed(causes) if line.startswith("ERROR: ")), "")
        if why:
            return _short(f"the package index cannot be reached ({why}); {what}".rstrip("; "))
    if not causes:
        return _short(lines[-1]) if lines else ""
    nested = [line for line in causes if not line.startswith("ERROR: ")] if _is_build(lines) else []
    # Of a compiler's errors, the first is the cause; of Python's chained exceptions, the last.
    compilers = [line for line in nested if re.search(r"\b(fatal )?error: ", line)]
    cause = (compilers or nested[-1:] or causes)[0]
    package = next((found[1] for line in lines if (found := _BUILDING.search(line))), None)
    return _short(f"{package}: {cause}" if nested and package else cause)


def _is_build(lines: list[str]) -> bool:
    return any("did not run successfully" in line or "lines of output]" in line for line in lines)


def _short(line: str) -> str:
    line = _VERSIONS.sub("", line)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
