"""An echo over QUIC. `echo.py serve`, or `echo.py talk TIMES`.

Needs the Python package aioquic.
"""

import asyncio
import datetime
import socket
import ssl
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PORT, PROTOCOLS = 7005, ["echo"]


def certified() -> QuicConfiguration:
    """Returns the server's settings, with a new key and its certificate."""
    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, None)
    )
    return QuicConfiguration(is_client=False, alpn_protocols=PROTOCOLS, certificate=certificate, private_key=key)


async def answer() -> None:
    """Sends back what comes on each stream, for ever."""
    echoes: set[asyncio.Task[None]] = set()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read())
        writer.write_eof()

    def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        echoes.add(asyncio.create_task(echo(reader, writer)))

    await serve("server", PORT, configuration=certified(), stream_handler=attend)
    await asyncio.Future()


async def talk(times: int) -> None:
    """Sends as many messages, one after the other, and prints how long each takes to come back."""
    loop = asyncio.get_running_loop()
    settings = QuicConfiguration(alpn_protocols=PROTOCOLS, verify_mode=ssl.CERT_NONE)
    # aioquic's own `connect` insists on a socket of IPv6.
    _, connection = await loop.create_datagram_endpoint(
        lambda: QuicConnectionProtocol(QuicConnection(configuration=settings)), local_addr=("client", 0)
    )
    begun = loop.time()
    connection.connect((socket.gethostbyname("server"), PORT))
    await connection.wait_connected()
    print(f"connected after {(loop.time() - begun) * 1000:.1f} ms")
    for number in range(1, times + 1):
        await asyncio.sleep(1)
        sent = loop.time()
        reader, writer = await connection.create_stream()
        writer.write(b"hello")
        writer.write_eof()
        await reader.read()
        print(f"message {number} came back after {(loop.time() - sent) * 1000:.1f} ms")


if __name__ == "__main__":
    asyncio.run(answer() if sys.argv[1] == "serve" else talk(int(sys.argv[2])))
