"""Decrypts one direction of a recorded TLS 1.3 connection with the secrets that the browser logged.

From the bytes of the browser's socket, which have times, this module gets the plaintext of each
TLS record and the record's position in the TCP stream, as the lab's own client records them. See RFC 8446, 5.2 and 7.3.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from priolab.client.records import Record, RecordSplitter

APPLICATION_DATA = 23
_HANDSHAKE = 22
_HEADER_BYTES, _IV_BYTES = 5, 12
_RANDOM_AT, _RANDOM_BYTES = 11, 32  # of a hello in the first record
_SUITES: Mapping[int, tuple[type[AESGCM] | type[ChaCha20Poly1305], int, type[hashes.HashAlgorithm]]] = {
    0x1301: (AESGCM, 16, hashes.SHA256),
    0x1302: (AESGCM, 32, hashes.SHA384),
    0x1303: (ChaCha20Poly1305, 32, hashes.SHA256),
}
"""The cipher suites by number: cipher, bytes of a key, hash."""


class Unreadable(Exception):
    """The connection cannot be read; the text says why."""


Secrets = Mapping[tuple[str, bytes], bytes]
"""The secrets of a key log, by their label and the client's random."""


def read_secrets(key_log: Path) -> Secrets:
    """Reads the secrets in a file of the SSLKEYLOGFILE format, in which comments begin with #."""
    secrets = {}
    for line in key_log.read_text().splitlines():
        if line.startswith("#"):
            continue
        label, random, secret = line.split()
        secrets[label, bytes.fromhex(random)] = bytes.fromhex(secret)
    return secrets


def client_random(sent: bytes) -> bytes:
    """Returns the random of a connection's ClientHello. sent: the client's bytes, at least the first TLS record."""
    return sent[_RANDOM_AT : _RANDOM_AT + _RANDOM_BYTES]


def suite_of(received: bytes) -> int:
    """Returns the number of the cipher suite that the server chose.

    received: the server's bytes from its ServerHello on.
    Raises Unreadable if the bytes do not begin with a whole ServerHello (RFC 8446, 4.1.3).
    """
    at = _RANDOM_AT + _RANDOM_BYTES
    suite = received[at + 1 + received[at] :][:2] if len(received) > at else b""
    if received[:1] != bytes([_HANDSHAKE]) or len(suite) != 2:
        raise Unreadable("the front did not answer with a ServerHello")
    return int.from_bytes(suite)


def handshake_ended_ns(sent: Iterable[tuple[int, bytes]]) -> int | None:
    """Returns when the client had sent its Finished, its first encrypted record; None if it did not.

    sent: the client's bytes, each with its time.
    """
    splitter = RecordSplitter()
    records = (record for t_ns, data in sent for record in splitter.feed(data, t_ns))
    return next((record.received_ns for record in records if record.data[0] == APPLICATION_DATA), None)


@dataclass(frozen=True, kw_only=True)
class Plaintext:
    """The plaintext of a record with application data."""

    data: bytes
    record: Record


class Direction:
    """A decrypter for one direction of a connection. The direction's bytes are fed in order."""

    def __init__(self, secrets: Secrets, end: str, random: bytes, suite: int) -> None:
        """Finds the direction's keys. Raises Unreadable.

        end: the sender, CLIENT or SERVER. random: the random of the ClientHello. suite: the cipher suite's number.
        """
        if suite not in _SUITES:
            raise Unreadable(f"the cipher suite {suite:#06x} is not supported")
        try:
            found = [secrets[f"{end}_{label}", random] for label in ("HANDSHAKE_TRAFFIC_SECRET", "TRAFFIC_SECRET_0")]
        except KeyError as error:
            raise Unreadable(f"the browser logged no {error.args[0][0]} for this connection") from None
        self._keys = [_Key(secret, suite) for secret in found]
        self._splitter = RecordSplitter()

    @property
    def received_bytes(self) -> int:
        """Bytes of the TCP stream fed so far."""
        return self._splitter.received_bytes

    def feed(self, data: bytes, now_ns: int) -> Iterator[Plaintext]:
        """Yields the application data in the records that these bytes complete. Raises Unreadable."""
        for record in self._splitter.feed(data, now_ns):
            if record.data[0] != APPLICATION_DATA:  # ClientHello, ServerHello or ChangeCipherSpec
                continue
            inner = self._open(record.data).rstrip(b"\0")
            if inner and inner[-1] == APPLICATION_DATA:
                yield Plaintext(data=inner[:-1], record=record)

    def _open(self, record: bytes) -> bytes:
        while True:
            try:
                return self._keys[0].open(record)
            except InvalidTag:  # after the handshake the next key is used
                if len(self._keys) == 1:
                    raise Unreadable("the keys that the browser logged do not decrypt a TLS record") from None
                del self._keys[0]


class _Key:
    """The key of a traffic secret. It counts the records that it has decrypted: the nonce depends on this count."""

    def __init__(self, secret: bytes, suite: int) -> None:
        cipher, key_bytes, hashed = _SUITES[suite]
        self._cipher = cipher(_expanded(secret, b"key", key_bytes, hashed))
        self._iv = int.from_bytes(_expanded(secret, b"iv", _IV_BYTES, hashed))
        self._opened = 0

    def open(self, record: bytes) -> bytes:
        """Decrypts the next record. Raises InvalidTag."""
        nonce = (self._iv ^ self._opened).to_bytes(_IV_BYTES)
        plain = self._cipher.decrypt(nonce, record[_HEADER_BYTES:], record[:_HEADER_BYTES])
        self._opened += 1
        return plain


def _expanded(secret: bytes, label: bytes, size_bytes: int, hashed: type[hashes.HashAlgorithm]) -> bytes:
    """Computes HKDF-Expand-Label (RFC 8446, 7.1) with an empty context."""
    full = b"tls13 " + label
    info = size_bytes.to_bytes(2) + bytes([len(full)]) + full + b"\0"
    return HKDFExpand(algorithm=hashed(), length=size_bytes, info=info).derive(secret)
