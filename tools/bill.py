"""Writes a software bill of materials (CycloneDX JSON) for each container image, from its dpkg and Python packages.

    python -m tools.bill FOLDER [SERVER,...]     writes FOLDER/IMAGE.cdx.json

Missing images are built first. The images hold no npm packages. The same image always gives the same file.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from priolab.common.errors import LabError, ScenarioError, StepFailed
from priolab.experiments.hosts.containers import docker_engine
from priolab.experiments.hosts.containers.compose import Compose
from priolab.experiments.scenario.knobs import scenario_from
from priolab.proxy.server import catalogue

_USUAL = "nginx"
_DPKG = ("dpkg-query", "--show", "--showformat", "${Package}\t${Version}\t${Architecture}\n")
_LIST = (
    "from importlib.metadata import distributions\n"
    "for each in distributions(): print(each.metadata['Name'], each.version, sep='\\t')"
)
_PYTHON = ("python3", "-c", _LIST)


@dataclass(frozen=True, kw_only=True)
class ContainerImage:
    """A container image and its packages.

    base: the image on which this image is built. system: the text of the image's /etc/os-release. dpkg, python: the
    image's Debian packages and Python packages, one per line. A line has name, version and for dpkg architecture,
    separated by tabs.
    """

    name: str
    id: str
    created: datetime
    base: str
    system: str
    dpkg: str
    python: str


def read(name: str) -> ContainerImage:
    """Lists the image's packages with the image's own programs, in a container without network. Raises StepFailed."""
    image_id, created = docker_engine.docker("image", "inspect", "--format", "{{.Id}} {{.Created}}", name).split()
    dpkg = _inside(name, _DPKG)
    has_python = any(line.startswith("python3\t") for line in dpkg.splitlines())
    return ContainerImage(
        name=name,
        id=image_id,
        created=datetime.fromisoformat(created),
        base=docker_engine.base(),
        system=_inside(name, ("cat", "/etc/os-release")),
        dpkg=dpkg,
        python=_inside(name, _PYTHON) if has_python else "",
    )


def _inside(image: str, command: Sequence[str]) -> str:
    program, *words = command
    return docker_engine.docker("run", "--rm", "--network", "none", "--entrypoint", program, image, *words)


def document(image: ContainerImage) -> str:
    """Returns the bill of materials as CycloneDX 1.6 JSON."""
    name, _, tag = image.name.partition(":")
    bom = Bom(serial_number=uuid5(NAMESPACE_OID, image.id), components=_components(image))
    bom.metadata.timestamp = image.created
    bom.metadata.component = root = Component(
        type=ComponentType.CONTAINER,
        name=name,
        version=tag,
        bom_ref=image.id,
        properties=[Property(name="image id", value=image.id), Property(name="built on", value=image.base)],
    )
    bom.register_dependency(root, bom.components)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _components(image: ContainerImage) -> Iterator[Component]:
    fields = dict(line.split("=", 1) for line in image.system.splitlines() if "=" in line)
    system = fields["ID"].strip('"')
    release = f"{system}-{fields.get('VERSION_ID', '').strip(chr(34))}".rstrip("-")
    for line in image.dpkg.splitlines():
        name, version, architecture = line.split("\t")
        qualifiers = {"arch": architecture, "distro": release}
        yield _component(name, PackageURL("deb", system, name, version, qualifiers))
    for line in dict.fromkeys(image.python.splitlines()):
        name, version = line.split("\t")
        yield _component(name, PackageURL("pypi", None, name, version))


def _component(name: str, url: PackageURL) -> Component:
    return Component(type=ComponentType.LIBRARY, name=name, version=url.version, purl=url, bom_ref=str(url))


def write(folder: Path, servers: Sequence[str]) -> list[Path]:
    """Writes a bill of materials for each image that experiments with these servers need. Raises LabError.

    Returns the files written.
    """
    scenarios = [scenario_from({"SERVER": server}) for server in servers]
    compose = Compose()
    for scenario in scenarios:
        compose.check_usable(scenario, None)
    compose.prepare(scenarios, None, lambda step: print(f"sbom: {step}", flush=True))
    names = dict.fromkeys(name for server in servers for name in docker_engine.images(server).values())
    bills = {name.partition(":")[0]: document(read(name)) for name in names}
    files = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in bills.items():
            file = folder / f"{name}.cdx.json"
            file.write_text(text)
            files.append(file)
    except OSError as error:
        raise StepFailed("writing the bill of materials", f"{error.filename}: {error.strerror}") from error
    return files


def main(arguments: Sequence[str]) -> int:
    """Writes the bills for FOLDER and SERVER of the command line; returns the exit code."""
    folder, words = Path(arguments[0]), arguments[1] if len(arguments) > 1 else _USUAL
    servers = [word.strip() for word in words.split(",")]
    try:
        if unknown := [server for server in servers if server not in catalogue()]:
            raise ScenarioError("SERVER", unknown[0], f"one of {', '.join(catalogue())}")
        for file in write(folder, servers):
            print(f"sbom: {file}")
    except LabError as error:
        print(f"sbom: {error}", file=sys.stderr)
        return 2 if isinstance(error, ScenarioError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
