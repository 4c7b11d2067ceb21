"""Reads the loads of a connection one by one: the script's first byte, and the front's send buffer at that time."""

from dataclasses import dataclass

from priolab.analysis.loads.findings import judgement
from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.records.runs import Run
from priolab.analysis.records.samples import earliest
from priolab.common.formats.run import Verdict
from priolab.common.formats.samples import SocketSample


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
    evidence, layers = run.evidence(), run.layers()
    sockets = layers.sockets
    seen = []
    for load in page_loads(evidence):
        looked = _at(sockets, load.focal.available_ns)
        seen.append(
            LoadSeen(
                number=load.number,
                first_byte_s=load.ms(load.focal.first_byte_ns) / 1000,
                before=load.other_bytes_before / load.others.size_bytes,
                verdict=judgement(load, evidence, layers, run.scenario).verdict,
                sndbuf_bytes=looked.sndbuf_bytes if looked else None,
                unsent_bytes=looked.notsent_bytes if looked else None,
            )
        )
    return seen


def _at(sockets: tuple[SocketSample, ...], t_ns: int) -> SocketSample | None:
    """Returns the first sample not before t_ns, else the last sample; None without samples."""
    if not sockets:
        return None
    return earliest(sockets, t_ns) or sockets[-1]
