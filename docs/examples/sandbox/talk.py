"""A chat over a WebSocket. `talk.py serve`, or `talk.py talk SECONDS`.

Needs the Python package websockets.
"""

import asyncio
import sys
import time

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

PORT, EVERY_S = 7006, 5.0


async def chat() -> None:
    """Sends each line back."""

    async def attend(connection: ServerConnection) -> None:
        async for line in connection:
            await connection.send(line)

    async with serve(attend, "server", PORT):
        await asyncio.Future()


async def talk(seconds: float) -> None:
    """Says something every five seconds, and prints which lines come back late or never."""
    begun = time.monotonic()
    count, came = 0, 0
    while (now := time.monotonic() - begun) < seconds:
        try:
            async with connect(f"ws://server:{PORT}") as connection:
                while (now := time.monotonic() - begun) < seconds:
                    count += 1
                    await connection.send(str(count))
                    await connection.recv()
                    came += 1
                    if (late := time.monotonic() - begun - now) > 1:
                        print(f"line {count}, said after {now:.0f} s, came back {late:.1f} s later", flush=True)
                    await asyncio.sleep(EVERY_S)
        except (ConnectionClosed, TimeoutError, OSError) as error:
            print(f"after {time.monotonic() - begun:.0f} s: {type(error).__name__}", flush=True)
    print(f"{came} of {count} lines came back")


if __name__ == "__main__":
    asyncio.run(chat() if sys.argv[1] == "serve" else talk(float(sys.argv[2])))
