"""A queue whose jobs are given again if nobody says that they are done. `jobs.py serve`, or `jobs.py work plain|once`.

A worker that works `once` keeps the numbers of the jobs that it has done.
"""

import socket
import socketserver
import sys
import time
from typing import ClassVar

PORT, JOBS, LEASE_S, WORK_S, PATIENCE_S = 7005, 3, 2.0, 1.0, 3.0


class Queue(socketserver.StreamRequestHandler):
    """Answers `next` with the number of a job, or 0 if there is none, and `done NUMBER` with `ok`."""

    given_at: ClassVar[dict[int, float]] = {}
    done: ClassVar[set[int]] = set()

    def handle(self) -> None:
        """Answers until the worker hangs up."""
        for line in self.rfile:
            word, *number = line.decode().split()
            if word == "done":
                self.done.add(int(number[0]))
                self.wfile.write(b"ok\n")
                continue
            now = time.monotonic()
            late = [job for job in range(1, JOBS + 1) if now - self.given_at.get(job, -LEASE_S) >= LEASE_S]
            job = next((job for job in late if job not in self.done), 0)
            self.given_at[job] = now
            self.wfile.write(b"%d\n" % job)


def work(*, once: bool) -> None:
    """Charges a customer for each job, until there is none."""
    charged: set[int] = set()
    while True:
        try:
            with socket.create_connection(("server", PORT), PATIENCE_S) as connection, connection.makefile() as answers:
                while True:
                    connection.sendall(b"next\n")
                    job = int(answers.readline())
                    if not job:
                        return
                    if not (once and job in charged):
                        time.sleep(WORK_S)
                        print(f"customer {job} pays{' again' if job in charged else ''}", flush=True)
                        charged.add(job)
                    connection.sendall(b"done %d\n" % job)
                    answers.readline()
        except TimeoutError:
            print("no answer; the worker connects again", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        socketserver.ThreadingTCPServer(("", PORT), Queue).serve_forever()
    work(once=sys.argv[2] == "once")
