"""Tests of LOWAT=auto on machines where the tuner's BPF program cannot be used."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from priolab.common.errors import Unavailable
from priolab.common.tuning import TunerKind
from priolab.experiments.hosts.namespaces.front_tuner import FrontTuner, tuning
from priolab.experiments.scenario.knobs import scenario_from
from priolab.proxy.tuner import libbpf
from priolab.testbed.topology import cgroup
from priolab.testbed.topology.cgroup import group_of


@contextmanager
def _no_group(_: str) -> Iterator[Path]:
    raise OSError(1, "no cgroup2 can be mounted")
    yield


def test_without_a_cgroup(monkeypatch: pytest.MonkeyPatch) -> None:
    """The front does not start, and the error has the remedy."""
    monkeypatch.setattr(cgroup, "own_group", _no_group)
    said = "here: the front gets no cgroup: no cgroup2 can be mounted; run as root, use FABRIC=virtual"
    with pytest.raises(Unavailable, match=said), FrontTuner(TunerKind.BPF, "name").group():
        pass


def test_without_libbpf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names the missing library, and the remedies."""
    libbpf._library.cache_clear()
    monkeypatch.setattr(libbpf, "_LIBRARY", "libbpf.so.0.none")
    auto = scenario_from({"LOWAT": "auto"})
    said = "LOWAT=auto cannot be used here: libbpf.so.0.none is not installed; install libbpf1, use FABRIC=virtual"
    with pytest.raises(Unavailable, match=said), tuning(tmp_path, TunerKind.BPF, auto, tmp_path):
        pass


def test_the_cgroup_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cgroup is that of the unified hierarchy, wherever it is mounted."""
    files = {
        "/proc/self/mounts": "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
        "/proc/7/cgroup": "4:memory:/other\n1:name=systemd:/\n0::/front.scope\n",
    }
    monkeypatch.setattr(Path, "read_text", lambda file: files[str(file)])
    assert group_of(7) == Path("/sys/fs/cgroup/unified/front.scope")
    files["/proc/self/mounts"] = ""
    with pytest.raises(OSError, match="no cgroup2 is mounted"):
        group_of(7)
