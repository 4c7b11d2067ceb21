"""Many connections at once, each with a request and an answer. `many.py serve`, or `many.py ask CONNECTIONS`."""

import asyncio
import sys
import time

PORT, ANSWER_BYTES = 7007, 10_000


async def serve() -> None:
    """Answers each connection with 10 kB."""

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(bytes(ANSWER_BYTES))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(attend, "server", PORT, backlog=4096) as server:
        await server.serve_forever()


async def ask(connections: int) -> None:
    """Opens all connections at once, and prints when the last answer was there."""

    async def one() -> int:
        reader, writer = await asyncio.open_connection("server", PORT)
        writer.write(b"please\n")
        answer = await reader.read()
        writer.close()
        return len(answer)

    begun = time.monotonic()
    sizes = await asyncio.gather(*(one() for _ in range(connections)))
    print(f"{sum(sizes)} bytes after {time.monotonic() - begun:.2f} s")


if __name__ == "__main__":
    asyncio.run(serve() if sys.argv[1] == "serve" else ask(int(sys.argv[2])))
