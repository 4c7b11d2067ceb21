"""Short experiments in containers, in real time: their verdicts, and that nothing is left."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import load_run
from priolab.common.descriptors import with_descendants
from priolab.common.formats.decisions import Decision
from priolab.common.formats.reading import read_journal
from priolab.common.running import finished
from priolab.experiments.hosts.containers import docker_engine
from priolab.experiments.hosts.containers.compose import Compose
from priolab.experiments.hosts.containers.root_image import root_of_image
from priolab.experiments.hosts.containers.user_files import image_server
from priolab.experiments.scenario.knobs import scenario_from
from tests.lab.first_bytes import SMALLEST_REQUEST_BYTES, compare
from tests.lab.wireshark import OUT_OF_ORDER
from tests.support.capabilities import present
from tests.support.endings import words_of
from tests.support.lab import Done, Lab, make_lab
from tests.support.punctuality import until_punctual
from tests.support.tuner.law import follows
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("compose")

_ONCE = ("FABRIC=compose", "DELAY=100ms", "RELOADS=0")
_AGAIN = ("FABRIC=compose", "DELAY=100ms", "RELOADS=1")
"""A single reload, because on a slow machine processes are late with everything that they do for the first time."""

_PROJECT = "label=com.docker.compose.project"
_END_S = 60.0
_REAL_NS = 2 * 10**6


def _docker(*words: str) -> list[str]:
    return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=60, check=True).stdout.split()


def _left() -> list[str]:
    """Returns the ids of the containers and networks of experiments."""
    containers = _docker("ps", "--all", "--quiet", "--filter", "name=priolab-", "--filter", _PROJECT)
    return containers + _docker("network", "ls", "--quiet", "--filter", "name=priolab-", "--filter", _PROJECT)


@pytest.fixture(autouse=True)
def _nothing_before() -> Iterator[None]:
    """Checks after each test that the test left no container and no network."""
    before = set(_left())
    yield
    assert set(_left()) <= before


def _container(lab: Lab, service: str) -> str:
    """Returns the id of a service's container in the experiment that the lab runs."""
    (experiment,) = lab.results.glob("*.partial")
    own = f"name=priolab-{experiment.stem}-"
    (found,) = _docker("ps", "--quiet", "--filter", own, "--filter", f"label=com.docker.compose.service={service}")
    return found


def _maps(lab: Lab) -> Done:
    """Runs the Maps case on a faster link with a rate step and captures."""
    return lab.run_on_time(*_AGAIN, "RATE=512kbps", "RATE_STEPS=1024kbps@2s", "LOWAT=131072", "CAPTURE=yes")


@pytest.mark.parametrize("server", ["nginx", "h2o", pytest.param("nginx@trixie", marks=pytest.mark.release)])
def test_an_image_is_built_once(server: str) -> None:
    """Missing images are built, and are found the next time."""
    fabric, scenario = Compose(), scenario_from({"SERVER": server})
    fabric.prepare([scenario], None, print)
    said: list[str] = []
    fabric.prepare([scenario], None, said.append)
    assert said == []
    names = docker_engine.images(image_server(scenario.front), root_of_image(scenario.front)).values()
    present = docker_engine.present(names)
    assert present.keys() == set(names)
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", image_id) for image_id in present.values())


@pytest.fixture(scope="module")
def nginx(captures: None, tmp_path_factory: pytest.TempPathFactory) -> Done:  # noqa: ARG001
    """Returns a run of the Maps case, made once."""
    return _maps(make_lab(tmp_path_factory.mktemp("nginx")))


@pytest.mark.punctual
def test_nginx(nginx: Done) -> None:
    """Without LOWAT the order is inverted; with LOWAT=131072 it is kept, as in every other fabric."""
    assert nginx.code == 0, nginx.trouble
    assert nginx.arm("control")["verdict"] == "inverted"
    assert nginx.arm("lowat-131072")["verdict"] == "kept"
    assert nginx.arm("lowat-131072")["image_bytes_before_script"] < nginx.arm("control")["image_bytes_before_script"]


