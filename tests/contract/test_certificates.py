"""The certificates of a run: strict verifiers accept them, and a seed always makes the same ones."""

import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from priolab.common.running import finished
from priolab.proxy.certificate_files import Certificates
from priolab.proxy.certificates import issue

NAME = "maps.test"
ADDRESS = "198.18.1.2"


@pytest.fixture(params=[None, 1], ids=["random", "seeded"])
def certificates(request: pytest.FixtureRequest, tmp_path: Path) -> Certificates:
    """Issue certificates as a run does, without and with a seed."""
    return issue(tmp_path, NAME, ADDRESS, seed=request.param)


def _shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, server_name: str) -> None:
    """Do a TLS handshake in memory. Raises ssl.SSLError."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=server_name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while ends:
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)


@pytest.mark.parametrize("server_name", [NAME, ADDRESS])
def test_python_takes_them_strictly(certificates: Certificates, server_name: str) -> None:
    """Python accepts the certificates with VERIFY_X509_STRICT, its default since 3.13, and only for the right name."""
    client = ssl.create_default_context(cafile=str(certificates.ca))
    client.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificates.chain, certificates.key)
    _shake_hands(client, server, server_name)
    with pytest.raises(ssl.SSLCertVerificationError):
        _shake_hands(client, server, "elsewhere.test")


def test_openssl_takes_them_strictly(certificates: Certificates) -> None:
    """`openssl verify` accepts the front's certificate with strict checks, as a server certificate for its name."""
    command = ["openssl", "verify", "-x509_strict", "-check_ss_sig", "-purpose", "sslserver", "-verify_hostname", NAME]
    done = finished([*command, "-CAfile", str(certificates.ca), str(certificates.chain)], 20)
    assert (done.code, done.out) == (0, f"{certificates.chain}: OK\n"), done.errors


def test_who_may_do_what(certificates: Certificates) -> None:
    """The CA certificate may only sign certificates; the front's may only authenticate a server."""
    authority, front = (
        x509.load_pem_x509_certificate(path.read_bytes()) for path in (certificates.ca, certificates.chain)
    )
    for certificate, is_authority in ((authority, True), (front, False)):
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
        assert usage.critical
        assert usage.value.key_cert_sign is usage.value.crl_sign is is_authority
        assert usage.value.digital_signature is not is_authority
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        assert constraints.critical
        assert constraints.value.ca is is_authority
    purposes = front.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]
    own = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    told = front.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert told.key_identifier == own.digest


def test_a_seed_makes_the_same_ones(tmp_path: Path) -> None:
    """The same seed makes identical files; another seed makes other certificates and keys."""
    folders = [tmp_path / name for name in ("one", "again", "other")]
    for folder, seed in zip(folders, (1, 1, 2), strict=True):
        folder.mkdir()
        issue(folder, NAME, ADDRESS, seed=seed)
    one, again, other = (
        [(folder / name).read_bytes() for name in ("ca.pem", "front.crt", "front.key")] for folder in folders
    )
    assert one == again
    assert all(first != second for first, second in zip(one, other, strict=True))
