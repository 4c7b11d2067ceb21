"""Uses the Docker engine and compose through their command lines."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from priolab.common import home
from priolab.common.errors import StepFailed, TimedOut, Unavailable
from priolab.common.process import processes
from priolab.common.process.processes import Process
from priolab.common.process.search_path import find
from priolab.common.timeouts import READY_S
from priolab.experiments.hosts.containers.image_sources import APART, IMAGE_SOURCES, image_folder
from priolab.experiments.hosts.experiment_hosts import run_label
from priolab.experiments.results import digest
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.setup.debian_tree import Root
from priolab.experiments.setup.programs import unknown

BASE = "debian:bookworm-slim"
ARM_TAG = "PRIOLAB_ARM_TAG"
ARM_COMPOSE = "PRIOLAB_ARM_COMPOSE"
_LABEL = "com.docker.compose"
_BUILD_S = 1800.0
_PROBE_S = 30.0
ANSWER_S = 120.0
_RETRY_S = 0.1
_IF_TOO_SLOW = "see whether the engine answers (`docker version`), and try again when this machine is less busy"
_START_S = 120.0

STEP_S = 60.0
"""The most seconds that a command in a container may take."""


def version(timeout_s: float = ANSWER_S) -> str:
    """Returns the engine's version. Raises StepFailed if no engine answers."""
    return docker("version", "--format", "{{.Server.Version}}", timeout_s=timeout_s)


def version_told() -> str:
    """Returns the engine's version, or after a time-out why it is unknown. Raises StepFailed if no engine answers."""
    try:
        return version()
    except TimedOut as error:
        return unknown(error.limit_s)


def answers() -> bool:
    """True if an engine answers."""
    try:
        version(_PROBE_S)
    except StepFailed:
        return False
    return True


def check() -> None:
    """Raises Unavailable if there is no engine on this machine, or no compose."""
    what = "FABRIC=compose"
    if find("docker") is None:
        raise Unavailable(what, "docker is not installed", "install docker.io and docker-compose")
    host = os.environ.get("DOCKER_HOST", "")
    if host and not host.startswith("unix:"):
        raise Unavailable(what, f"the engine at {host} cannot see this machine's files", "unset DOCKER_HOST")
    try:
        version(_PROBE_S)
    except TimedOut as error:
        raise Unavailable(what, f"the Docker engine did not answer within {_PROBE_S:g} s", _IF_TOO_SLOW) from error
    except StepFailed as error:
        if "permission denied" in error.reason:
            raise Unavailable(what, "you may not use the Docker engine", "join the group docker, or be root") from error
        at = f" at {host}" if host else ""
        raise Unavailable(
            what, f"no Docker engine answers{at}", "start the engine; `docker version` shows more"
        ) from error
    compose_command()


def docker(*words: str, timeout_s: float = ANSWER_S) -> str:
    """Runs `docker WORDS`, and returns its output. Raises StepFailed."""
    command = ["docker", *words]
    return processes.run(command, step="the Docker engine", timeout_s=timeout_s, if_too_slow=_IF_TOO_SLOW).strip()


@cache
def compose_command() -> tuple[str, ...]:
    """Returns the command of compose: the plugin of docker, or the older docker-compose. Raises Unavailable.

    The older one is not started to look for it, because its start takes a second of processor time. A job does not
    look for the command, but takes it from the environment variable PRIOLAB_ARM_COMPOSE.
    """
    if told := os.environ.get(ARM_COMPOSE):
        return tuple(told.split())
    reason, remedy = "neither `docker compose` nor docker-compose is installed", "install one of the two"
    try:
        processes.run(["docker", "compose", "version"], step="looking for compose", timeout_s=_PROBE_S)
    except TimedOut as error:
        reason, remedy = f"`docker compose version` took more than {error.limit_s:g} s", _IF_TOO_SLOW
    except StepFailed:
        pass
    else:
        return "docker", "compose"
    if find("docker-compose"):
        return ("docker-compose",)
    raise Unavailable("FABRIC=compose", reason, remedy)


@cache
def tag() -> str:
    """Returns the tag of the images, a digest of their sources and their base.

    A job does not compute the tag, but takes it from the environment variable PRIOLAB_ARM_TAG.
    """
    if told := os.environ.get(ARM_TAG):
        return told
    return digest.digest(home.ROOT, IMAGE_SOURCES, apart=APART, seed=base())[:12]


def base() -> str:
    """Returns the name of the base image: the value of the environment variable BASE, or the default."""
    return os.environ.get("BASE") or BASE


def images(server: str, root: Root | None = None) -> dict[str, str]:
    """Returns the name of each service's image.

    server: the front's server in the catalogue, by name. root: the root from which the front's image is made, if any.
    """
    return {
        "origin": f"priolab-origin:{tag()}",
        "front": f"priolab-front-{server}{root_suffix(root)}:{tag()}",
        "link": f"priolab-link:{tag()}",
        "client": f"priolab-client:{tag()}",
    }


def root_suffix(root: Root | None) -> str:
    """Returns the end of the name of the front's image; empty if the image is not made from a root."""
    return f"-{root.suite}-{root.digest}" if root else ""


def has_image(name: str) -> bool:
    """True if the engine has the image. Raises StepFailed if the engine cannot be asked."""
    try:
        docker("image", "inspect", name)
    except StepFailed as error:
        if "no such image" in error.reason.lower():
            return False
        raise
    return True


def present(names: Iterable[str]) -> dict[str, str]:
    """Returns the ids of those images that the engine has, by name and tag. Raises StepFailed if it cannot be asked."""
    filters = [word for name in names for word in ("--filter", f"reference={name}")]
    shown = docker("image", "ls", "--no-trunc", "--format", "{{.Repository}}:{{.Tag}} {{.ID}}", *filters)
    return dict(line.split() for line in shown.splitlines())


