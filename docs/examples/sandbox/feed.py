"""A WebSocket that ticks beside a download on another connection. `feed.py serve`, or `feed.py watch BYTES`.

Needs the Python package websockets.
"""

import asyncio
import sys
import time

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

TICKS, DOWNLOAD = 7002, 7003


async def feed() -> None:
    """Sends a tick every 100 ms over the WebSocket, and as many bytes as a client asks for at the other port."""

    async def tick(socket: ServerConnection) -> None:
        while True:
            await socket.send(f"{time.monotonic()}")
            await asyncio.sleep(0.1)

    async def download(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(int(await reader.readline())))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(download, "server", DOWNLOAD)
    async with server, serve(tick, "server", TICKS):
        await server.serve_forever()


async def watch(size_bytes: int) -> None:
    """Downloads, and prints how old the ticks are that come meanwhile. Both ends have one clock."""
    reader, writer = await asyncio.open_connection("server", DOWNLOAD)
    async with connect(f"ws://server:{TICKS}") as socket:
        writer.write(f"{size_bytes}\n".encode())
        download = asyncio.create_task(reader.read(-1))
        ages = []
        while not download.done():
            tick = float(await socket.recv())
            ages.append(time.monotonic() - tick)
        print(f"{len(await download)} bytes, oldest tick {max(ages) * 1000:.1f} ms, youngest {min(ages) * 1000:.1f} ms")


if __name__ == "__main__":
    asyncio.run(feed() if sys.argv[1] == "serve" else watch(int(sys.argv[2])))
