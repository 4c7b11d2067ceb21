"""Reads the loads of a connection one by one: the script's first byte, and the front's send buffer at that time."""

from collections.abc import Sequence
from dataclasses import dataclass

from priolab import Run, SocketSample, Verdict


@dataclass(frozen=True, kw_only=True)
class LoadSeen:
    """A load of a connection.

    number: counts from 1. first_byte_s: the script's first byte, after the page's request. before: the fraction of the
    image that arrived before this first byte. sndbuf_bytes, unsent_bytes: size and unsent bytes of the front's send
    buffer when the script became available; None without samples.
    """

    number: int
    first_byte_s: float
    before: float
    verdict: Verdict
    sndbuf_bytes: int | None
    unsent_bytes: int | None


def loads_seen(run: Run) -> list[LoadSeen]:
    """Returns the complete loads of a run, in order. Raises FolderError."""
    seen = []
    for load in run.loads:
        sample = _at(run.sockets, load.focal.available_ns)
        seen.append(
            LoadSeen(
                number=load.number,
                first_byte_s=load.ms(load.focal.first_byte_ns) / 1000,
                before=load.other_bytes_before / load.others.size_bytes,
                verdict=run.judgement(load).verdict,
                sndbuf_bytes=sample.sndbuf_bytes if sample else None,
                unsent_bytes=sample.notsent_bytes if sample else None,
            )
        )
    return seen


def _at(sockets: Sequence[SocketSample], t_ns: int) -> SocketSample | None:
    """Returns the first sample not before t_ns, else the last sample; None without samples."""
    return next((sample for sample in sockets if sample.t_ns >= t_ns), sockets[-1] if sockets else None)
