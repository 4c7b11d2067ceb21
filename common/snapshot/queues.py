"""The qdiscs of a namespace with all their options, and the filters of qdiscs that may have filters.

netem, tbf and pfifo have names for their options, because the lab asks for some of them (netem/expected_qdiscs.py).
Options of other qdiscs have the numbers of their attributes. Statistics are left out.
"""

import struct
from collections.abc import Callable, Iterator, Mapping

from priolab.common.netlink import Conversation, attribute, attributes, question
from priolab.common.snapshot.attributes import entries, text, value

_GET_QDISC, _GET_FILTER = 38, 46  # RTM_GET*, <linux/rtnetlink.h>
_HEADER = struct.Struct("=B3xiIII")  # struct tcmsg: family, index of the device, handle, parent, info
_KIND, _OPTIONS, _INVISIBLE = 1, 2, 10  # TCA_KIND, TCA_OPTIONS, TCA_DUMP_INVISIBLE
_STATISTICS = {
    3,
    4,
    6,
    7,
    9,
}  # TCA_STATS, TCA_XSTATS, TCA_FCNT, TCA_STATS2, and TCA_PAD, which aligns them in old kernels
_HARDWARE = 12  # TCA_HW_OFFLOAD, which the lab's devices do not have
_ROOT = 2**32 - 1  # TC_H_ROOT
_TICK_NS = 64  # PSCHED_TICKS2NS, <net/pkt_sched.h>
_ALL = 2**32
_IN_BYTES = 2**31
_NETEM = struct.Struct("=6I")  # struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter
_CORR, _DIST, _REORDER, _CORRUPT, _LOSS, _RATE, _ECN, _RATE64, _PAD, _LATENCY64, _JITTER64 = range(1, 12)
_SEED = 14  # TCA_NETEM_PRNG_SEED: another one for each qdisc
_TBF_RATE = "BBHhHI"  # struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate in bytes per second
_TBF = struct.Struct(f"={_TBF_RATE}{_TBF_RATE}III")  # struct tc_tbf_qopt: then limit, buffer and mtu
_TBF_RATE64, _TBF_PRATE64 = 4, 5
_SIMPLE = ("noqueue", "pfifo_fast", "mq")
"""Kinds of qdiscs to which no filter can be attached."""
_FIFOS = ("pfifo", "bfifo")


def queues(conversation: Conversation, devices: Mapping[int, str]) -> dict[str, str]:
    """Returns the qdiscs' options and the filters by name. devices: the names by index. Raises OSError."""
    found: dict[str, str] = {}
    filtered: list[tuple[int, int]] = []
    asked = question(_GET_QDISC, bytes(_HEADER.size), attribute(_INVISIBLE), dump=True)
    for answer in conversation.ask(asked):
        _, index, handle, parent, _ = _HEADER.unpack_from(answer)
        of = attributes(answer, _HEADER.size)
        kind = text(of[_KIND])
        name = qdisc_name(devices.get(index, str(index)), handle >> 16, parent)
        found[f"{name}, kind"] = kind
        for what, seen in _read(kind)(of.get(_OPTIONS, b"")):
            found[f"{name}, {what}"] = seen
        for what, seen in entries(of, {}, {_KIND, _OPTIONS, _HARDWARE, *_STATISTICS}):
            found[f"{name}, {what}"] = seen
        if kind not in _SIMPLE and kind not in _FIFOS and kind not in ("netem", "tbf"):
            filtered.append((index, handle))
    for index, handle in filtered:
        header = _HEADER.pack(0, index, 0, handle, 0)
        try:
            answers = list(conversation.ask(question(_GET_FILTER, header, dump=True)))
        except OSError:  # this kernel has no filters
            break
        for number, answer in enumerate(answers):
            name = f"filter {number} of {qdisc_name(devices.get(index, str(index)), handle >> 16, None)}"
            of = attributes(answer, _HEADER.size)
            found[name] = " ".join(f"{what}={seen}" for what, seen in entries(of, {}, _STATISTICS))
    return found


