"""Bills of materials of the container images that experiments use."""

import json
from pathlib import Path

import pytest

from priolab.experiments.hosts.containers import docker_engine
from tests.support.schemas import bill_validator
from tools.bill import main

pytestmark = pytest.mark.usefixtures("compose")


def test_what_the_images_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each image gets a valid bill of materials, with the version of the package that the lab uses in the image."""
    assert main([str(tmp_path), "nginx"]) == 0
    images = {name.partition(":")[0]: name for name in docker_engine.images("nginx").values()}
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.cdx.json" for name in images}
    files = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("sbom: building ")]
    assert sorted(files) == sorted(f"sbom: {path}" for path in tmp_path.iterdir())
    packages = {
        "priolab-origin": "nodejs",
        "priolab-front-nginx": "nginx",
        "priolab-link": "iproute2",
        "priolab-client": "python3-h2",
    }
    for image, package in packages.items():
        text = (tmp_path / f"{image}.cdx.json").read_text()
        assert bill_validator().validate_str(text) is None
        bill = json.loads(text)
        run = ("run", "--rm", "--network", "none", "--entrypoint", "dpkg-query", images[image])
        version = docker_engine.docker(*run, "--show", "--showformat", "${Version}", package)
        assert version in [each["version"] for each in bill["components"] if each["name"] == package]
        assert bill["metadata"]["component"]["version"] == docker_engine.tag()


def test_a_server_that_there_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown server gives one line on standard error, and nothing is written."""
    assert main([str(tmp_path / "sbom"), "ngnix"]) == 2
    assert capsys.readouterr().err.startswith("sbom: SERVER=ngnix is not allowed; allowed: ")
    assert not (tmp_path / "sbom").exists()
