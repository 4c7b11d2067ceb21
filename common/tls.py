"""The TLS of the lab's own clients."""

import ssl
from pathlib import Path

_CIPHERS = "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:DHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
"""The choice of Python itself. Distributions build Python with other choices, which make the ClientHello longer."""


def trusting(ca_file: Path) -> ssl.SSLContext:
    """Returns the context of a client that trusts only this CA. The ClientHello is the same with every build of Python.

    The messages of a handshake enter the server's signature, whose length varies by a byte or two.
    """
    context = ssl.create_default_context(cafile=str(ca_file))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    return context


def wrong_alpn(chosen: str | None, offered: str) -> str:
    """Returns the reason why a front cannot be used that did not choose the protocol that was offered by ALPN."""
    return f"the front chose {chosen!r} by ALPN, not {offered}" if chosen else "the front chose no protocol by ALPN"
