"""The files of a run's certificates. proxy/certificates.py writes them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Certificates:
    """Paths of PEM files: the CA to trust, the front's chain and its private key."""

    ca: Path
    chain: Path
    key: Path


def certificates_in(folder: Path) -> Certificates:
    """Returns the paths of the certificates in this folder."""
    return Certificates(ca=folder / "ca.pem", chain=folder / "front.crt", key=folder / "front.key")
