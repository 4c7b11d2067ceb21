"""A retry storm: many clients lose their server, and come back. `retry.py serve`, or `retry.py storm full|none`.

The server serves ten requests a second, and refuses more. For its first ten minutes it refuses all. Each client waits
twice as long after each refusal, at most five minutes; with `full` it waits a random part of that.
"""

import asyncio
import random
import sys
import time
from collections import Counter

PORT, CLIENTS, DOWN_S, MOST_S = 7001, 100, 600.0, 300.0


async def serve() -> None:
    """Answers `yes` or `no` to each connection."""
    begun = time.monotonic()
    served: Counter[int] = Counter()

    async def attend(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        now = time.monotonic()
        second = int(now)
        served[second] += now - begun > DOWN_S
        writer.write(b"yes\n" if 0 < served[second] <= 10 else b"no\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(attend, "server", PORT, backlog=CLIENTS) as server:
        await server.serve_forever()


async def client(chance: random.Random | None) -> int:
    """Tries until the server says yes; returns the number of tries."""
    wait_s, tries = 1.0, 0
    while True:
        tries += 1
        reader, writer = await asyncio.open_connection("server", PORT)
        answer = await reader.readline()
        writer.close()
        if answer == b"yes\n":
            return tries
        await asyncio.sleep(wait_s if chance is None else chance.uniform(0, wait_s))
        wait_s = min(2 * wait_s, MOST_S)


async def storm(jitter: str) -> None:
    """Lets all clients try, and prints when the last was served."""
    begun = time.monotonic()
    chances = [random.Random(number) if jitter == "full" else None for number in range(CLIENTS)]
    tries = await asyncio.gather(*map(client, chances))
    print(f"jitter {jitter}: {sum(tries)} tries, all served after {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    asyncio.run(serve() if sys.argv[1] == "serve" else storm(sys.argv[2]))
