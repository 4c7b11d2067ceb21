"""Counts in redis, and goes on with the replica when the primary does not answer. Prints what the failover lost."""

import socket
import time

EVERY_S, PATIENCE_S, COUNT_S = 0.1, 1.0, 20.0


class Refusal(Exception):
    """An error that redis answers."""


def asked(connection: socket.socket, command: str) -> str:
    """Returns the answer to a command of redis, an integer or a line. Raises Refusal."""
    connection.sendall(f"{command}\r\n".encode())
    answer = connection.recv(1000).decode().splitlines()
    if answer[0].startswith("-"):
        raise Refusal(answer[0])
    return answer[-1].lstrip(":+")


def main() -> None:
    """Counts at the primary until it does not answer, and then reads the count at the replica."""
    time.sleep(2)  # until the replica has what the primary has
    begun = time.monotonic()
    acknowledged = 0
    with socket.create_connection(("server", 6379), PATIENCE_S) as primary:
        try:
            while time.monotonic() - begun < COUNT_S:
                acknowledged = int(asked(primary, "INCR count"))
                time.sleep(EVERY_S)
        except (TimeoutError, Refusal) as error:
            print(f"after {time.monotonic() - begun:.1f} s: {error}")
    with socket.create_connection(("replica", 6379), PATIENCE_S) as replica:
        asked(replica, "REPLICAOF NO ONE")
        kept = int(asked(replica, "GET count"))
    print(f"{acknowledged} acknowledged, {kept} there: {acknowledged - kept} lost")


if __name__ == "__main__":
    main()
