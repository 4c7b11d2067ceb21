"""A leader election of three hosts, as in Raft, by messages of UDP: at most one host may lead in a term.

election.py serve NAME [forget]    votes, and leads if another host votes for it; with `forget` it has a bug
election.py watch SECONDS          hears who leads, and fails if two hosts lead in the same term
"""

import random
import select
import socket
import sys
import time

NAMES, WATCHER, PORT = ("a", "b", "c"), "client", 700
AGAIN_S = 0.05  # a leader tells that it leads, and a candidate asks, again and again
PATIENCE_S = (0.15, 0.3)  # how long a host waits for a leader, and for votes


class Voter:
    """A host that votes. voted: for whom it has voted in its term."""

    def __init__(self, name: str, end: socket.socket, *, forgets: bool) -> None:
        """forgets: True for the bug."""
        self.name, self.end, self.forgets = name, end, forgets
        self.term, self.leads = 0, False
        self.voted: str | None = None
        self.votes: set[str] = set()
        self.wait()

    def wait(self) -> None:
        """Begins to wait for a leader, or for votes."""
        self.again_s = self.until_s = time.monotonic() + random.uniform(*PATIENCE_S)

    def tell(self, kind: str, *names: str) -> None:
        """Sends a message to hosts."""
        for name in names:
            self.end.sendto(f"{kind} {self.term} {self.name}".encode(), (name, PORT))

    def look(self) -> None:
        """Does what is due."""
        now_s = time.monotonic()
        if not self.leads and now_s >= self.until_s:
            self.term, self.voted, self.votes = self.term + 1, self.name, {self.name}
            self.wait()
            self.again_s = now_s
        if now_s >= self.again_s:
            others = [name for name in NAMES if name != self.name]
            if self.leads:
                self.tell("leads", *others, WATCHER)
            else:
                self.tell("asks", *others)
            self.again_s = now_s + AGAIN_S

    def hear(self, kind: str, term: int, name: str) -> None:
        """Hears a message of another host."""
        if term > self.term:
            self.term, self.voted, self.votes, self.leads = term, None, set(), False
            self.wait()
        if term < self.term:
            return
        if kind == "asks" and self.voted in (None, name):
            self.voted = name
            self.tell("votes", name)
            self.wait()
        elif kind == "votes" and self.votes and not self.leads:
            self.votes.add(name)
            self.leads = len(self.votes) > len(NAMES) / 2
            if self.leads:
                print(f"{self.name} leads in term {self.term}", flush=True)
                self.again_s = 0
        elif kind == "leads":
            self.votes, self.leads = set(), False
            self.wait()
            if self.forgets:
                self.voted = None  # the bug: the election is over, but its term is not


def heard(end: socket.socket, until_s: float) -> tuple[str, int, str] | None:
    """Returns the next message, its kind, term and sender; None if there is none until then."""
    left_s = until_s - time.monotonic()
    if left_s > 0 and select.select([end], [], [], left_s)[0]:
        kind, term, name = end.recv(100).decode().split()
        return kind, int(term), name
    return None


def serve(voter: Voter) -> None:
    """Votes for ever."""
    while True:
        voter.look()
        if message := heard(voter.end, voter.again_s if voter.leads else min(voter.again_s, voter.until_s)):
            voter.hear(*message)


def watch(end: socket.socket, seconds: float) -> None:
    """Ends with an error if two hosts lead in the same term."""
    until_s = time.monotonic() + seconds
    leaders: dict[int, str] = {}
    while time.monotonic() < until_s:
        if message := heard(end, until_s):
            _, term, name = message
            if leaders.setdefault(term, name) != name:
                sys.exit(f"two leaders in term {term}: {leaders[term]} and {name}")
    print(f"{len(leaders)} terms, each with one leader")


if __name__ == "__main__":
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("", PORT))
        if sys.argv[1] == "serve":
            serve(Voter(sys.argv[2], own, forgets=sys.argv[3:] == ["forget"]))
        else:
            watch(own, float(sys.argv[2]))