@pytest.mark.punctual
def test_h2o(lab: Lab) -> None:
    """h2o shares by weight: with LOWAT=16384 a large script begins early enough to end before the image.

    With RATE_UP=128kbit the document's headers come later, at least by the transmission of the smallest request.
    """
    words = ("RATE=512kbps", "RATE_UP=128kbit", "SIZE=1400000", "LOWAT=16384", "SERVER=h2o", "GSO=2")
    done = lab.run_on_time(*_ONCE, *words)
    assert done.code == 0, done.trouble
    assert done.arm("control")["verdict"] == "inverted"
    treatment = done.arm("lowat-16384")
    assert treatment["verdict"] == "kept"
    assert treatment["observed"]["gso_segments"] == 2
    assert done.folder is not None
    page = measured_load(load_run(done.folder / "lowat-16384.1").evidence()).resources["page"]
    assert page.headers_ns - page.requested_ns > 100 * 10**6 + SMALLEST_REQUEST_BYTES * 8 * 10**9 // 128_000


@pytest.mark.punctual
def test_a_suites_server(lab: Lab) -> None:
    """The front's image is made from a root, and run.json names the root's packages."""
    done = lab.run_on_time(*_AGAIN, "RATE=512kbps", "SERVER=nginx@trixie", "CONTROL=no", "LOWAT=131072")
    assert done.code == 0, done.trouble
    assert done.folder is not None
    assert done.arm("lowat-131072")["verdict"] == "kept"
    root = json.loads((done.folder / "lowat-131072.1" / "run.json").read_text())["front"]["root"]
    assert root["version"].startswith("nginx version: nginx/1.26")
    assert {"nginx", "libc6", "python3-h2"} <= {package["name"] for package in root["packages"]}
    environment = json.loads((done.folder / "lowat-131072.1" / "env.json").read_text())
    assert environment["versions"]["nginx@trixie"].startswith("nginx 1.26")


@pytest.mark.punctual
def test_every_factor_is_read_back(nginx: Done) -> None:
    """LOWAT, send buffer and congestion control are read from the running front, and the link is measured."""
    observed = nginx.arm("lowat-131072")["observed"]
    assert observed["lowat"] == 131_072
    assert observed["socket_lowat"] == [0]
    assert observed["sndbuf_bytes"] >= 4 * 2**20
    assert observed["congestion_control"] == "cubic"
    assert observed["shaper"] in ("netem", "ferry")
    assert observed["rate_bit_s"] == pytest.approx(4_096_000, rel=0.05)
    assert observed["queue_packets"] == pytest.approx(25, abs=1)
    (step,) = observed["rate_steps"]
    assert (step["at_ns"], step["rate_bit_s"], step["reason"]) == (2 * 10**9, 8_192_000, None)


@pytest.mark.punctual
def test_the_front_is_counted_from_outside(nginx: Done) -> None:
    """This machine's kernel counts the front's wake-ups and calls, and the gauge's samples have its bytes."""
    control, treatment = (nginx.arm(name)["loads"][-1]["cost"] for name in ("control", "lowat-131072"))
    assert 0 < control["wakeups"] < treatment["wakeups"]
    for cost in (control, treatment):
        sizes = [each["size_bytes"] for each in nginx.arm("control")["resources"].values()]
        assert cost["handed_bytes"] == pytest.approx(sum(sizes), rel=0.1)
        assert cost["cpu_ns"] > 0
        counted = [cost[count] is not None and cost[count] > 0 for count in ("read_calls", "write_calls")]
        assert counted == [present("bpf")] * 2
        assert set(cost["reasons"]) == (set() if present("bpf") else {"read_calls", "write_calls"})


