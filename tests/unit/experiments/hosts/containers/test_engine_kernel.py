"""Tests of what containers tell of the engine's kernel, which may be another kernel than this machine's."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.process import processes
from priolab.experiments.hosts.containers import engine_kernel
from priolab.experiments.hosts.containers.compose import Compose
from priolab.experiments.hosts.containers.compose_override import ComposeOverride
from priolab.experiments.hosts.containers.mounts import Mounts
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.scenario.knobs import scenario_from, with_defaults
from priolab.netem.shaper_kind import Shaper
from tests.support.builders import maps

_WITHOUT_NETEM = "Error: Specified qdisc kind is unknown."


class _Engine:
    """An engine on a kernel that no machine has. told: the lines that its containers print."""

    def __init__(self) -> None:
        self.told = ["6.99-engine", "4096\t20000\t5000000", "reno cubic", "reno", "works"]
        self.images = True
        self.started = 0

    def run(self, command: Sequence[str], *, step: str, **_: Any) -> str:
        """Looks for the image, or runs a container."""
        if command[1] == "run":
            self.started += 1
            return "\n".join(self.told) + "\n"
        if not self.images:
            raise StepFailed(step, "Error: No such image: priolab-link")
        return ""


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Engine]:
    """Let an engine without containers answer."""
    engine = _Engine()
    monkeypatch.setattr(processes, "run", engine.run)
    engine_kernel.asked.cache_clear()
    yield engine
    engine_kernel.asked.cache_clear()


def test_the_engine_is_asked_once(engine: _Engine) -> None:
    """Records have the release of the engine's kernel, which one container tells."""
    assert Compose().kernel_record() == {"release": "6.99-engine"}
    assert Compose().kernel() == "6.99-engine"
    assert Compose().shapers()[0] == (Shaper.NETEM, None)
    assert engine.started == 1


@pytest.mark.parametrize(
    ("knobs", "shaper", "message"),
    [
        (
            {"CC": "bbr"},
            None,
            "CC=bbr cannot be used here: this kernel has not loaded the module for it; run `modprobe tcp_bbr`, .*",
        ),
        (
            {"CC": "reno"},
            Shaper.NETEM,
            "SHAPER=netem cannot be used here: this kernel has no sch_netem; use SHAPER=ferry, or FABRIC=virtual$",
        ),
    ],
)
def test_what_the_engines_kernel_lacks(
    engine: _Engine, knobs: dict[str, str], shaper: Shaper | None, message: str
) -> None:
    """A congestion control or netem that the engine's kernel lacks is refused, whatever this machine's kernel has."""
    engine.told[-1] = _WITHOUT_NETEM
    with pytest.raises(Unavailable, match=message):
        engine_kernel.asked().check([scenario_from(knobs)], shaper)


def test_a_kernel_that_tells_nothing(engine: _Engine) -> None:
    """If the container has no such files, no congestion control is refused before the run."""
    engine.told[2:4] = ["", ""]
    engine_kernel.asked().check([scenario_from({"CC": "bbr"})], Shaper.NETEM)
    assert engine_kernel.asked().lets_choose("bbr")


def test_before_the_images_are_built(engine: _Engine) -> None:
    """Without the link's image it is unknown if the kernel has netem."""
    engine.images = False
    assert (
        engine_kernel.no_netem()
        == "unknown if this kernel has sch_netem: the first experiment with FABRIC=compose finds out"
    )
    assert engine.started == 0


@pytest.mark.parametrize(
    ("knobs", "sysctls"),
    [
        ({"SNDBUF": "stock", "CC": "cubic"}, ["20000", "5000000", "reno"]),
        ({"SNDBUF": "6M", "CC": "reno"}, ["6291456", "6291456", "reno"]),
    ],
)
def test_a_job_takes_the_answers(
    engine: _Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, knobs: dict[str, str], sysctls: Sequence[str]
) -> None:
    """The sysctls of a run follow the engine's kernel, and the process of the run starts no container to know them."""
    monkeypatch.setenv(engine_kernel.ARM_KERNEL, engine_kernel.asked().told())
    engine_kernel.asked.cache_clear()
    spec = RunSpec(
        knobs=with_defaults(knobs),
        page=maps(),
        fabric="compose",
        shaper=None,
        seed=1,
        sample=None,
        load_deadline_ns=1,
        capture=False,
        programs={},
        versions={},
    )
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mounts = Mounts(RunFolder(tmp_path), (1, 1), spec.scenario)
    words = ComposeOverride(spec, (1, 1), mounts).words("198.18.2", "198.19.2")
    assert [words[name] for name in ("SNDBUF", "SNDBUF_MOST", "CC")] == sysctls
    assert engine.started == 1
