"""Versions of Debian packages in images.

A look-up runs a container, which takes a fifth of a second of processor time. An image with the same id has the same
packages, so the user's cache keeps the versions by image id.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from priolab.common.cache import recall, remember
from priolab.common.errors import TimedOut
from priolab.experiments.hosts.containers import docker_engine
from priolab.experiments.setup.programs import unknown

_FILE = "image-packages.json"


def versions(wanted: Sequence[tuple[str, str]]) -> list[str]:
    """Returns name and version of each package, or the reason why the version is unknown. Raises StepFailed.

    wanted: images by name and tag, each with the name of a package in the image.
    """
    ids: dict[str, str] = {}
    with suppress(TimedOut):
        ids = docker_engine.present([image for image, _ in wanted])
    asked = [(ids.get(image, image), package) for image, package in wanted]
    keys = [" ".join(each) for each in asked]
    known = {key: text for key, text in recall(_FILE).items() if isinstance(text, str)}
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda key, each: known.get(key) or _look_up(*each), keys, asked))
    named = {key: text for key, (image, _), text in zip(keys, wanted, found, strict=True) if text and image in ids}
    if named.items() - known.items():
        remember(_FILE, named)
    return [text or unknown(docker_engine.ANSWER_S) for text in found]


def _look_up(image: str, package: str) -> str | None:
    """Returns the package's name and version; None if the engine does not answer in time. Raises StepFailed."""
    command = ["run", "--rm", "--network", "none", "--entrypoint", "dpkg-query", image]
    try:
        return docker_engine.docker(*command, "--show", "--showformat", "${Package} ${Version}", package)
    except TimedOut:
        return None  # no run depends on the version
