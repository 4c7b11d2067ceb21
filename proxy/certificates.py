"""A private certificate authority for one run, and the front's certificate signed by it."""

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True, kw_only=True)
class Certificates:
    """Paths of PEM files: the CA to trust, the front's chain and its private key."""

    ca: Path
    chain: Path
    key: Path


def certificates_in(folder: Path) -> Certificates:
    """Where `issue` puts the files."""
    return Certificates(ca=folder / "ca.pem", chain=folder / "front.pem", key=folder / "front.key")


def issue(folder: Path, *names: str) -> Certificates:
    """Make a CA that exists for this run only, and a certificate for host names or addresses."""
    paths = certificates_in(folder)
    authority = trustme.CA(organization_name="Priority lab")
    leaf = authority.issue_cert(*names)
    authority.cert_pem.write_to_path(str(paths.ca))
    for blob in leaf.cert_chain_pems:
        blob.write_to_path(str(paths.chain), append=True)
    paths.key.touch(mode=0o600)
    leaf.private_key_pem.write_to_path(str(paths.key))
    return paths
