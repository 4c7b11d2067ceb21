"""Replays inputs of the tuner's law and of its caution in a kernel, as a BPF program of its own, and with the oracle.

sock_ops has no test run, so `law.h` and `caution.h` are compiled into a program of the type `syscall`, which has one.
Only the standard library and the lab's own loader are imported: a machine without the lab's environment replays, too.
"""

import ctypes
import os
import random
import struct
from collections.abc import Iterator
from pathlib import Path

from priolab.common.formats.decisions import Why
from priolab.proxy.tuner.libbpf import CannotTune, Loaded
from tests.support.tuner.caution import HOLD_NS, Held, bound
from tests.support.tuner.law import Acked, Aim, Seen, decide

SOURCE = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "caution.h"
struct record {
    struct seen seen;
    struct aim aim;
    __u32 sysctl_bytes;
    struct held held;
    __u64 now_ns;
    __u32 has_bytes, due_bytes;
    struct choice choice;
    struct acked acked;
    __u64 highest_bytes_s;
    __u32 all_bytes, padding;
};
SEC("syscall") int law(struct record *r)
{
    struct seen seen = r->seen;
    struct aim aim = r->aim;
    struct held held = r->held;
    struct acked acked = r->acked;
    struct choice choice;
    decide(&seen, &aim, &choice);
    notice(&held, r->has_bytes, 0);
    bound(&choice, held.own_bytes, r->sysctl_bytes);
    r->due_bytes = due(&held, choice.lowat_bytes, r->sysctl_bytes, r->now_ns, 1000000000);
    r->held.low_ns = held.low_ns;
    r->held.low_bytes = held.low_bytes;
    r->held.own_bytes = held.own_bytes;
    r->held.lowat_bytes = held.lowat_bytes;
    r->held.last_bytes = held.last_bytes;
    r->choice.rate_bytes_s = choice.rate_bytes_s;
    r->choice.lowat_bytes = choice.lowat_bytes;
    r->choice.why = choice.why;
    note_acked(&acked, r->all_bytes, r->now_ns);
    r->acked.span_ns[0] = acked.span_ns[0];
    r->acked.span_ns[1] = acked.span_ns[1];
    r->acked.span_ns[2] = acked.span_ns[2];
    r->acked.since_ns = acked.since_ns;
    r->acked.rate_bytes_s = acked.rate_bytes_s;
    r->acked.highest_bytes_s = acked.highest_bytes_s;
    r->acked.before_bytes_s = acked.before_bytes_s;
    r->acked.span_bytes[0] = acked.span_bytes[0];
    r->acked.span_bytes[1] = acked.span_bytes[1];
    r->acked.span_bytes[2] = acked.span_bytes[2];
    r->acked.all_bytes = acked.all_bytes;
    r->highest_bytes_s = highest_rate_bytes_s(&acked);
    return 0;
}
char licence[] SEC("license") = "Dual MIT/GPL";
"""
"""The program; its folder of headers is that of law.h."""

WHYS = (Why.UNKNOWN, Why.FLOOR, Why.RATE, Why.CEILING, Why.SYSCTL, Why.SERVER)
"""By the number that the program gives."""

_RECORD = struct.Struct("=3Q3I4x4IQ4IQ2IQ2I7Q4IQI4x")
_MOST_BYTES = 2**31 - 1


class _Run(ctypes.Structure):
    """`struct bpf_test_run_opts`."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_void_p * 2),
        ("data_bytes", ctypes.c_uint32 * 2),
        ("context_in", ctypes.c_void_p),
        ("context_out", ctypes.c_void_p),
        ("context_in_bytes", ctypes.c_uint32),
        ("context_out_bytes", ctypes.c_uint32),
        ("rest", ctypes.c_uint32 * 6),
    )


