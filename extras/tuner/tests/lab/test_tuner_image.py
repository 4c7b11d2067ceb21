"""The tuner's container image tunes a server in another container, with the manifest's options and rights."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from priolab.common.home import ROOT
from priolab.extras.tuner.program import NAME, built, version
from priolab.testbed.topology.cgroup import own_group
from tests.support.echo import talk
from tests.support.waiting import until

pytestmark = [pytest.mark.usefixtures("compose", "bpf"), pytest.mark.containers]

_EXAMPLES = ROOT / "docs/examples/tuner"
_IMAGE = f"{NAME}:{version()}"
_BASE = "debian:bookworm-slim"
_TUNED = 'connections_tuned_total{cgroup="/host/cgroup/tuner-image"} 1\n'
# Listens once a line has come, as then the process is in its cgroup.
_SERVER = """
import socket, sys
sys.stdin.readline()
with socket.create_server(("", 8443)) as listener:
    print("listening", flush=True)
    connection, _ = listener.accept()
    while data := connection.recv(65536):
        connection.sendall(data)
"""


def _docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Builds the image as the example says."""
    context = tmp_path_factory.mktemp("build")
    shutil.copy(built(), context)
    _docker("build", "--quiet", "--tag", _IMAGE, "--file", str(_EXAMPLES / "Dockerfile"), str(context))
    yield _IMAGE
    _docker("image", "rm", "--force", _IMAGE)


@contextmanager
def _serving(group: Path) -> Iterator[str]:
    """A server in a container, in the cgroup; yields its address."""
    name = f"priolab-{group.name}"
    command = ["docker", "run", "--rm", "--interactive", "--name", name, "--volume", "/usr:/usr:ro", _BASE]
    with subprocess.Popen(
        [*command, "/usr/bin/python3", "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            until(lambda: bool(_docker("ps", "--quiet", "--filter", f"name={name}")))
            (group / "cgroup.procs").write_text(_docker("inspect", "--format", "{{.State.Pid}}", name))
            process.stdin.write("listen\n")
            process.stdin.flush()
            assert process.stdout.readline() == "listening\n"
            yield _docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", name)
        finally:
            subprocess.run(["docker", "kill", name], capture_output=True, check=False)


def _rights(container: dict[str, Any]) -> set[str]:
    """Return the capabilities of the manifest without those that older engines do not know: SYS_ADMIN has them."""
    return {*container["securityContext"]["capabilities"]["add"]} - {"BPF", "PERFMON"}


def test_it_tunes_another_container(image: str, tmp_path: Path) -> None:
    """It tunes, writes metrics, and ends as it should."""
    manifest: dict[str, Any] = yaml.safe_load((_EXAMPLES / "envoy-daemonset.yaml").read_text())
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    with own_group("tuner-image") as group, _serving(group) as address:
        words = [each for each in container["args"] if not each.startswith("--cgroup=")]
        rights = [f"--cap-add={each}" for each in _rights(container)]
        confined = ["--cap-drop=ALL", *rights, "--read-only", "--security-opt=no-new-privileges", "--pid=host"]
        volumes = [f"--volume={group.parent}:/host/cgroup:ro", f"--volume={tmp_path}:/metrics"]
        command = ["run", "--detach", *confined, *volumes, image, *words, f"--cgroup=/host/cgroup/{group.name}"]
        tuner = _docker(*command)
        try:
            until(lambda: "tuning " in _docker("logs", tuner))
            with socket.create_connection((address, 8443)) as client:
                talk(client)
                metrics = tmp_path / "priority-tuner.prom"
                until(lambda: metrics.exists() and _TUNED in metrics.read_text(), limit_s=20)
            _docker("stop", tuner)
            assert _docker("inspect", "--format", "{{.State.ExitCode}}", tuner) == "0"
            assert _docker("logs", tuner).splitlines()[-1].startswith("stopped; connections given back")
        finally:
            _docker("rm", "--force", tuner)
