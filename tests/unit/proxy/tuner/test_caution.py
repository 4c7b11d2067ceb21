"""Tests of the tuner's caution on servers in use: each of its rules, and the same rules in C."""

import ctypes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priolab.common.formats.decisions import Why
from tests.support.tuner.caution import HOLD_NS, Held, bound
from tests.support.tuner.law import Choice
from tests.support.tuner.numbers import CChoice, choice_of, compiled, u32

MOST, DIP, SYSCTL = 64 * 2**20, 393_216, 131_072
ROUND_TRIP_NS = 10**8
_sysctls = st.sampled_from([0, SYSCTL, 2**32 - 1])


def _given(wanted: list[int], held: Held, sysctl_bytes: int = 0) -> list[int]:
    """Return the values set, for the values wanted in each round trip; 0 means that none was set."""
    changes = []
    for number, wanted_bytes in enumerate(wanted):
        held.notice(held.has_bytes, dry_run=False)
        due_bytes = held.due(wanted_bytes, sysctl_bytes, (number + 1) * ROUND_TRIP_NS, HOLD_NS)
        if due_bytes:
            held.was_set(due_bytes)
        changes.append(due_bytes)
    return changes


def test_a_dip_changes_nothing() -> None:
    """The wanted values 64 MiB, 393 KB, 64 MiB on a connection cause a single change."""
    assert _given([MOST, DIP, MOST, DIP, DIP, MOST], Held()) == [MOST, 0, 0, 0, 0, 0]