@pytest.mark.punctual
@pytest.mark.usefixtures("bpf")
def test_the_tuner_is_attached_to_the_fronts_container(lab: Lab) -> None:
    """With LOWAT=auto this machine's kernel tunes the connections of the front's network namespace."""
    done = lab.run_on_time("FABRIC=compose", "LOWAT=auto", "RATE=10mbit", "DELAY=20ms", "RELOADS=0", "CONTROL=no")
    assert done.folder is not None, done.err
    assert done.arm("lowat-auto")["observed"]["tuner"] == "bpf"
    decisions = read_journal(done.folder / "lowat-auto.1/front/lowat.jsonl", Decision)
    assert all(map(follows, decisions))
    assert {decision.peer.rpartition(".")[2] for decision in decisions} == {"3"}
    assert len({decision.peer for decision in decisions}) == 1


@pytest.mark.punctual
def test_the_run_folder_is_the_users_and_complete(nginx: Done) -> None:
    """The run folder has the files of every fabric and compose.json, and the user owns all files."""
    assert nginx.folder is not None
    run = nginx.folder / "lowat-131072.1"
    for name in (
        "run.json",
        "env.json",
        "asked/compose.json",
        "asked/nginx.conf",
        "client/events.jsonl",
        "client/keys.log",
        "front/sockets.jsonl",
        "front/error.log",
        "origin/access.jsonl",
        "link/calibration.json",
        "link/counters.json",
    ):
        assert (run / name).stat().st_size > 0, name
    assert {path.lstat().st_uid for path in nginx.folder.rglob("*")} == {os.geteuid()}
    environment = json.loads((run / "env.json").read_text())
    assert set(environment["images"]) == {"origin", "front", "link", "client"}
    assert environment["versions"]["nginx"].startswith("nginx 1.22.")
    for reader in (environment["clock"]["python"], environment["clock"]["node"]):
        assert reader["reads"] in ("vdso", "system call"), reader["reasons"]
        assert reader["resolution_ns"] <= nginx.arm("lowat-131072")["observed"]["clock_resolution_ns"]
    assert nginx.arm("lowat-131072")["instruments"]["client"]["ns_per_event"] > 0


@pytest.mark.punctual
def test_first_bytes_are_those_of_the_captures(nginx: Done, lab: Lab) -> None:
    """In one of the arms the client's events and its capture agree on the times of first bytes within 2 ms.

    In the other arm a machine that is busy for a moment may make the client late. In both arms the bytes left the front
    at least the link's delay earlier.
    """
    made = [nginx]

    def late_ns() -> int:
        folder = (made.pop() if made else _maps(lab)).folder
        assert folder is not None
        worst_ns = []
        for arm in ("control.1", "lowat-131072.1"):
            compared = compare(folder / arm, OUT_OF_ORDER).values()
            assert all(each.lead_ns >= 100 * 10**6 for each in compared)
            worst_ns.append(max(abs(each.late_ns) for each in compared))
        return min(worst_ns)

    assert until_punctual(late_ns, lambda found_ns: found_ns > _REAL_NS) <= _REAL_NS


def _until_loading(lab: Lab, *words: str) -> subprocess.Popen[str]:
    command = lab.command(*_ONCE, "RATE=1mbit", "SIZE=8M", "CONTROL=no", *words)
    running = subprocess.Popen(command, env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    said = []
    for line in running.stdout:
        if "load 1 of 1" in line:
            return running
        said.append(line)
    raise AssertionError("".join([*said, running.communicate()[1]]))


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ("front", "the front (nginx)"),
        pytest.param("link", "the link", marks=pytest.mark.release),
        pytest.param("gauge", "the gauge", marks=pytest.mark.release),
    ],
)
def test_a_killed_container_is_the_reason(lab: Lab, part: str, named: str) -> None:
    """If a container is killed, the run fails and names the container's part, long before the load's deadline."""
    running = _until_loading(lab)
    _docker("kill", "--signal", "KILL", _container(lab, part))
    running.communicate(timeout=_END_S)
    _failed(lab.latest(), named, "SIGKILL")