def inputs(count: int, seed: int = 1) -> bytes:
    """Return records with random inputs; the largest and smallest numbers are frequent."""
    chance = random.Random(seed)

    def number(most: int) -> int:
        kind = chance.randrange(4)
        if kind == 0:
            return chance.choice([0, 1, 4, 5, 1448, 65535, most // 2, most])
        return min(most, int(2 ** chance.uniform(0, most.bit_length())))

    def record() -> bytes:
        rates, packets = [number(2**64 - 1) for _ in range(3)], [number(2**32 - 1) for _ in range(3)]
        floor, ceiling = sorted(max(1, number(_MOST_BYTES)) for _ in range(2))
        aim = [max(1, number(2**32 - 1)), floor, ceiling, chance.choice([0, 131072, number(2**32 - 1)])]
        low_ns = chance.choice([0, 10**9])
        own, lowat = chance.choice([0, number(_MOST_BYTES)]), chance.choice([0, number(_MOST_BYTES)])
        held = [low_ns, number(_MOST_BYTES), own, lowat, number(_MOST_BYTES)]
        has = chance.choice([lowat or own, lowat or own, number(_MOST_BYTES)])
        now_ns = 10**9 + number(2 * HOLD_NS)
        ends = sorted((max(0, now_ns - number(10**9)) for _ in range(3)), reverse=True)
        past = [*ends, max(0, now_ns - number(2 * 10**9)), *(number(2**64 - 1) for _ in range(3))]
        sizes = [number(2**32 - 1) for _ in range(5)]
        return _RECORD.pack(*rates, *packets, *aim, *held, now_ns, has, 0, 0, 0, 0, *past, *sizes[:4], 0, sizes[4])

    return b"".join(record() for _ in range(count))


def expected(records: bytes) -> bytes:
    """Return the records as the oracle completes them."""
    return b"".join(_completed(numbers) for numbers in _RECORD.iter_unpack(records))


def _completed(numbers: tuple[int, ...]) -> bytes:
    known, (target, floor, ceiling, sysctl), state = numbers[:6], numbers[6:10], numbers[10:15]
    now_ns, has, past, sizes, all_bytes = *numbers[15:17], numbers[21:28], numbers[28:32], numbers[33]
    choice = decide(Seen(*known), Aim(target, floor, ceiling))
    names = ("low_ns", "low_bytes", "own_bytes", "lowat_bytes", "last_bytes")
    held = Held(**dict(zip(names, state, strict=True)))
    held.notice(has, dry_run=False)
    choice = bound(choice, held.own_bytes, sysctl)
    due = held.due(choice.lowat_bytes, sysctl, now_ns, HOLD_NS)
    after = [getattr(held, name) for name in names]
    chosen = choice.rate_bytes_s, choice.lowat_bytes, WHYS.index(choice.why)
    acked = Acked(
        span_ns=list(past[:3]),
        since_ns=past[3],
        rate_bytes_s=past[4],
        highest_bytes_s=past[5],
        before_bytes_s=past[6],
        span_bytes=list(sizes[:3]),
        all_bytes=sizes[3],
    )
    acked.note(all_bytes, now_ns)
    spans = *acked.span_ns, acked.since_ns, acked.rate_bytes_s, acked.highest_bytes_s, acked.before_bytes_s
    noted = *spans, *acked.span_bytes, acked.all_bytes, acked.highest_rate_bytes_s, all_bytes
    return _RECORD.pack(*known, target, floor, ceiling, sysctl, *after, now_ns, has, due, *chosen, *noted)


def replayed(program: Path, records: bytes) -> bytes:
    """Return the records as the kernel completes them. program: SOURCE, compiled. Raises CannotTune."""
    with Loaded(program) as loaded:
        found = loaded._lib.bpf_object__find_program_by_name(loaded._object, b"law")
        descriptor = loaded._lib.bpf_program__fd(ctypes.c_void_p(found))
        return b"".join(_replayed(loaded, descriptor, record) for record in _each(records))


def _each(records: bytes) -> Iterator[bytes]:
    return (records[at : at + _RECORD.size] for at in range(0, len(records), _RECORD.size))


def _replayed(loaded: Loaded, descriptor: int, record: bytes) -> bytes:
    numbers = ctypes.create_string_buffer(record, len(record))
    run = _Run(size=ctypes.sizeof(_Run), context_in=ctypes.addressof(numbers), context_in_bytes=len(record))
    if loaded._lib.bpf_prog_test_run_opts(descriptor, ctypes.byref(run)) != 0:
        raise CannotTune(f"the kernel does not run the law: {os.strerror(ctypes.get_errno())}")
    return numbers.raw