def test_a_jump_changes_nothing() -> None:
    """The value rises if two samples in a row want more. It rises to the lesser of the two."""
    assert _given([DIP, MOST, DIP, MOST, MOST // 2], Held()) == [DIP, 0, 0, 0, MOST // 2]


def test_a_drop_that_lasts() -> None:
    """The value falls after the hold time, to the highest value that was wanted in this time."""
    wanted = [MOST, *[DIP] * 5, 2 * DIP, *[DIP] * 4]
    assert _given(wanted, Held()) == [MOST, *[0] * 10]
    assert _given([*wanted, DIP], Held())[-1] == 2 * DIP


def test_what_it_would_have_anyway() -> None:
    """No value is set if the sysctl or the server's own limit gives about the same."""
    assert _given([SYSCTL, SYSCTL - 1_000, SYSCTL // 2], Held(), SYSCTL) == [0, 0, SYSCTL // 2]
    assert _given([50_000, 49_000], Held(own_bytes=50_000), SYSCTL) == [0, 0]


def test_a_sysctl_that_is_lowered() -> None:
    """The lower sysctl applies at once."""
    held = Held()
    assert _given([100_000], held, SYSCTL) == [100_000]
    assert _given([99_000], held, 99_000) == [99_000]


def test_what_the_server_sets_meanwhile() -> None:
    """The server's own value is the limit from then on, but a value that the tuner set is not."""
    held = Held()
    held.notice(0, dry_run=False)
    held.was_set(100_000)
    held.notice(100_000, dry_run=False)
    assert (held.own_bytes, held.lowat_bytes) == (0, 100_000)
    held.notice(20_000, dry_run=False)
    assert (held.own_bytes, held.lowat_bytes) == (20_000, 0)


def test_a_dry_run_leaves_the_socket_as_it_is() -> None:
    """In a dry run the socket's value is always the server's."""
    held = Held()
    held.was_set(100_000)
    held.notice(0, dry_run=True)
    assert (held.own_bytes, held.lowat_bytes) == (0, 100_000)


@pytest.mark.parametrize(
    ("own_bytes", "sysctl_bytes", "lowat_bytes", "why"),
    [
        (0, 0, MOST, Why.RATE),
        (0, 2**32 - 1, MOST, Why.RATE),
        (0, SYSCTL, SYSCTL, Why.SYSCTL),
        (50_000, SYSCTL, 50_000, Why.SERVER),
        (200_000, SYSCTL, SYSCTL, Why.SYSCTL),
    ],
)
def test_the_limits(own_bytes: int, sysctl_bytes: int, lowat_bytes: int, why: Why) -> None:
    """The stricter limit applies, and is named as the reason."""
    choice = bound(Choice(rate_bytes_s=1, lowat_bytes=MOST, why=Why.RATE), own_bytes, sysctl_bytes)
    assert (choice.lowat_bytes, choice.why) == (lowat_bytes, why)


class _Held(ctypes.Structure):
    """The C structure `struct held` of caution.h."""

    _fields_ = (
        ("low_ns", ctypes.c_uint64),
        ("low_bytes", ctypes.c_uint32),
        ("own_bytes", ctypes.c_uint32),
        ("lowat_bytes", ctypes.c_uint32),
        ("last_bytes", ctypes.c_uint32),
    )


@pytest.fixture(scope="module")
def in_c(gcc: None, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:  # noqa: ARG001
    """Compile caution.h, and return the library."""
    loaded = compiled(
        '#include "caution.h"\n'
        "void c_notice(struct held *h, __u32 b, __u32 d) { notice(h, b, d); }\n"
        "void c_bound(struct choice *c, __u32 o, __u32 s) { bound(c, o, s); }\n"
        "__u32 c_due(struct held *h, __u32 w, __u32 s, __u64 n, __u64 t) { return due(h, w, s, n, t); }\n",
        tmp_path_factory.mktemp("caution"),
    )
    loaded.c_due.restype = ctypes.c_uint32
    return loaded


_looks = st.lists(
    st.tuples(
        st.sampled_from([DIP, MOST, SYSCTL, 50_000, 400_000]) | st.integers(1, 2**31 - 1),
        _sysctls,
        st.sampled_from([None, 0, 60_000]),  # the value that the server sets before the sample, if any
        st.integers(1, HOLD_NS),
    )
)


def test_the_kernel_is_as_cautious(in_c: ctypes.CDLL) -> None:
    """The C code of sock_ops.c gives the same at every sample, whatever the server sets in between."""

    @settings(max_examples=500, deadline=None)
    @given(_looks, st.sampled_from([0, 1]))
    def same(looks: list[tuple[int, int, int | None, int]], dry: int) -> None:
        held, c_held, now_ns, has_bytes = Held(), _Held(), 0, 0
        for wanted_bytes, sysctl_bytes, server_bytes, later_ns in looks:
            now_ns += later_ns
            has_bytes = has_bytes if server_bytes is None else server_bytes
            held.notice(has_bytes, dry_run=bool(dry))
            in_c.c_notice(ctypes.byref(c_held), has_bytes, dry)
            due_bytes = held.due(wanted_bytes, sysctl_bytes, now_ns, HOLD_NS)
            times = ctypes.c_uint64(now_ns), ctypes.c_uint64(HOLD_NS)
            assert due_bytes == in_c.c_due(ctypes.byref(c_held), wanted_bytes, ctypes.c_uint32(sysctl_bytes), *times)
            if due_bytes:
                held.was_set(due_bytes)
                c_held.lowat_bytes, c_held.low_ns = due_bytes, 0
                has_bytes = has_bytes if dry else due_bytes
            for name, _ in _Held._fields_:
                assert getattr(held, name) == getattr(c_held, name)

    same()


def test_the_kernel_has_the_same_limits(in_c: ctypes.CDLL) -> None:
    """C and Python agree for all numbers that fit."""

    @settings(max_examples=500, deadline=None)
    @given(u32, u32, u32)
    def same(lowat_bytes: int, own_bytes: int, sysctl_bytes: int) -> None:
        choice = Choice(rate_bytes_s=1, lowat_bytes=lowat_bytes, why=Why.RATE)
        c_choice = CChoice.of(choice)
        in_c.c_bound(ctypes.byref(c_choice), ctypes.c_uint32(own_bytes), ctypes.c_uint32(sysctl_bytes))
        assert choice_of(c_choice) == bound(choice, own_bytes, sysctl_bytes)

    same()
