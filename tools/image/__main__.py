"""Makes the image of the lab, priolab/lab: `make image`. Docker needs the base image, as `make base-image` makes it.

The image has the lab's wheel, the Python packages that it needs, checked against the digests in constraints.txt, and on
x86-64 the guest kernel that is built here.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from priolab.common.errors import LabError
from priolab.common.home import ROOT
from priolab.experiments.hosts.containers import docker_engine
from priolab.testbed import kernel

NAME = "priolab/lab"
_DOCKERFILE = Path(__file__).with_name("Dockerfile")
_PYTHON = "3.11"  # that of Debian 12, of which the base image is
_PIP = (sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "-q")


def main() -> int:
    """Makes the image; returns the exit code of `docker build`, or 1 with a line if no engine can be used."""
    try:
        docker_engine.check()
    except LabError as error:
        print(f"image: {error}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="priolab-image-") as folder:
        _fill(Path(folder))
        base = ["--build-arg", f"BASE={os.environ['BASE']}"] if os.environ.get("BASE") else []
        command = ["docker", "build", *base, "--tag", NAME, "--file", str(_DOCKERFILE), folder]
        return subprocess.run(command, check=False).returncode


def _fill(context: Path) -> None:
    """Puts the wheels and the kernel into the folder of the build. Raises subprocess.CalledProcessError."""
    wheels = ("--dest", str(context / "wheels"), "--only-binary", ":all:", "--python-version", _PYTHON)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["figures"]]
    constraints = str(ROOT / "constraints.txt")
    subprocess.run([*_PIP, "download", *wheels, "--require-hashes", "-c", constraints, *needed], check=True)
    own = ("--no-deps", "--no-build-isolation", "--wheel-dir", str(context / "wheels"))
    subprocess.run([*_PIP, "wheel", *own, str(ROOT)], check=True)
    (context / "kernel").mkdir()
    if platform.machine() == "x86_64":
        file = kernel.build(lambda *_: None)
        for each in (file, file.with_name(f"{file.name}.json")):
            shutil.copy2(each, context / "kernel")


if __name__ == "__main__":
    sys.exit(main())
