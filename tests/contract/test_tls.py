"""The TLS of the lab's clients does not depend on the choices with which a distribution builds Python."""

import ssl
from contextlib import suppress
from pathlib import Path
from unittest import mock

from priolab.common.tls import trusting
from priolab.proxy.certificates import issue

_DEBIANS = "DEFAULT:@SECLEVEL=2"
"""Debian builds Python with OpenSSL's own list of ciphers, and without a lowest version of TLS."""


def _offer(ca_file: Path) -> tuple[int, int, list[str]]:
    """Return the size in bytes of a ClientHello of a client that trusts this CA, its lowest version, its ciphers."""
    context, sent = trusting(ca_file), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="maps.test").do_handshake()
    return len(sent.read()), context.minimum_version, [cipher["name"] for cipher in context.get_ciphers()]


def test_the_client_hello_does_not_depend_on_pythons_build(tmp_path: Path) -> None:
    """A Python that is built as Debian builds it has a ClientHello of the same size, versions, ciphers."""
    ca_file = issue(tmp_path, "maps.test", seed=1).ca
    usual = _offer(ca_file)
    made = ssl.create_default_context

    def debians(cafile: str) -> ssl.SSLContext:
        context = made(cafile=cafile)
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.set_ciphers(_DEBIANS)
        return context

    with mock.patch("ssl.create_default_context", debians):
        assert _offer(ca_file) == usual
