"""Tests of Firefox's profile: whom the browser may reach, and which certificate it accepts."""

import hashlib
import json
import ssl
from pathlib import Path

import pytest

from priolab.client.firefox import profile
from priolab.common.formats.plan import Plan, read_plan
from priolab.proxy.certificates import issue

_FOLDER = Path(__file__).parents[1] / "browsers" / "recorded" / "firefox"
_END = "-----END CERTIFICATE-----\n"
_DECIDES = ("http2", "spdy", "priority", "max-connections", "max-persistent", "speculative", "window", "allowance")
"""Parts of the names of preferences that would change what the lab measures."""


@pytest.fixture
def plan() -> Plan:
    """Returns a plan."""
    return read_plan(_FOLDER / "plan.json")


def test_only_the_front_is_reached(plan: Plan) -> None:
    """Every name is the front's address, and all names but the front's go to a proxy on a port without a listener."""
    found = profile.preferences(plan)
    assert found["network.dns.forceResolve"] == plan.address
    assert (found["network.proxy.type"], found["network.proxy.no_proxies_on"]) == (1, plan.server_name)
    assert (found["network.proxy.ssl"], found["network.proxy.ssl_port"]) == ("127.0.0.1", 9)
    assert found["network.proxy.allow_bypass"] is False
    assert found["network.http.http3.enable"] is False


def test_nothing_that_is_measured_is_set(plan: Plan) -> None:
    """No preference concerns HTTP/2, its windows and priorities, or the number of connections."""
    assert not [name for name in profile.preferences(plan) if any(part in name for part in _DECIDES)]


def test_the_profile_accepts_one_certificate(plan: Plan, tmp_path: Path) -> None:
    """user.js has a line for each preference; cert_override.txt names host, port and the certificate's digest."""
    certificate = issue(tmp_path, plan.server_name, seed=1).chain
    profile.write(plan, certificate, tmp_path)
    lines = (tmp_path / "user.js").read_text().splitlines()
    read = dict(json.loads(f"[{line.removeprefix('user_pref(').removesuffix(');')}]") for line in lines)
    assert read == profile.preferences(plan)
    first = certificate.read_text().partition(_END)[0] + _END
    (line,) = [each for each in (tmp_path / "cert_override.txt").read_text().splitlines() if not each.startswith("#")]
    host, algorithm, digest, *_ = line.split("\t")
    assert host == f"{plan.server_name}:{plan.port}:"
    assert algorithm == "OID.2.16.840.1.101.3.4.2.1"
    assert bytes.fromhex(digest.replace(":", "")) == hashlib.sha256(ssl.PEM_cert_to_DER_cert(first)).digest()
