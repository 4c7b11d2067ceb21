"""Makes a profile of Firefox: its preferences, and the certificate that it accepts.

Rules:
1. The lab changes no preference that decides about priorities, flow-control windows or the number of connections.
2. Only the server's name is reached, at the plan's address. All other names go to a proxy that does not exist, so the
   browser's own services reach nobody. Most of these services are off as well.
3. The browser accepts the front's certificate, and no other certificate that the usual authorities did not sign.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from priolab.common.formats.plan import Plan

_DEAD_PORT = 9
_SHA256_OID = "OID.2.16.840.1.101.3.4.2.1"

Preference = bool | int | str


def preferences(plan: Plan) -> Mapping[str, Preference]:
    """Returns the preferences that the lab sets, by name."""
    return {
        # Names: the server's is the plan's address, every other one goes to a port where nobody listens.
        "network.dns.forceResolve": plan.address,
        "network.dns.disableIPv6": True,
        "network.dns.native_https_query": False,
        "network.trr.mode": 5,
        "network.proxy.type": 1,
        "network.proxy.http": "127.0.0.1",
        "network.proxy.http_port": _DEAD_PORT,
        "network.proxy.ssl": "127.0.0.1",
        "network.proxy.ssl_port": _DEAD_PORT,
        "network.proxy.no_proxies_on": plan.server_name,
        "network.proxy.failover_direct": False,
        "network.proxy.allow_bypass": False,
        # HTTP/2 over TCP, without a cache
        "network.http.http3.enable": False,
        "browser.cache.disk.enable": False,
        "browser.cache.memory.enable": False,
        # no services
        "app.normandy.enabled": False,
        "app.update.enabled": False,
        "app.update.disabledForTesting": True,
        "app.shield.optoutstudies.enabled": False,
        "browser.aboutwelcome.enabled": False,
        "browser.contentblocking.introCount": 99,
        "browser.newtabpage.enabled": False,
        "browser.pagethumbnails.capturing_disabled": True,
        "browser.region.network.url": "",
        "browser.region.update.enabled": False,
        "browser.safebrowsing.blockedURIs.enabled": False,
        "browser.safebrowsing.downloads.enabled": False,
        "browser.safebrowsing.malware.enabled": False,
        "browser.safebrowsing.phishing.enabled": False,
        "browser.safebrowsing.update.enabled": False,
        "browser.search.update": False,
        "browser.sessionstore.resume_from_crash": False,
        "browser.shell.checkDefaultBrowser": False,
        "browser.startup.homepage_override.mstone": "ignore",
        "browser.startup.page": 0,
        "browser.topsites.contile.enabled": False,
        "captivedetect.canonicalURL": "",
        "datareporting.healthreport.uploadEnabled": False,
        "datareporting.policy.dataSubmissionEnabled": False,
        "dom.push.connection.enabled": False,
        "extensions.getAddons.cache.enabled": False,
        "extensions.systemAddon.update.enabled": False,
        "extensions.update.enabled": False,
        "geo.provider.network.url": "",
        "media.gmp-manager.updateEnabled": False,
        "media.gmp-provider.enabled": False,
        "network.captive-portal-service.enabled": False,
        "network.connectivity-service.enabled": False,
        "security.OCSP.enabled": 0,
        "security.remote_settings.crlite_filters.enabled": False,
        "security.remote_settings.intermediates.enabled": False,
        "services.settings.server": "data:,#remote-settings-dummy/v1",
        "toolkit.telemetry.enabled": False,
        "toolkit.telemetry.server": "",
        "toolkit.telemetry.unified": False,
        # no graphics processor
        "gfx.webrender.software": True,
        "layers.acceleration.disabled": True,
    }


def write(plan: Plan, certificate: Path, folder: Path) -> None:
    """Writes a profile into a folder. certificate: the front's certificate file (PEM). Raises OSError."""
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences(plan).items())
    (folder / "user.js").write_text("\n".join(lines) + "\n")
    (folder / "cert_override.txt").write_text(_accepted(plan, certificate))


def _accepted(plan: Plan, certificate: Path) -> str:
    """Returns the content of cert_override.txt: host, the digest's algorithm, and the certificate's digest."""
    digest = x509.load_pem_x509_certificate(certificate.read_bytes()).fingerprint(hashes.SHA256())
    pairs = ":".join(f"{byte:02X}" for byte in digest)
    return (
        "# PSM Certificate Override Settings file\n# This is a generated file!  Do not edit.\n"
        f"{plan.server_name}:{plan.port}:\t{_SHA256_OID}\t{pairs}\t\n"
    )
