"""Looks for what often makes programs fail, and that they say in their own words or not at all."""

import re
import resource
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from priolab.common.descriptors import process_ids
from priolab.testbed.sandbox.spec import SERVER
from priolab.testbed.topology.namespace import Namespace

_TOO_MANY = re.compile(rb"too many open files|\bEMFILE\b", re.IGNORECASE)
_NO_FAMILY = re.compile(rb"address family not supported|\bEAFNOSUPPORT\b", re.IGNORECASE)
_OPEN_FILES = re.compile(r"^Max open files +(\d+)", re.MULTILINE)
_DNS = 53
_REMEDY = "`ulimit -n NUMBER` before the command allows more, up to a million"


def of_state(hosts: Mapping[str, Namespace], *, failed: bool) -> Iterator[str]:
    """Yields hints from the kernel, while the programs are there. failed: True if the client did not end well."""
    for program, limit in _full_tables():
        yield f"{program} has as many open files as it may, {limit}; {_REMEDY}"
    if failed and (refused := _refused(hosts[SERVER])):
        yield (
            f"the server's kernel has refused {refused} datagrams, because nobody listens at their port; a program that"
            f" looks up a name which is no host's asks port {_DNS} of the server (DNS)"
        )


def of_words(last: Mapping[str, bytes], open_files: tuple[int, int] | None, *, ipv6: bool) -> Iterator[str]:
    """Yields hints from what the programs have written. last: the end of it, by hosts. The others as in the spec."""
    limit, _ = open_files or resource.getrlimit(resource.RLIMIT_NOFILE)
    for name, words in last.items():
        if _TOO_MANY.search(words):
            yield f"a program of the host {name} wants more open files than it may have, {limit}; {_REMEDY}"
        if not ipv6 and _NO_FAMILY.search(words):
            yield f"a program of the host {name} wants addresses of IPv6, which the hosts have with --ipv6"


def _full_tables() -> Iterator[tuple[str, int]]:
    """Yields the programs that have all the files open that they may, with this number."""
    for pid in process_ids():
        with suppress(OSError):
            process = Path(f"/proc/{pid}")
            limit = _OPEN_FILES.search((process / "limits").read_text())
            if limit and sum(1 for _ in (process / "fd").iterdir()) >= int(limit[1]):
                yield (process / "comm").read_text().strip(), int(limit[1])


def _refused(server: Namespace) -> int:
    """Returns how many datagrams came to ports of the server at which no socket was."""
    with server.entered(), suppress(OSError, KeyError):
        lines = [line.split() for line in Path("/proc/thread-self/net/snmp").read_text().splitlines()]
        names, values = (line for line in lines if line[0] == "Udp:")
        return int(dict(zip(names, values, strict=True))["NoPorts"])
    return 0
