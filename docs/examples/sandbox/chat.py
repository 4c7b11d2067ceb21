"""A chat: every line that a client sends goes to all clients. `chat.py serve`, or `chat.py talk SECONDS`."""

import asyncio
import sys

PORT = 7000


async def serve() -> None:
    """Passes each line on to all clients, for ever."""
    writers: set[asyncio.StreamWriter] = set()

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        while line := await reader.readline():
            for each in writers:
                each.write(line)
        writers.remove(writer)
        writer.close()

    async with await asyncio.start_server(attend, "server", PORT) as server:
        await server.serve_forever()


async def talk(seconds: float) -> None:
    """Says something every five minutes, and prints how long a line takes to come back."""
    reader, writer = await asyncio.open_connection("server", PORT)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    number = 0
    while loop.time() < end:
        number += 1
        sent = loop.time()
        writer.write(f"line {number}\n".encode())
        line = (await reader.readline()).decode().strip()
        print(f"{line} came back after {(loop.time() - sent) * 1000:.1f} ms")
        await asyncio.sleep(300)
    writer.close()


if __name__ == "__main__":
    asyncio.run(serve() if sys.argv[1] == "serve" else talk(float(sys.argv[2])))
