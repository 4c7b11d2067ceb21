"""The loads of one connection, one by one: when the script came, and what the front's send buffer was then."""

from bisect import bisect_left
from dataclasses import dataclass

from analysis.loads.metrics import page_loads
from analysis.loads.verdict import Verdict, judge
from analysis.records.runs import Run
from common.formats.samples import SocketSample


@dataclass(frozen=True, kw_only=True)
class LoadSeen:
    """One load. sndbuf_bytes, unsent_bytes: of the front's socket when the script was there to be sent.

    first_byte_s: of the script, after the page was asked for. before: part of the image that arrived before it.
    """

    number: int
    first_byte_s: float
    before: float
    verdict: Verdict
    sndbuf_bytes: int | None
    unsent_bytes: int | None


def loads_seen(run: Run) -> list[LoadSeen]:
    """Every complete load of a run, in order. Raises FolderError."""
    evidence, layers = run.evidence(), run.layers()
    sockets = layers.sockets if layers else ()
    seen = []
    for load in page_loads(evidence):
        looked = _at(sockets, load.script_available_ns)
        seen.append(
            LoadSeen(
                number=load.number,
                first_byte_s=load.ms(load.script.first_byte_ns) / 1000,
                before=load.image_bytes_before_script / load.image.size_bytes,
                verdict=judge(load, evidence.favoured, run.scenario["delay_ns"]).verdict,
                sndbuf_bytes=looked.sndbuf_bytes if looked else None,
                unsent_bytes=looked.notsent_bytes if looked else None,
            )
        )
    return seen


def _at(sockets: tuple[SocketSample, ...], t_ns: int) -> SocketSample | None:
    """The first look that is not earlier, else the last."""
    if not sockets:
        return None
    return sockets[min(bisect_left(sockets, t_ns, key=lambda sample: sample.t_ns), len(sockets) - 1)]
