"""Tests of the choice of a cluster's workers."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from distributed import Client

from priolab.common.errors import Unavailable
from priolab.extras.cluster import worker_pool
from priolab.extras.cluster.worker import BatchSettings
from priolab.extras.cluster.worker_pool import WorkerPool

A, B, C = (f"tcp://10.0.0.{number}:1" for number in (1, 2, 3))


class Workers:
    """A substitute for Dask's client. there: number of threads by address. answers: answers other than agreement."""

    def __init__(self, there: Mapping[str, int], answers: Mapping[str, object] | None = None) -> None:
        self.there = dict(there)
        self.answers = dict(answers or {})
        self.asked: list[str] = []

    def nthreads(self) -> dict[str, int]:
        return dict(self.there)

    def run(self, _: object, __: BatchSettings, *, workers: list[str], on_error: str) -> dict[str, object]:
        assert on_error == "return"
        self.asked += workers
        return {address: self.answers.get(address) for address in workers}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "_LOOK_S", 0.0)


def pool_of(workers: Workers) -> tuple[WorkerPool, list[str]]:
    told: list[str] = []
    return WorkerPool(cast("Client", workers), "tcp://10.0.0.9:8786", cast("Any", None), told.append), told


def test_everyone_is_asked_once() -> None:
    """Each worker is asked once, including those that connect later. One that left and came back is asked again."""
    workers = Workers({A: 1, B: 2})
    pool, told = pool_of(workers)
    pool.update()
    pool.update()
    assert (workers.asked, set(pool.admitted), pool.threads) == ([A, B], {A, B}, 3)
    workers.there = {B: 2, C: 4}
    pool.update()
    assert (set(pool.admitted), pool.threads) == ({B, C}, 6)
    assert told == [f"worker {A} is lost; workers left: 1"]
    workers.there[A] = 1
    pool.update()
    assert workers.asked == [A, B, C, A]


def test_who_refuses_is_left_out() -> None:
    """A worker that refuses is left out, with its reason, also if the lab is missing there.
    A worker that leaves while it is asked has not refused.
    """
    missing = ModuleNotFoundError("No module named 'experiments'")
    workers = Workers({A: 1, B: 1, C: 1}, {A: "another code", B: missing, C: OSError("closed")})
    pool, told = pool_of(workers)
    with pytest.raises(Unavailable, match=r"all its workers refuse: .*another code; .* the lab, or the"):
        pool.update()
    assert told == [
        f"worker {A} refuses: another code",
        f"worker {B} refuses: the lab, or the head's version of it, is not installed on the worker ({missing})",
    ]
    workers.answers[C] = None
    pool.update()
    assert (set(pool.admitted), workers.asked) == ({C}, [A, B, C, C])


def test_one_that_refuses_later() -> None:
    """A worker that refuses later gets no further batches, and is reported once."""
    workers = Workers({A: 1, B: 1})
    pool, told = pool_of(workers)
    pool.update()
    pool.refuse(A, "its disk is full")
    pool.refuse(A, "its disk is full")
    pool.update()
    assert (set(pool.admitted), told, workers.asked) == ({B}, [f"worker {A} refuses: its disk is full"], [A, B])


def test_one_with_which_nothing_comes_to_anything() -> None:
    """A worker is left out after three different batches in a row failed there, until it has left and come back."""
    workers = Workers({A: 1, B: 1})
    pool, told = pool_of(workers)
    pool.update()
    for batch in ("a.1", "b.1"):
        pool.failed(A, batch, "its disk is full")
    pool.succeeded(A)
    for batch in ("a.1", "b.1", "b.1", "b.1"):
        pool.failed(A, batch, "its disk is full")
    assert set(pool.admitted) == {A, B}
    pool.failed(A, "c.1", "its disk is full")
    assert set(pool.admitted) == {B}
    assert told[0] == f"worker {A}: a.1 failed: its disk is full"
    assert told[-1] == f"worker {A} refuses: its disk is full"
    workers.there = {B: 1}
    pool.update()
    workers.there = {A: 1, B: 1}
    pool.update()
    pool.failed(A, "d.1", "its disk is full")
    assert set(pool.admitted) == {A, B}


def test_nobody_is_there() -> None:
    """If no worker is connected, an error follows at once."""
    with pytest.raises(Unavailable, match=r"tcp://10\.0\.0\.9:8786 cannot be used here: no worker is connected"):
        pool_of(Workers({}))[0].update()


def test_all_were_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all workers were lost, the pool waits some time before it raises an error."""
    workers = Workers({A: 1})
    pool, _ = pool_of(workers)
    pool.update()
    workers.there = {}
    pool.update()
    assert pool.threads == 0
    monkeypatch.setattr(worker_pool, "_PATIENCE_S", 0.0)
    with pytest.raises(Unavailable, match="its workers were lost"):
        pool.update()
