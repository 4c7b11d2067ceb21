"""The hosts of a session, with a guest that only takes notes: what calls become, and what is refused."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from priolab.common.errors import ScenarioError, StepFailed
from priolab.testbed.sandbox.calls import Answer, Call, Happen, Quiet, Start, Until, read_call
from priolab.testbed.sandbox.knobs import of_way
from priolab.testbed.sandbox.net import Net, NotInTime, Session
from priolab.testbed.sandbox.outcome import Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputFrame
from priolab.testbed.sandbox.result import Result
from priolab.testbed.sandbox.session import Steered
from priolab.testbed.sandbox.spec import Files, SandboxSpec


class _Talk:
    """A guest that takes notes of calls. answers: those to the next calls; without one, a call is carried out."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.calls: list[Call] = []
        self.answers: list[Answer | None] = []

    def ask(self, line: str) -> None:
        self.calls.append(read_call(self.files, int(line)))

    def has_answered(self, _: float) -> bool:
        return True

    def answer(self) -> str | None:
        found = self.answers.pop(0) if self.answers else Answer(now_ns=5 * 10**9)
        return None if found is None else found.text


@pytest.fixture
def talk(tmp_path: Path) -> _Talk:
    """Returns a guest that takes notes."""
    return _Talk(Files(tmp_path))


@pytest.fixture
def net(talk: _Talk) -> Net:
    """Returns a client and a phone with links, and a server without one."""
    spec = SandboxSpec(
        knobs=of_way({"DELAY": "20ms"}),
        seed=1,
        client=(),
        server=("serve",),
        environment={},
        folder="/",
        limit_ns=100 * 10**9,
        hosts={"phone": (), "far": ()},
        links={"phone": of_way({"RATE": "1mbit"}), "far": of_way({"RATE": "1mbit", "QUEUE": "20kb", "DELAY": "9ms"})},
        steered=True,
        changing={"phone": ("RATE",)},
    )
    frames = [OutputFrame(at_ns=0, place="server", stream="out", data=b"one\ntwo\nthree\nfour\n")]
    made: Any = talk
    return Net(
        Steered(
            spec=spec,
            files=talk.files,
            talk=made,
            frames=frames,
            listen=lambda: None,
            outcome=lambda: Outcome(ending=Ending.FAILED, reason="out of memory"),
        )
    )


def _words(net: Net) -> Iterator[tuple[Callable[[], object], str]]:
    yield lambda: net.partition("client", "phone"), "partition client phone"
    yield lambda: net.partition("client", "server", one_way=True), "partition client to server"
    yield lambda: net.heal("client", "phone"), "heal client phone"
    yield net.heal, "heal"
    yield lambda: net.hold("server", "phone"), "hold server phone"
    yield lambda: net.hold("phone", "client", one_way=True), "hold phone to client"
    yield lambda: net.release("phone"), "release phone"
    yield lambda: net.down("server"), "down server"
    yield lambda: net.up("server"), "up server"
    yield lambda: net.stop("server"), "stop server"
    yield lambda: net.continue_("server"), "continue server"
    yield lambda: net.kill("server", "HUP"), "kill server HUP"
    yield lambda: net.kill("server"), "kill server"
    yield lambda: net.restart("server"), "restart server"
    yield lambda: net.link("client").set(LOSS="3%"), "LOSS=3%"
    yield lambda: net.link("phone").set(RATE="2mbit"), "phone.RATE=2mbit"
    yield lambda: net.happen("run phone 'sleep 3'"), "run phone 'sleep 3'"
    yield lambda: net.clock("-30s"), "clock -30s"


def test_events(net: Net, talk: _Talk) -> None:
    """Each method is the event of its name."""
    for call, words in _words(net):
        call()
        assert talk.calls[-1] == Happen(texts=(words,))


def test_several_changes_are_one_call(net: Net, talk: _Talk) -> None:
    """Values that are set together hold from the same instant."""
    net.link("client").set(LOSS="3%", DELAY="5ms")
    assert talk.calls == [Happen(texts=("LOSS=3%", "DELAY=5ms"))]