def gateway_mode() -> str:
    """Returns the gateway mode of networks through which the link can route. Docker 27 has no `nat-unprotected`."""
    return "nat" if version().startswith("27.") else "nat-unprotected"


def project_name(folder: RunFolder) -> str:
    """Returns the name of the run's compose project, in the characters that compose allows."""
    return "".join(letter if letter.isalnum() else "-" for letter in run_label(folder).lower())


class Project:
    """A compose project: services, containers and networks that carry the project's name."""

    def __init__(self, name: str, words: Mapping[str, str], override: Path | None = None) -> None:
        """words: values for compose.yaml's variables. override: a second compose file, which adds to compose.yaml."""
        self.name = name
        try:
            self._folder = image_folder(tag())
        except OSError as error:
            raise StepFailed("copying the sources of the images", str(error)) from error
        self._files = ["-f", str(self._folder / "compose.yaml"), *(["-f", str(override)] if override else [])]
        self._words = {"PRIOLAB_TAG": tag(), "BASE": base(), **words}

    def build(self, service: str) -> None:
        """Builds the service's image. Leaves no container behind, even on failure. Raises StepFailed."""
        self._compose("build", "--force-rm", service, step=f"building the image of the {service}", timeout_s=_BUILD_S)

    def create(self, *services: str) -> None:
        """Makes containers and networks, without starting a container. Raises StepFailed."""
        self._compose(
            "up", "--no-start", "--no-build", "--no-deps", *services, step="making containers", timeout_s=_START_S
        )

    def remove(self) -> None:
        """Removes the containers and networks of the project that exist so far. Raises StepFailed."""
        processes.run(["sh", "-c", removal(self.name)], step="removing containers", timeout_s=_START_S)

    def containers(self, *services: str) -> dict[str, str]:
        """Returns the ids of the services' containers, by service. Raises StepFailed."""
        own = f"label={_LABEL}.project={self.name}"
        shown = docker("ps", "--all", "--filter", own, "--format", f'{{{{.Label "{_LABEL}.service"}}}} {{{{.ID}}}}')
        found = dict(line.split() for line in shown.splitlines())
        for service in services:
            if service not in found:
                raise StepFailed("making containers", f"the service {service} has no container")
        return {service: found[service] for service in services}

    def attach(self, container: str, network: str, address: str) -> None:
        """Attaches a container to a network, unless it is attached already.

        docker-compose attaches a second network only when it starts the container.
        """
        name = f"{self.name}_{network}"
        attached = docker(
            "inspect", "--format", "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}", container
        )
        if name not in attached.split():
            docker("network", "connect", "--ip", address, name, container)

    def _compose(self, *words: str, step: str, timeout_s: float) -> None:
        environment = dict(os.environ) | self._words
        command = [*compose_command(), "--project-name", self.name, *self._files, *words]
        try:
            processes.run(
                command,
                step=step,
                timeout_s=timeout_s,
                environment=environment,
                if_too_slow=_IF_TOO_SLOW,
                folder=self._folder,  # compose reads variables from a file .env in its working directory
            )
        except StepFailed as error:
            # Compose prints all its steps before the reason, and the argument list is long.
            reason = error.reason.strip().splitlines()[-1]
            raise StepFailed(step, reason.removeprefix(" ".join(command)).strip()) from error


def removal(project: str) -> str:
    """Returns a shell script that removes all containers and networks of a project.

    The engine may still carry out an earlier request, so the script repeats until two checks in a row find nothing. It
    waits for an engine that does not answer. After 30 checks without success, a line of progress says what
    may be left.
    """
    own = f"--filter label={_LABEL}.project={project}"
    return f"""#!/bin/sh
quiet=0
tries=0
while [ $quiet -lt 2 ] && [ $tries -lt 30 ]; do
    tries=$((tries + 1))
    if containers=$(docker ps --all --quiet {own}) && networks=$(docker network ls --quiet {own}); then
        if [ -z "$containers$networks" ]; then
            quiet=$((quiet + 1))
            [ $quiet -eq 2 ] || sleep 0.3
            continue
        fi
        [ -z "$containers" ] || docker rm --force --volumes $containers
        [ -z "$networks" ] || docker network rm $networks
    else
        sleep 1
    fi
    quiet=0
done >/dev/null 2>&1
if [ $quiet -lt 2 ]; then
    echo "@ containers and networks may be left; see docker ps --all and docker network ls, each with {own}"
    exit 1
fi
"""


def runs(container: str) -> bool:
    """True if the container runs; False also if the engine does not say."""
    with suppress(StepFailed):
        return docker("inspect", "--format", "{{.State.Running}}", container) == "true"
    return False


def insist(attempt: Callable[[], str], process: Process, check_alive: Callable[[], None], log: Path | None) -> str:
    """Repeats `attempt`, a command in a container, until it succeeds; returns the output. Raises StepFailed.

    The first attempts may fail: the engine reports a container as running before the container can run a command.
    process: the container. check_alive: called after each failure; its exception ends the attempts. log: the log for
    the error; None for the log of the process.
    """
    end_s = time.monotonic() + READY_S
    while True:
        try:
            return attempt()
        except StepFailed as error:
            process.wait(_RETRY_S)
            check_alive()
            if time.monotonic() > end_s:
                raise StepFailed(process.name, error.reason, log or process.log) from error


def exec_in(container: str, command: Sequence[str]) -> list[str]:
    """Returns the argument list that runs a command in a container."""
    return ["docker", "exec", container, *command]
