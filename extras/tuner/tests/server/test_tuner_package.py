"""Tests of the tuner's package for Debian, and of the examples for operators."""

import importlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from priolab.common.cache_folder import cache_folder
from priolab.common.home import ROOT
from priolab.extras.tuner.debian_package import pack
from priolab.extras.tuner.program import LICENCES, SERVICE, built, version
from priolab.extras.tuner.tests.service import answered, verified
from tools.suites import tree as trees

pytestmark = pytest.mark.needs("go")

_EXAMPLES = ROOT / "docs/examples/tuner"
_LISTED = (
    r"find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/log/apt -o -path ./var/cache"
    r" -o -path ./var/lib/apt -o -name '*.log' \) -prune -o -print"
)
# $1: a bare file system, of which nothing is changed. $2: the package.
_INSTALL_AND_PURGE = f"""
set -e
mount -t tmpfs none /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay none -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
cp "$2" /mnt/root/tmp/tuner.deb
cd /mnt/root
mount -t proc none proc
{_LISTED} | sort >/mnt/before
apt="chroot . apt-get --yes --quiet --no-install-recommends -o APT::Sandbox::User=root"
$apt install /tmp/tuner.deb >/mnt/log 2>&1 || {{ cat /mnt/log; exit 1; }}
chroot . priority-tuner --version
chroot . priority-tuner check-config /etc/priority-tuner/priority-tuner.toml >/dev/null
chroot . dpkg --verify priority-tuner
mkdir -p var/log/priority-tuner
$apt purge priority-tuner >/mnt/log 2>&1 || {{ cat /mnt/log; exit 1; }}
{_LISTED} | sort >/mnt/after
diff /mnt/before /mnt/after
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package."""
    program = built()
    return pack(program, program.with_name(LICENCES).read_text(), tmp_path_factory.mktemp("package"))


def test_the_same_package_again(package: Path, tmp_path: Path) -> None:
    """Packing the same program again gives the same bytes."""
    program = built()
    again = pack(program, program.with_name(LICENCES).read_text(), tmp_path)
    assert (again.name, again.read_bytes()) == (package.name, package.read_bytes())


@pytest.mark.needs("lintian")
def test_lintian(package: Path) -> None:
    """Lintian finds no error and nothing to warn of."""
    command = ["lintian", "--allow-root", "--fail-on", "error,warning", str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.needs("bare-debian")
def test_installation_and_removal(package: Path) -> None:
    """The package installs in a bare Debian without a network, and removal leaves nothing."""
    if not any(cache_folder().glob("suites/*/bare")):
        trees.make_bare(trees.Tree(suite="trixie", folder=cache_folder() / "suites" / "trixie"))
    for tree in sorted(cache_folder().glob("suites/*/bare")):
        if "arm64" in tree.parent.name:
            continue
        command = [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "sh",
            "-c",
            _INSTALL_AND_PURGE,
            "-",
            str(tree),
            str(package),
        ]
        environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert (done.returncode, done.stdout) == (0, f"priority-tuner {version()}\n"), tree


def test_the_program_needs_nothing(tmp_path: Path) -> None:
    """The program runs in an empty file system, as in a container from scratch."""
    shutil.copy(built(), tmp_path / "priority-tuner")
    command = ["unshare", "--map-root-user", "--root", str(tmp_path), "/priority-tuner", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"priority-tuner {version()}\n"


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("drop_in", sorted(_EXAMPLES.glob("*.conf")), ids=lambda file: file.stem)
def test_an_example_for_systemd(drop_in: Path, tmp_path: Path) -> None:
    """systemd finds no error in the unit with the drop-in, and the tuner none in the options."""
    unit = tmp_path / "priority-tuner.service"
    for target, source in ((unit, SERVICE / unit.name), (tmp_path / f"{unit.name}.d" / drop_in.name, drop_in)):
        target.parent.mkdir(exist_ok=True)
        target.write_text(source.read_text().replace("/usr/sbin/priority-tuner", str(built())))
    verified(unit)
    for line in drop_in.read_text().splitlines():
        if line.startswith("ExecStart=/"):
            assert answered(*line.split()[1:], "--help")[0] == 0


def test_the_example_for_kubernetes() -> None:
    """The manifest's options are the tuner's, its capabilities those of the unit and of the drop-in for containers."""
    manifest: dict[str, Any] = yaml.safe_load((_EXAMPLES / "envoy-daemonset.yaml").read_text())
    spec = manifest["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert manifest["spec"]["selector"]["matchLabels"] == manifest["spec"]["template"]["metadata"]["labels"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}
    assert answered(*container["args"], "--help")[0] == 0
    texts = (SERVICE / "priority-tuner.service", _EXAMPLES / "containers.conf")
    lines = [line for text in texts for line in text.read_text().splitlines()]
    unit = [line.partition("=")[2].split() for line in lines if line.startswith("CapabilityBoundingSet=")]
    names = {name.removeprefix("CAP_") for each in unit for name in each}
    assert set(container["securityContext"]["capabilities"]["add"]) == names
    assert container["image"] == f"priority-tuner:{version()}"


@pytest.mark.needs("kubernetes_validate")
def test_the_example_is_valid_for_kubernetes() -> None:
    """The manifest follows the schema of Kubernetes, and has no unknown field."""
    schemas = importlib.import_module("kubernetes_validate")
    schemas.validate(yaml.safe_load((_EXAMPLES / "envoy-daemonset.yaml").read_text()), "1.37", strict=True)
