"""A private certificate authority for a run, and the front's certificate signed by it.

A seed decides both certificates entirely, keys included. Otherwise the lengths of certificates and signatures would
vary from run to run, and with them the packets of a handshake. Keys from a seed are not secret, but only the lab trusts
them.

Both certificates have the extensions that RFC 5280 requires (sections 4.2.1.1 to 4.2.1.3, and 4.2.1.9). OpenSSL's
strict checks, which Python uses from 3.13 on, refuse a CA without the key usage of signing certificates.
"""

import hashlib
import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from priolab.proxy.certificate_files import Certificates, certificates_in

_CURVE = ec.SECP256R1()
_SCALARS = 2**255  # all smaller than the order of the curve's group
_CRITICAL = (x509.BasicConstraints, x509.KeyUsage)
_FROM, _UNTIL = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class _Holder:
    """The subject of a certificate: its name, key and serial number."""

    name: x509.Name
    key: ec.EllipticCurvePrivateKey
    serial: int

    @classmethod
    def make(cls, name: str, seed: int | None) -> "_Holder":
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Priority lab")]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
        if seed is None:
            key, serial = ec.generate_private_key(_CURVE), x509.random_serial_number()
        else:
            key = ec.derive_private_key(1 + _number(f"key {seed} {name}") % _SCALARS, _CURVE)
            serial = 1 + _number(f"serial {seed} {name}") % 2**159
        return cls(name=x509.Name(attributes), key=key, serial=serial)


def issue(folder: Path, *names: str, seed: int | None = None) -> Certificates:
    """Makes a CA for this run only, and the front's certificate, and writes them into the folder.

    names: host names or addresses of the front.
    seed: decides both certificates; None makes them random. A seed needs the package cryptography in version 45 or
    newer.
    """
    paths = certificates_in(folder)
    authority, front = _Holder.make("authority", seed), _Holder.make(names[0], seed)
    wanted = x509.SubjectAlternativeName([_general_name(name) for name in names])
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    ca = _certificate(
        authority, authority, seed, [x509.BasicConstraints(ca=True, path_length=0), _usage(signs_certificates=True)]
    )
    chain = _certificate(
        front,
        authority,
        seed,
        [x509.BasicConstraints(ca=False, path_length=None), _usage(signs_certificates=False), wanted, purpose],
    )
    paths.ca.write_bytes(ca.public_bytes(Encoding.PEM))
    paths.chain.write_bytes(chain.public_bytes(Encoding.PEM))
    paths.key.touch(mode=0o600)
    paths.key.write_bytes(front.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    return paths


def _certificate(
    subject: _Holder, issuer: _Holder, seed: int | None, extensions: list[x509.ExtensionType]
) -> x509.Certificate:
    identifier = x509.SubjectKeyIdentifier.from_public_key(subject.key.public_key())
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject.name)
        .issuer_name(issuer.name)
        .public_key(subject.key.public_key())
        .serial_number(subject.serial)
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(identifier, critical=False)
        .add_extension(authority, critical=False)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=isinstance(extension, _CRITICAL))
    if seed is None:
        return builder.sign(issuer.key, hashes.SHA256())
    return builder.sign(issuer.key, hashes.SHA256(), ecdsa_deterministic=True)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """Returns the key usage extension: a CA's key signs certificates and CRLs, a front's key signs handshakes."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