@pytest.mark.release
def test_a_killed_client_is_the_reason(lab: Lab) -> None:
    """If the client's process in its container is killed, the run fails and names the client."""
    running = _until_loading(lab)
    client = _process(lab, "client", "python3 -P -m priolab.client ")
    assert b"TZ=UTC" in Path(f"/proc/{client}/environ").read_bytes().split(b"\0")
    os.kill(client, signal.SIGKILL)
    running.communicate(timeout=_END_S)
    _failed(lab.latest(), "the client", "SIGKILL")


def test_a_killed_worker_is_the_fronts_end(lab: Lab) -> None:
    """If nginx's worker is killed, the run names the front, not the client's broken connection or the gauge."""
    running = _until_loading(lab)
    time.sleep(1.5)  # until the gauge has sampled the worker's socket
    worker = _process(lab, "front", "nginx: worker process")
    os.kill(worker, signal.SIGKILL)
    running.communicate(timeout=_END_S)
    _failed(lab.latest(), "the front (nginx)", "has lost the process that served the client")


@pytest.mark.release
def test_a_killed_keeper_leaves_nothing(lab: Lab) -> None:
    """If the supervisor is killed, the run fails, and the lab itself removes what the supervisor would have removed."""
    running = _until_loading(lab)
    (supervisor,) = (pid for pid in with_descendants(running.pid) if "supervisor.py" in words_of(pid))
    os.kill(supervisor, signal.SIGKILL)
    running.communicate(timeout=_END_S)
    _failed(lab.latest(), "without an outcome")
    assert _left() == []
    assert list(lab.temporary.iterdir()) == []


def _process(lab: Lab, part: str, name: str) -> int:
    """Returns the id, as this machine numbers it, of the process with this name in a container."""
    top = subprocess.run(["docker", "top", _container(lab, part), "-eo", "pid,args"], capture_output=True, text=True)
    (line,) = (line for line in top.stdout.splitlines() if name in line)
    return int(line.split()[0])


def _failed(done: Done, *words: str) -> None:
    assert done.summary is not None
    (arm,) = done.summary["arms"]
    assert arm["status"] == "failed"
    for word in words:
        assert word in arm["reason"]


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.release), signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing(lab: Lab, number: signal.Signals) -> None:
    """A signal leaves no container, network, process or temporary file; SIGKILL leaves the partial folder."""
    running = _until_loading(lab)
    running.send_signal(number)
    running.communicate(timeout=_END_S)
    assert running.returncode == (-number if number == signal.SIGKILL else 128 + number)
    until(lambda: not (lab.processes() or _left() or any(lab.temporary.iterdir())), limit_s=_END_S)
    assert len(list(lab.results.glob("*.partial"))) == (number == signal.SIGKILL)


def test_an_interrupt_while_the_places_are_made(lab: Lab) -> None:
    """An interrupt while the engine makes the containers leaves no container and no temporary file."""
    for pause_s in (0.5, 1.5):
        command = lab.command(*_ONCE, "CONTROL=no")
        running = subprocess.Popen(
            command, env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert running.stdout is not None
        for line in running.stdout:
            if "places" in line:
                break
        time.sleep(pause_s)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=_END_S)
        assert running.returncode == 128 + signal.SIGINT
        assert _left() == []
        assert list(lab.temporary.iterdir()) == []


def test_a_build_that_fails_leaves_no_container(lab: Lab) -> None:
    """If building an image fails, the error names the image, and the builder's containers are removed."""
    base = "priolab-test-base:1"
    recipe = "FROM debian:bookworm-slim\nRUN rm /usr/bin/apt-get\n"
    subprocess.run(["docker", "build", "--quiet", "--tag", base, "-"], input=recipe.encode(), check=True, timeout=60)
    try:
        done = finished(lab.command(*_ONCE), 120, environment=lab.environment | {"BASE": base})
        assert done.code == 1
        assert "building the image of the origin" in done.errors
        assert _docker("ps", "--all", "--quiet", "--filter", f"ancestor={base}") == []
    finally:
        _docker("image", "rm", base)
