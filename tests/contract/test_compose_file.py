"""compose.yaml: its services, their privileges and networks, and defaults that agree with the knobs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from priolab.experiments.hosts.containers.mounts import TAPS
from priolab.experiments.scenario.knobs import KNOBS
from priolab.netem.link_options import LINK_OPTIONS
from priolab.proxy.server import catalogue
from tools import knob_tables

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "compose.yaml").read_text()
DOCUMENT = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = DOCUMENT["services"]


def test_the_places_are_there() -> None:
    """The services are client, link, front, origin, door, gauge, and taps that capture packets at client and front."""
    assert set(SERVICES) == {"origin", "front", "link", "client", "door", "gauge", *TAPS.values()}


@pytest.mark.parametrize("name", SERVICES)
def test_nobody_has_more_than_is_needed(name: str) -> None:
    """No service is root or has a writable root file system; only link, gauge and taps have capabilities."""
    service = SERVICES[name]
    granted = {
        "link": ["NET_ADMIN", "NET_RAW", "SYS_NICE"],
        "gauge": ["SYS_PTRACE"],
        **{tap: ["NET_RAW"] for tap in TAPS.values()},
    }
    assert service.get("cap_add", []) == granted.get(name, [])
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert service["user"] == "${PRIOLAB_USER:-65534:65534}"
    assert "privileged" not in service
    assert "devices" not in service
    assert service["security_opt"] == ([] if name in granted else ["no-new-privileges:true"])


def test_one_port_is_published_on_loopback() -> None:
    """The only published port is the door's, on 127.0.0.1."""
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports == {"door": ["127.0.0.1:${DEMO_PORT:-8443}:8443"]}


def test_nothing_bypasses_the_link() -> None:
    """Only the link is on both networks, and the default gateway of both is an address of the link."""
    on = {name: set(service.get("networks", {})) for name, service in SERVICES.items()}
    assert on == {
        "origin": {"far"},
        "front": {"far"},
        "link": {"near", "far"},
        "door": {"near"},
        "client": {"near"},
        "gauge": set(),
        **{tap: set() for tap in TAPS.values()},
    }
    assert SERVICES["gauge"]["network_mode"] == "service:front"
    for place, tap in TAPS.items():
        assert SERVICES[tap]["network_mode"] == f"service:{place}"
    for network, gateway in (("near", "NEAR_GATEWAY"), ("far", "FAR_GATEWAY")):
        (config,) = DOCUMENT["networks"][network]["ipam"]["config"]
        assert config["aux_addresses"]["DefaultGatewayIPv4"] == SERVICES["link"]["environment"][gateway]
        assert re.fullmatch(r"\$\{PRIOLAB_\w+:-198\.1[89]\.\d+\}\.0/24", config["subnet"])


@pytest.mark.parametrize("name", ["origin", "front", "link"])
def test_health_is_a_real_request(name: str) -> None:
    """The health checks of origin, front and link run a program of the lab."""
    kind, *command = SERVICES[name]["healthcheck"]["test"]
    assert kind == "CMD"
    assert command[-1] in ("ready.mjs", "priolab.proxy.readiness", "priolab.netem.counters")


def test_the_link_has_the_knobs_defaults() -> None:
    """The link's environment has RATE and the other knobs of the link, with the same defaults as the command line."""
    assert knob_tables.services(TEXT) == TEXT, "make knobs"
    environment = SERVICES["link"]["environment"]
    for name in LINK_OPTIONS:
        assert environment[name] == f"${{{name}:-{KNOBS[name].default}}}"


def test_the_front_has_the_knobs_as_sysctls() -> None:
    """LOWAT, send buffer and congestion control are sysctls of the front's network namespace."""
    sysctls = SERVICES["front"]["sysctls"]
    assert sysctls["net.ipv4.tcp_notsent_lowat"] == "${LOWAT:-4294967295}"
    assert sysctls["net.ipv4.tcp_wmem"] == "4096 ${SNDBUF:-4194304} ${SNDBUF_MOST:-4194304}"
    assert sysctls["net.ipv4.tcp_congestion_control"] == f"${{CC:-{KNOBS['CC'].default}}}"


def test_images_are_the_distributions_and_pinned() -> None:
    """Every image is built on BASE alone, and the front's Dockerfile names no server other than the default."""
    files = {service["build"]["dockerfile"] for service in SERVICES.values() if "build" in service}
    assert files == {f"{folder}/Dockerfile" for folder in ("backend", "proxy", "netem", "client")}
    for file in files:
        text = (ROOT / file).read_text()
        assert "ARG BASE=debian:bookworm-slim\nFROM ${BASE}\n" in text
        assert re.findall(r"^FROM .*$", text, re.MULTILINE) == ["FROM ${BASE}"]
        assert re.search(r"^ENV (.* )?TZ=UTC( |$)", text, re.MULTILINE), (
            "without TZ the local time is looked up in files"
        )
    front = (ROOT / "proxy/Dockerfile").read_text()
    assert front.count("${SERVER}/server.toml") == 2
    default = KNOBS["SERVER"].default
    named = [name for name in catalogue() if name in front.replace(f"ARG SERVER={default}\n", "")]
    assert named == []