def test_times(net: Net, talk: _Talk) -> None:
    """Time advances from where it should have stopped; conditions wait from now on, to the session's limit at most."""
    talk.answers = [Answer(now_ns=2_000_000_300), Answer(now_ns=3_000_000_300), Answer(now_ns=7 * 10**9)]
    net.advance("2s")
    net.advance("1s")
    net.until(net.quiet, "10s")
    net.advance("1s")
    net.until(net.quiet_for("3s"))
    assert [call.until_ns for call in talk.calls if isinstance(call, Until)] == [
        *(2 * 10**9, 3 * 10**9, 13_000_000_300, 8 * 10**9, 100 * 10**9)
    ]
    quiet = [call.wanted for call in talk.calls if isinstance(call, Until)]
    assert quiet == [None, None, Quiet(for_ns=1_029_000_000), None, Quiet(for_ns=3 * 10**9)]
    net.link("phone").set(DELAY="500ms")
    net.until(net.quiet)
    assert isinstance(talk.calls[-1], Until)
    assert talk.calls[-1].wanted == Quiet(for_ns=1_520_000_000)


def test_a_program(net: Net, talk: _Talk) -> None:
    """A text is split as a shell does; an exit code is that of the last answer."""
    program = net.host("phone").start("talk 'to server'", stdin=True)
    assert talk.calls == [Start(host="phone", command=("talk", "to server"), number=1, stdin=True)]
    assert program.code is None
    talk.answers = [Answer(codes={1: 3})]
    assert program.wait() == 3
    net.kill("phone")


def test_in_vain(net: Net, talk: _Talk) -> None:
    """The error says what was waited for, why it does not come, and the last lines of each host."""
    program = net.host("phone").start("talk")
    lines = ["client| (nothing)", "server| two", "server| three", "server| four", "phone| (nothing)", "far| (nothing)"]
    talk.answers = [Answer(now_ns=3 * 10**9, met=False), Answer(now_ns=4 * 10**9, met=False, codes={1: -9})]
    with pytest.raises(NotInTime) as late:
        net.until(program.prints("done"), "3s")
    assert str(late.value).splitlines() == [
        "phone's talk prints 'done': not within 3s, at 3 s; the last lines:",
        *lines,
    ]
    with pytest.raises(NotInTime, match=r"^phone's talk prints 'done': no more: it ended with exit code -9, at 4 s; "):
        net.until(program.prints("done"), "3s")


_ENDED = r"^session: out of memory$"


def test_the_guest_ends(net: Net, talk: _Talk) -> None:
    """The call at which the guest ends says why, and so do all later ones."""
    talk.answers = [None]
    with pytest.raises(StepFailed, match=_ENDED):
        net.advance("1s")
    with pytest.raises(StepFailed, match=_ENDED):
        net.down("server")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda net: net.host("ghost"), "host=ghost is not allowed; allowed: client, server, phone, far"),
        (lambda net: net.link("ghost"), "link=ghost is not allowed; allowed: client, phone, far"),
        (lambda net: net.link("server"), r"link=server .*; session\(changes=\['server.LOSS'\]\) gives it one$"),
        (lambda net: net.link("client").set(RATE="1mbit"), r"session=RATE=1mbit .*changes=\['RATE'\]\) gives it one"),
        (lambda net: net.link("phone").set(DUPLICATE="1%"), r"session=phone.DUPLICATE=1% .*'phone.DUPLICATE'\]"),
        (lambda net: net.link("far").set(LOSS="1%"), r"session=far.LOSS=1% .*changes=\['far.LOSS'\]\)"),
        (lambda net: net.link("client").set(LOSS="200%"), "LOSS=200% is not allowed; allowed: 0% to 100%"),
        (lambda net: net.link("client").set(LOST="2%"), "session=LOST=2% is not allowed; allowed: LOSS"),
        (lambda net: net.happen("frobnicate"), "session=frobnicate is not allowed; allowed: KNOB=VALUE or HOST.KNOB"),
        (lambda net: net.happen("follow phone t.txt"), "session=follow phone t.txt .*: values that the test sets"),
        (lambda net: net.partition("client", "ghost"), "session=0s partition client ghost .*: the hosts client"),
        (lambda net: net.up("phone"), "session=0s up phone is not allowed; allowed: down phone before"),
        (lambda net: net.kill("phone"), "session=0s kill phone is not allowed; allowed: a host with a program"),
        (lambda net: net.restart("phone"), "session=0s restart phone .*: a host with a command that can start anew"),
        (lambda net: net.clock("3600"), r"session=clock 3600 is not allowed; allowed: clock \+TIME or clock -TIME"),
        (lambda net: net.advance("soon"), "advance=soon is not allowed; allowed: a time with a unit, from 1ns to"),
        (lambda net: net.advance(30), "advance=30 is not allowed; allowed: a text such as '30s' or '200ms'"),
        (lambda net: net.advance("101s"), "advance=101s is not allowed; allowed: the 100 s that are left of"),
        (lambda net: net.until(net.quiet, "x"), "limit=x is not allowed; allowed: a time with a unit, from 1ns to"),
        (lambda net: net.quiet_for("0s"), "quiet_for=0s is not allowed; allowed: a time with a unit, from 1ns to"),
        (lambda net: net.host("phone").start(""), "start= is not allowed; allowed: a command, such as"),
        (lambda net: net.host("phone").prints(""), "prints= is not allowed; allowed: a text of at least one letter"),
        (lambda net: net.host("phone").start("talk").send("x" * 99_999), "send=99999 bytes .*: up to 65536 bytes"),
        (lambda net: net.host("phone").start("talk").signal("FOO"), "signal=FOO is not allowed; allowed: the name"),
    ],
)  # fmt: skip
def test_what_is_not_allowed(net: Net, call: Callable[[Any], object], said: str) -> None:
    """One line says what is allowed, before the guest hears of it."""
    with pytest.raises(ScenarioError, match=said) as error:
        call(net)
    assert "\n" not in str(error.value)


