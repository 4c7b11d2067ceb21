"""Searches of seeds without guests: their words, their order, what is repeated, and what is printed."""

import ast
import shlex
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from priolab.common.errors import LabError, ScenarioError, StepFailed
from priolab.common.process.interruption import Interrupted
from priolab.experiments import cli
from priolab.testbed import sandbox as sandbox_package
from priolab.testbed.sandbox import command, seeds, session
from priolab.testbed.sandbox.faults import Faults, schedule_of_faults
from priolab.testbed.sandbox.outcome import Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputFrame
from priolab.testbed.sandbox.sandbox import Sandbox
from priolab.testbed.sandbox.seed_search import Failure, SeedSearch, TrialRun

Fails = Callable[[session.RunRequest], bool]
_S = 10**9


@pytest.fixture(autouse=True)
def _a_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets each machine carry out requests, without standard input."""
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setattr(session, "usable", lambda request: (request.fabric, None))


def _request(*words: str) -> session.RunRequest:
    line = ["sandbox", *words]
    return command.request_of(cli.options_from(cli.command_line(line), line))


class _Guests:
    """Stands for guests. fails: whether a request fails. carried_out: all requests. A run ends after three seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: Fails, ending: Ending = Ending.ENDED) -> None:
        self.carried_out: list[session.RunRequest] = []
        self._fails = fails
        self._ending = ending
        monkeypatch.setattr(session, "carry_out_all", self._carry_out_all)

    def _carry_out_all(self, orders: Iterable[session.Order], where: str, room: Path, side_by_side: int) -> None:
        assert (where, room.is_absolute()) == (session.GUEST, True)
        waiting = iter(orders)
        while begun := [order for _, order in zip(range(side_by_side), waiting, strict=False)]:
            for order in reversed(begun):  # the last that begins is the first that ends
                self.carried_out.append(order.request)
                order.finished(*self._outcome(order.request))

    def _outcome(self, request: session.RunRequest) -> tuple[Outcome, list[OutputFrame]]:
        failing = self._fails(request)
        outcome = Outcome(ending=self._ending if failing else Ending.ENDED, code=int(failing), duration_ns=3 * _S)
        return outcome, [OutputFrame(at_ns=1, place="client", stream="out", data=b"one\ntwo\n")]


def _search(words: str | None = None, *, jobs: int = 1, own: str = "") -> SeedSearch:
    request = _request(*shlex.split(own), "--server", "serve", "--", "ask")
    return SeedSearch(
        request=request,
        room=Path.cwd(),
        judge=lambda run: run.outcome.ending if run.outcome.code else None,
        faults=None if words is None else Faults.parse(words, request.spec),
        jobs=jobs,
    )


def _texts(request: session.RunRequest) -> list[str]:
    return [text for _, text in request.spec.schedule]


