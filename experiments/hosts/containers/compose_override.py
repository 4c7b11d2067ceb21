"""The additions of a run to compose.yaml: environment variables that compose.yaml reads, and a second compose file."""

from pathlib import Path
from typing import Any

from priolab.common.tuning import NO_LIMIT
from priolab.experiments.hosts.containers import docker_engine, engine_kernel
from priolab.experiments.hosts.containers.mounts import INSIDE, SERVICES, TAPS, Mounts
from priolab.experiments.hosts.containers.user_files import image_server
from priolab.experiments.hosts.experiment_hosts import CAPTURES, FRONT_PORT
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.setup.debian_tree import root_at
from priolab.netem.link_options import LINK_OPTIONS
from priolab.proxy.certificate_files import certificates_in
from priolab.testbed import packet_capture


class ComposeOverride:
    """The variables and the second compose file of a run. user: the uid and gid of the services."""

    def __init__(self, spec: RunSpec, user: tuple[int, int], mounts: Mounts) -> None:
        self._spec = spec
        self._scenario = spec.scenario
        self._user = user
        self._mounts = mounts

    def words(self, near: str, far: str) -> dict[str, str]:
        """Returns the variables of compose.yaml.

        near, far: the first three bytes of the addresses of the client's network and of the front's network.
        """
        scenario, spec = self._scenario, self._spec
        _, sndbuf, most = engine_kernel.asked().wmem
        if scenario.sndbuf_bytes is not None:
            sndbuf, most = scenario.sndbuf_bytes, max(most, scenario.sndbuf_bytes)
        return {
            "SERVER": image_server(scenario.front),
            "PRIOLAB_ROOT": docker_engine.root_suffix(root_at(Path(spec.root)) if spec.root else None),
            "NATIVE": scenario.native,
            "BUFFERING": scenario.buffering,
            "RECORD": str(scenario.record_bytes or "stock"),
            "LOWAT": str(scenario.lowat_bytes or NO_LIMIT),
            "SNDBUF": str(sndbuf),
            "SNDBUF_MOST": str(most),
            "CC": scenario.congestion_control if self.cc_by_sysctl else "reno",
            "PAGE": str(INSIDE.page),
            "SIZE": str(scenario.whole_page.largest_bytes),
            **{name: spec.knobs[name] for name in LINK_OPTIONS},
            "SHAPER": spec.shaper or "auto",
            "SEED": str(spec.seed),
            "SAMPLE": "none" if spec.sampling is None else f"{spec.sampling.measured_ns}ns",
            "PRIOLAB_JOURNAL": str(INSIDE.link / "queue.jsonl"),
            "PRIOLAB_USER": "{}:{}".format(*self._user),
            "PRIOLAB_GATEWAY_MODE": docker_engine.gateway_mode(),
            "PRIOLAB_NEAR": near,
            "PRIOLAB_FAR": far,
        }

    @property
    def cc_by_sysctl(self) -> bool:
        """True if the sysctl of the front's container can set the congestion control."""
        return engine_kernel.asked().lets_choose(self._scenario.congestion_control)

    def document(self) -> dict[str, Any]:
        """Returns the content of the second compose file."""
        gauge_needs = ["NET_ADMIN"] if self._scenario.gso_segments or not self.cc_by_sysctl else []
        own: dict[str, dict[str, Any]] = {
            "origin": {"environment": {"ACCESS_LOG": str(INSIDE.origin / "access.jsonl")}},
            "front": {
                "command": ["python3", "-m", "priolab.proxy", str(INSIDE.asked / "front.json")],
                "environment": {**self._scenario.front.variables, "CA": str(certificates_in(INSIDE.asked).ca)},
            },
            "gauge": {"cap_add": gauge_needs},
            **{service: self._tap(place) for place, service in TAPS.items()},
        }
        # The lab itself checks once that each service is ready. Later health checks would disturb the measurement.
        common = {"healthcheck": {"interval": "24h"}}
        services = {
            service: common | {"volumes": self._mounts.volumes(service)} | own.get(service, {}) for service in SERVICES
        }
        return {"services": _literal(services)}

    def _tap(self, place: str) -> dict[str, Any]:
        file = INSIDE.wire / f"{CAPTURES[place]}.pcap"
        # In a rootless engine tcpdump is root, and sets root's groups.
        cap_add = ["SETGID"] if self._user == (0, 0) else []
        return {"command": packet_capture.command("tcpdump", "eth0", file, FRONT_PORT), "cap_add": cap_add}


def _literal(value: Any) -> Any:
    """Returns the document with every dollar sign doubled, because compose reads a single dollar sign as a variable."""
    if isinstance(value, dict):
        return {name: _literal(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_literal(each) for each in value]
    return value.replace("$", "$$") if isinstance(value, str) else value