def test_no_standard_input(net: Net) -> None:
    """A program whose standard input is empty gets nothing."""
    with pytest.raises(
        StepFailed, match=r"^phone's talk: it has no standard input; start\(\.\.\., stdin=True\) gives it "
    ):
        net.host("phone").start("/bin/talk").send("text")


def test_a_call_that_could_not_be_carried_out(net: Net, talk: _Talk) -> None:
    """The guest's reason is the error, and the session goes on."""
    talk.answers = [Answer(reason="no room")]
    with pytest.raises(StepFailed, match=r"^session: no room$"):
        net.advance("1s")
    net.advance("1s")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda net: net.until("Ready"), "until=Ready is not allowed; allowed: a condition, such as"),
        (lambda net: net.host("phone").prints("x", times=0), "times=0 is not allowed; allowed: a whole number from 1"),
        (lambda net: net.host("phone").prints("x", times=1.5), "times=1.5 is not allowed"),
        (lambda net: net.host("phone").prints(b"x"), "prints=b'x' is not allowed; allowed: a text"),
        (lambda net: net.host("phone").listens(65536), "listens=65536 is not allowed; allowed: a whole number from 1"),
        (lambda net: net.host("phone").start("a 'b"), "start=a 'b is not allowed; allowed: words as a shell reads"),
    ],
)
def test_values_of_other_kinds(net: Net, talk: _Talk, call: Callable[[Any], object], said: str) -> None:
    """They are refused before the guest is asked, so the session goes on."""
    with pytest.raises(ScenarioError) as error:
        call(net)
    assert str(error.value).startswith(said)
    assert not talk.calls


def test_a_session_begins_once(net: Net, talk: _Talk) -> None:
    """A second `with` says what makes a new one."""
    talk.ask = lambda _: None  # type: ignore[method-assign, assignment]
    session = Session(nullcontext(net.run), lambda *_: Result(outcome=net.run.outcome(), frames=[]))
    with pytest.raises(StepFailed, match="out of memory"), session:
        pass
    with pytest.raises(StepFailed, match="it has begun before"), session:
        pass


def test_threads_take_turns(net: Net, talk: _Talk) -> None:
    """A call of another thread waits for the answer to this one."""
    asked: list[int] = []

    def has_answered(_: float) -> bool:
        asked.append(len(talk.calls))
        time.sleep(0.001)
        return len(asked) % 9 == 0

    talk.has_answered = has_answered  # type: ignore[method-assign]
    with ThreadPoolExecutor() as threads:
        programs = [*threads.map(lambda _: net.host("phone").start("talk"), range(5))]
    assert asked == [number for number in range(1, 6) for _ in range(9)]
    assert {program.number for program in programs} == {*range(1, 6)}


def test_its_sandbox_has_ended(net: Net) -> None:
    """A call after the folder of calls is gone says why."""
    net.run.files.path.rename(net.run.files.path.with_name("gone"))
    with pytest.raises(StepFailed, match=r"^session: its Sandbox has ended$"):
        net.advance("1s")