@pytest.mark.parametrize("jobs", [1, 2, 3, 7])
def test_the_lowest_seed_counts(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs side by side and ends first, the lowest failing seed is found, and no run begins afterwards."""
    guests = _Guests(monkeypatch, lambda request: request.spec.seed in (5, 6, 9))
    found = _search(jobs=jobs).find(range(1, 100))
    assert found is not None
    assert found.run.trial.seed == 5
    assert guests.carried_out[-1].fresh
    assert max(each.spec.seed for each in guests.carried_out) < 5 + 2 * jobs


def test_no_seed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each seed is tried once, in a kept guest, and told."""
    guests = _Guests(monkeypatch, lambda _: False)
    search = _search(jobs=2)
    told: list[int] = []
    search.tried = told.append
    assert search.find(range(3, 8)) is None
    assert sorted(told) == sorted(each.spec.seed for each in guests.carried_out) == [3, 4, 5, 6, 7]
    assert not any(each.fresh for each in guests.carried_out)


def test_what_does_not_repeat_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed that fails in a kept guest alone is named, and the search goes on behind it, with seeds it has tried."""
    _Guests(monkeypatch, lambda request: request.spec.seed == 6 or (request.spec.seed == 5 and not request.fresh))
    search = _search(jobs=3)
    found = search.find(range(1, 100))
    assert found is not None
    assert (search.unrepeated, found.run.trial.seed) == ([5], 6)


def test_faults_become_simpler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed is left, without the end that the run does not reach; the schedule of all runs stays."""

    def fails(request: session.RunRequest) -> bool:
        texts = _texts(request)
        assert "DELAY=9ms" in texts
        return "down server" in texts and request.spec.seed >= 2

    _Guests(monkeypatch, fails)
    search = _search("down server, *.LOSS<=3%, faults<=6", own="--at 1s DELAY=9ms")
    numbers: list[int] = []
    search.simpler = numbers.append
    found = search.find(range(1, 100))
    assert found is not None
    assert [*found.run.trial.schedule] == [("0s", "down server"), ("0.01s", "up server")]
    assert _texts_of(found) == ["down server", "up server", "DELAY=9ms"]
    assert len(found.left) == 1 <= len(found.drawn)
    assert numbers == [*range(1, found.further + 1)]

    _Guests(monkeypatch, lambda request: _has(request, "down server", 4_000))
    late = _search("down server, faults<=1, length<=50s, within<=0s").find(range(1, 100))
    assert late is not None
    assert [*late.run.trial.schedule] == [("0s", "down server")]


def _texts_of(found: Failure) -> list[str]:
    return [text for _, text in found.run.spec.schedule]


def _has(request: session.RunRequest, event: str, length_ms: int) -> bool:
    """Return whether an event lasts for so long, or is not ended by the schedule."""
    times = {text: at_ns for at_ns, text in request.spec.schedule}
    end_ns = times.get(event.replace("down", "up"), 10**18)
    return event in times and end_ns - times[event] >= length_ms * 10**6


def test_another_failure_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simpler schedule must fail in the same way, here not by its lack of events."""
    _Guests(monkeypatch, lambda request: len(request.spec.schedule) != 2)
    search = _search("partition, down, stop, faults<=9")

    def judge(run: TrialRun) -> int | None:
        return len(run.spec.schedule) if run.outcome.code else None

    search.judge = judge
    found = search.find(range(1, 50))
    assert found is not None
    assert len(found.left) == len(found.drawn) > 1


def test_endings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of time is a failure, that of the machine once; what the lab lacks ends the search."""
    _Guests(monkeypatch, lambda _: True, Ending.LIMIT)
    assert _search("down").find([1, 2]) is not None
    guests = _Guests(monkeypatch, lambda _: True, Ending.WALL_LIMIT)
    assert _search("down").find([1, 2]) is not None
    assert len(guests.carried_out) == 1
    _Guests(monkeypatch, lambda _: True, Ending.NOT_FOUND)
    with pytest.raises(StepFailed, match=r"^seed 1: not-found$"):
        _search().find([1, 2])


def _lines(words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    complaints: list[str] = []

    class Screen:
        def complain(self, text: str) -> None:
            complaints.append(text)

    line = ["sandbox", *shlex.split(words)]
    code = command.sandbox(cli.options_from(cli.command_line(line), line), Screen())
    written = capsys.readouterr()
    return code, written.out, "\n".join([*complaints, written.err])


def test_what_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The command is all of standard output, and asks for the run that failed; its failure is explained beside it."""
    guests = _Guests(monkeypatch, lambda request: request.spec.seed == 4)
    words = (
        "--seeds 1..9 --jobs 2 DELAY=9ms --faults 'crash, faults<=3' --never 'client prints thre' --server 'a b' -- ask"
    )
    code, out, err = _lines(words, capsys)
    assert code == 1
    again = shlex.split(out.removesuffix(" </dev/null\n"))
    assert again[:4] == ["priolab", "sandbox", "DELAY=9ms", "SEED=4"]
    assert again[-4:] == ["--never", "client prints thre", "--", "ask"]
    assert _request(*again[2:]).spec == guests.carried_out[-1].spec
    assert err.startswith("seed 4 fails: the client exits 1\n4 of 9 seeds tried in ")
    assert "\nclient| one\nclient| two\nto repeat it:\n" in err
    assert _lines(words.replace("1..9", "5..9"), capsys)[:2] == (0, "")
    expected = _lines(words.replace("thre", "two"), capsys)
    assert "seed 1 fails: expected: client never prints 'two', but it did in its line 2" in expected[2]


def test_faults_without_a_search() -> None:
    """SEED draws them; a file may have them."""
    spec = _request("SEED=7", "--faults", "down, LOSS<=9%", "--server", "s", "--", "ask").spec
    bare = _request("--server", "s", "--", "ask").spec
    drawn = Faults.parse("down, LOSS<=9%", bare).drawn(7)
    assert [text for _, text in spec.schedule] == [event for _, event in schedule_of_faults(drawn)] != []


def test_a_file_may_have_faults(tmp_path: Path) -> None:
    """The key is the option's name; the option counts more."""
    file = tmp_path / "storm.toml"
    file.write_text('faults = "LOSS<=9%"\n[client]\ncommand = "ask"\n[server]\ncommand = "serve"\n')
    assert "LOSS=" in str(_request(str(file)).spec.schedule)
    assert "down server" in str(_request(str(file), "--faults", "down").spec.schedule)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--seeds 5..1",
            "--seeds=5..1 is not allowed; allowed: FIRST..LAST, such as 1..1000, with seeds of 0 to 42949",
        ),
        ("--seeds many", "--seeds=many is not allowed; allowed: FIRST..LAST, such as 1..1000"),
        ("--seeds 1..9999999999", "--seeds=9999999999 is not allowed; allowed: 0 to 4294967295"),
        ("--seeds 1..9 --jobs 0", "--jobs=0 is not allowed; allowed: 1 to 64"),
        ("--jobs 2", "--jobs=2 is not allowed; allowed: none without --seeds"),
        ("--seeds 1..9 SEED=4", "SEED=4 is not allowed; allowed: none beside --seeds, which gives each run its seed"),
        ("--seeds 1..9 FABRIC=netns", "FABRIC=netns is not allowed; allowed: virtual with --seeds: elsewhere no run r"),
        (
            "--seeds 1..9 --faults down",
            "--faults=down is not allowed; allowed: faults with their hosts, as none but cl",
        ),
        ("--faults LOS=1%", "--faults=LOS=1% is not allowed; allowed: LOSS; = after a knob of RATE"),
        ("--seeds 1 --capture x", "--capture=x is not allowed; allowed: none beside --seeds; the command"),
        ("--seeds 1 --capture x", "prints takes --capture"),
        ("--seeds 1 --both", "--both= is not allowed; allowed: none beside --seeds"),
    ],
)
def test_bad_input(words: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what is allowed, before any run."""
    _Guests(monkeypatch, lambda _: pytest.fail("a run"))
    with pytest.raises(ScenarioError) as error:
        _lines(f"{words} -- ask", capsys)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_bad_input_in_python() -> None:
    """Errors of search() name its parameters."""
    with pytest.raises(LabError, match=r"^sandbox: search\(\) needs `with`: "):
        Sandbox().search("ask", seeds=range(3))
    with Sandbox(server="serve") as sandbox:
        for given, said in (
            ({"seeds": 3}, "seeds=3 is not allowed; allowed: a sequence, such as range(1, 1001)"),
            ({"seeds": [-1]}, "seeds=-1 is not allowed; allowed: 0 to 4294967295"),
            ({"seeds": [1], "jobs": 0}, "jobs=0 is not allowed; allowed: 1 to 64"),
            ({"seeds": [1], "SEED": 3}, "search(SEED=...): the parameter is seeds, such as seeds=range(1, 1001)"),
            ({"seeds": [1], "FABRIC": "netns"}, "fabric=netns is not allowed; allowed: virtual with search()"),
            ({"seeds": [1], "faults": "crsh"}, "faults=crsh is not allowed; allowed: crash; faults with commas"),
            ({"seeds": [1], "samples": "x"}, "search(samples=...): the parameter is samples of run()"),
        ):
            with pytest.raises(LabError) as error:
                sandbox.search("ask", **given)
            assert str(error.value).startswith(said)


def test_an_interrupted_search_says_how_far_it_came(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the first seed that has not been tried."""

    def fails(request: session.RunRequest) -> bool:
        if request.spec.seed == 4:
            raise Interrupted(signal.SIGINT)
        return False

    _Guests(monkeypatch, fails)
    with pytest.raises(Interrupted):
        _lines("--seeds 1..9 --jobs 1 -- ask", capsys)
    assert capsys.readouterr().err.endswith(" a minute; none of them has failed in a new guest; --seeds 4..9 goes on\n")


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """There is one line, which is written over again and removed in the end."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = seeds._Progress(range(1, 11))
    progress.tried(1)
    progress.tried(2)
    progress.simpler(3)
    progress.end()
    *_, second, third, end = capsys.readouterr().err.split("\r\x1b[K")
    assert second.startswith("2 of 10 seeds tried in ")
    assert third == "a seed fails; run 3 to make its faults simpler and to repeat it"
    assert end == ""


def test_hypothesis_is_imported_by_its_strategies_alone() -> None:
    """A sandbox needs no package for tests, and the strategies nothing else."""
    found = set()
    for file in Path(sandbox_package.__file__).parent.glob("*.py"):
        tree = ast.parse(file.read_text())
        names = {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        found |= {file.name for name in names if name.startswith("hypothesis") or name.endswith("strategies")}
    assert found == {"strategies.py"}