def qdisc_name(device: str, handle: int, parent: int | None) -> str:
    """Returns the name of a qdisc in a picture. handle: its major number; 0 for one that the kernel made by itself.

    parent: its parent, which names a qdisc without a handle; None is not known.
    """
    if handle or parent is None:
        return f"qdisc {handle:x}: of {device}"
    return f"qdisc of {device} at {'root' if parent == _ROOT else f'{parent >> 16:x}:{parent & 0xFFFF:x}'}"


def netem_limit(limit: int) -> str:
    """Returns a netem's limit in words; the guest's netem counts bytes if the highest bit is set (netem/tc.py)."""
    return f"{limit - _IN_BYTES} bytes" if limit >= _IN_BYTES else str(limit)


def _read(kind: str) -> Callable[[bytes], Iterator[tuple[str, str]]]:
    if kind == "netem":
        return _netem
    if kind == "tbf":
        return _tbf
    return _fifo if kind in _FIFOS else _other


def _fifo(options: bytes) -> Iterator[tuple[str, str]]:
    yield "limit", value(options[:4])


def _other(options: bytes) -> Iterator[tuple[str, str]]:
    yield from entries(attributes(options), {})


def _netem(options: bytes) -> Iterator[tuple[str, str]]:
    latency, limit, loss, gap, duplicate, jitter = _NETEM.unpack_from(options)
    of = attributes(options, _NETEM.size)
    yield "limit", netem_limit(limit)
    yield "delay in ns", _long(of.get(_LATENCY64)) or str(latency * _TICK_NS)
    yield "jitter in ns", _long(of.get(_JITTER64)) or str(jitter * _TICK_NS)
    yield "loss", _share(loss)
    yield "duplicate", _share(duplicate)
    yield "gap", str(gap)
    for name, kind in (("reorder", _REORDER), ("corrupt", _CORRUPT)):
        odds, correlation = struct.unpack_from("=II", of.get(kind, bytes(8)))
        yield name, _share(odds)
        yield f"{name}'s correlation", _share(correlation)
    for name, number in zip(
        ("delay", "loss", "duplicate"), struct.unpack("=3I", of.get(_CORR, bytes(12))), strict=True
    ):
        yield f"{name}'s correlation", _share(number)
    for kind, model in attributes(of.get(_LOSS, b"")).items():
        numbers = struct.unpack(f"={len(model) // 4}I", model)
        yield f"loss model {kind}", " ".join(map(_share, numbers))
    rate, overhead, cell_bytes, cell_overhead = struct.unpack_from("=IiIi", of.get(_RATE, bytes(16)))
    yield "rate in bit/s", str(8 * int(_long(of.get(_RATE64)) or rate))
    yield "overhead", f"{overhead} {cell_bytes} {cell_overhead}"
    yield "ecn", "on" if _ECN in of else "off"
    known = {_CORR, _REORDER, _CORRUPT, _LOSS, _RATE, _ECN, _RATE64, _PAD, _LATENCY64, _JITTER64, _SEED}
    yield from entries(of, {}, known)


def _tbf(options: bytes) -> Iterator[tuple[str, str]]:
    of = attributes(options)
    words = _TBF.unpack_from(of[1])
    for name, spec, exact in (("", words[:6], _TBF_RATE64), ("peak ", words[6:12], _TBF_PRATE64)):
        _, layer, overhead, _, least_bytes, rate = spec
        yield f"{name}rate in bit/s", str(8 * int(_long(of.get(exact)) or rate))
        yield f"{name}overhead", f"{layer if rate else 0} {overhead} {least_bytes}"
    limit, buffer, mtu = words[12:]
    yield "limit", str(limit)
    yield "burst in ns", str(buffer * _TICK_NS)
    yield "peak burst in ns", str(mtu * _TICK_NS)


def _long(payload: bytes | None) -> str | None:
    return None if payload is None else value(payload)


def _share(number: int) -> str:
    """Returns a probability of the kernel's, in 2^32nds, as a fraction."""
    return f"{number / _ALL:.7g}"
