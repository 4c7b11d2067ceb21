"""The fabric `compose`: places are containers, the services of compose.yaml, on real clocks."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.process import processes
from priolab.experiments.hosts.containers import docker_engine, engine_kernel, image_packages
from priolab.experiments.hosts.containers.node_route import node_route
from priolab.experiments.hosts.containers.root_image import make_base, root_of_image
from priolab.experiments.hosts.containers.user_files import (
    image_server,
    mounted_program,
    program_inside,
    version_in_image,
)
from priolab.experiments.hosts.experiment_hosts import Hosts
from priolab.experiments.hosts.fabric import HostKernel
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.debian_tree import Root
from priolab.experiments.setup.installed import check_edition
from priolab.experiments.setup.programs import own_versions, root_versions
from priolab.experiments.setup.tools import FRONT, Tools
from priolab.netem import calibration
from priolab.netem.link import Qdisc
from priolab.netem.shaper import lack_of
from priolab.netem.shaper_kind import Shaper
from priolab.proxy.server import SUITES, server_of


class Compose(HostKernel):
    """The fabric `compose`: a compose project for each run.

    Containers are children of the Docker engine, not of the lab, so a separate program removes them after the run.
    """

    name = "compose"
    merit = "real clocks, in containers"
    virtual_clock = False
    runs_per_command = 1
    own_programs = True
    tolerance = calibration.REAL

    def check_usable(self, scenario: Scenario, shaper: Shaper | None) -> None:
        """Raises Unavailable without Docker or compose, or for what the containers cannot do.

        Only a container can tell what the engine's kernel has, so `prepare` checks it.
        """
        if shaper is not None and (lack := lack_of(shaper, scenario.link)):
            raise Unavailable(f"SHAPER={shaper} with FABRIC=compose", lack, "use SHAPER=auto")
        self.check_service(scenario)
        if scenario.client.is_browser:
            lack = "the client's image has no browser"
            raise Unavailable(f"CLIENT={scenario.client} with FABRIC=compose", lack, "use FABRIC=virtual or netns")
        if scenario.link.qdisc is not Qdisc.FIFO:
            untried = "the link's container makes no other queueing discipline than fifo"
            raise Unavailable(
                f"QDISC={scenario.link.qdisc} with FABRIC=compose", untried, "use FABRIC=virtual or netns"
            )
        if scenario.front_qdisc is not None:
            untried = "the front's container leaves its device without a queueing discipline"
            asked = f"FRONT_QDISC={scenario.front_qdisc} with FABRIC=compose"
            raise Unavailable(asked, untried, "use FABRIC=virtual or netns")
        if scenario.cross:
            lack = "the compose project has no service for cross traffic"
            raise Unavailable("CROSS with FABRIC=compose", lack, "use FABRIC=virtual or netns")
        if scenario.via is not None:
            lack = "the compose project has no service for a second front"
            raise Unavailable(f"VIA={scenario.via.server} with FABRIC=compose", lack, "use FABRIC=virtual or netns")
        docker_engine.check()
        server = server_of(scenario.server)
        check_edition(server)
        if not server.in_images:
            lack = "the images have packages of Debian only" if server.over_tcp else "the client's image has no QUIC"
            lack = lack if server.tls else "the front's container is asked over TLS whether it is ready"
            raise Unavailable(f"SERVER={scenario.server} with FABRIC=compose", lack, "use FABRIC=virtual or netns")

    def shapers(self) -> Sequence[tuple[Shaper, str | None]]:
        """Returns (netem, reason), then (ferry, None). reason: why the engine's kernel has no netem; None if it has."""
        return ((Shaper.NETEM, engine_kernel.no_netem()), (Shaper.FERRY, None))

    def kernel(self) -> str:
        """Returns the release of the engine's kernel."""
        return engine_kernel.asked().release

    def kernel_record(self) -> Mapping[str, Any]:
        """Returns run.json's entry for the engine's kernel: the release, and nothing else."""
        return {"release": self.kernel()}

    def tools(self, scenario: Scenario, *, capture: bool) -> Tools:
        """Returns the programs in the images."""
        server, root = scenario.front, root_of_image(scenario.front)
        images = docker_engine.images(image_server(server), root)
        own = mounted_program(scenario)
        packages = {"node": ("origin", "nodejs"), "h2": ("client", "python3-h2"), "iproute2": ("link", "iproute2")}
        if capture:
            packages["tcpdump"] = ("link", "tcpdump")
        if not own and not root:
            packages[server.name] = ("front", server.packages[0])
        with ThreadPoolExecutor() as pool:  # both may start containers
            looking = pool.submit(image_packages.versions, [(images[at], package) for at, package in packages.values()])
            routing = pool.submit(node_route, images["origin"])
            own_said = version_in_image(scenario, images["front"]) if own else ""
            found, route = dict(zip(packages, looking.result(), strict=True)), routing.result()
        said = own_said or (_of_root(root) if root else found[server.name])
        return Tools(
            programs={
                "node": "node",
                FRONT: program_inside(own) if own else server.program,
                **({"tcpdump": "tcpdump"} if capture else {}),
            },
            versions={
                **found,
                server.name: said,
                **own_versions(scenario, server, said),
                **root_versions(server, root),
            },
            node_route=route,
            root=str(root.path) if root else None,
        )

    def prepare(self, scenarios: Sequence[Scenario], shaper: Shaper | None, tell: Callable[[str], None]) -> None:
        """Builds the container images that do not exist yet, and asks in one what the engine's kernel has."""
        fronts = {(image_server(scenario.front), scenario.front.edition): scenario.front for scenario in scenarios}
        for (name, edition), server in fronts.items():
            base = make_base(server, tell) if edition in SUITES else {}
            wanted = docker_engine.images(name, root_of_image(server))
            present = docker_engine.present(wanted.values())
            for service, image in wanted.items():
                if image not in present:
                    on_base = base if service == "front" else {}
                    tell(f"building the image of the {service} from {on_base.get('BASE', docker_engine.base())}")
                    _build(service, {"SERVER": name, **on_base})
        engine_kernel.asked().check(scenarios, shaper)

    def command(self, runs: Sequence[tuple[Scenario, RunFolder]], scratch: Path) -> list[str]:
        """Returns the command of the job, which runs on the host and uses the engine.

        Also writes the program that removes the containers after the command.
        """
        ((_, folder),) = runs
        afterwards = scratch / "afterwards"
        afterwards.write_text(docker_engine.removal(docker_engine.project_name(folder)))
        afterwards.chmod(0o755)
        told = {
            "TMPDIR": str(scratch),
            docker_engine.ARM_TAG: docker_engine.tag(),
            docker_engine.ARM_COMPOSE: " ".join(docker_engine.compose_command()),
            engine_kernel.ARM_KERNEL: engine_kernel.asked().told(),
        }
        words = [f"{name}={value}" for name, value in told.items()]
        return ["env", *words, *processes.module("priolab.experiments.run.process"), str(folder.path)]

    def places(self, spec: RunSpec, folder: RunFolder) -> AbstractContextManager[Hosts]:
        """Returns the containers of a new compose project."""
        from priolab.experiments.hosts.containers.containers import Containers  # only the process of a run needs it

        return Containers(spec, folder)


def _of_root(root: Root) -> str:
    """Returns the version of the server's package in a root, as `image_packages.versions` does for an image."""
    name = server_of(root.server).packages[0]
    return next(f"{package.name} {package.version}" for package in root.packages if package.name == name)


def _build(service: str, words: Mapping[str, str]) -> None:
    """Builds the service's image. words: variables of compose.yaml."""
    try:
        docker_engine.Project("priolab", words).build(service)
    except StepFailed as error:
        if docker_engine.has_image(docker_engine.base()):
            raise
        remedy = "make an image with `make base-image`, or name an image with BASE=IMAGE"
        raise Unavailable("FABRIC=compose", f"the base image {docker_engine.base()} is unavailable", remedy) from error
