"""Tests of the arguments of the command line."""

from pathlib import Path

import pytest

from priolab.common.errors import ScenarioError
from priolab.experiments.execution.cli_request import ignored, joined_words, request_from, split_words
from priolab.experiments.execution.request import arms_for
from priolab.experiments.scenario.named import read_entry


def test_split_words() -> None:
    """NAME=VALUE sets a knob, and an argument without `=` names a scenario. The last value of a knob is used."""
    words = ["swap", "LOWAT=16384", "CONTROL=no", "RESULTS=a=b", "LOWAT=none"]
    assert split_words(words) == {"SCENARIO": "swap", "LOWAT": "none", "CONTROL": "no", "RESULTS": "a=b"}
    assert split_words([]) == {}
    assert joined_words(split_words(words)) == "SCENARIO=swap LOWAT=none CONTROL=no RESULTS=a=b"


def test_knobs_that_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A knob that is given twice or in the environment causes a message."""
    monkeypatch.setenv("LOWAT", "4096")
    monkeypatch.setenv("CC", "bbr")
    assert list(ignored(["swap", "LOWAT=16384", "CONTROL=no", "LOWAT=none", "LOWAT=none"])) == [
        "LOWAT=16384 has no effect, because LOWAT=none comes after it",
        "CC=bbr in the environment has no effect: give knobs on the command line",
    ]
    assert list(ignored(["LOWAT=1", "CC=cubic"])) == []


@pytest.mark.parametrize(
    ("word", "near"), [("LOWATT=1", "LOWAT"), ("lowat=1", "LOWAT"), ("repeat=3", "REPEAT"), ("JSDELAY=1s", "JS_DELAY")]
)
def test_did_you_mean(word: str, near: str) -> None:
    """The error for an unknown name proposes the knob with the most similar name."""
    with pytest.raises(ScenarioError, match=rf"^{word.split('=')[0]}\b.*did you mean .*\b{near}\b"):
        split_words([word])


def test_a_name_like_no_other_is_answered_with_all() -> None:
    """The error for a name unlike every knob lists all knobs, including the execution options."""
    with pytest.raises(ScenarioError, match=r"^QQQQ\b.*LOWAT.*REPEAT"):
        split_words(["QQQQ=1"])


@pytest.mark.usefixtures("guest")
def test_request_of_no_words() -> None:
    """Without arguments, a request is the Maps case with control and treatment, once, in the virtual fabric."""
    request = request_from({})
    assert (request.name, request.repeat, request.run_settings.fabric.name) == ("maps", 1, "virtual")
    assert (request.results, request.run_settings.load_deadline_ns) == (Path("results"), None)
    assert [(arm.name, arm.scenario.lowat_bytes) for arm in request.arms] == [
        ("control", None),
        ("lowat-131072", 131_072),
    ]


def test_words_go_over_the_named_scenario() -> None:
    """A knob on the command line overrides the named scenario's, which overrides the default."""
    request = request_from(split_words(["maps-16384", "DELAY=10ms"]))
    scenario = request.arms[-1].scenario
    assert (scenario.lowat_bytes, scenario.link.delay_ns) == (16_384, 10_000_000)
    assert request_from(split_words(["maps-16384", "LOWAT= 1k "])).arms[-1].scenario.lowat_bytes == 1024


def test_how_to_run() -> None:
    """Execution options set the repetitions, the fabric, the deadline, and the results folder."""
    words = ["REPEAT=3", "FABRIC=netns", "DEADLINE=90s", "RESULTS=/tmp/somewhere", "CONTROL=no"]
    request = request_from(split_words(words))
    assert (request.repeat, request.run_settings.fabric.name, request.run_settings.load_deadline_ns) == (
        3,
        "netns",
        90 * 10**9,
    )
    assert request.results == Path("/tmp/somewhere")
    assert [arm.name for arm in request.arms] == ["lowat-131072"]


@pytest.mark.parametrize(
    ("word", "allowed"),
    [
        ("REPEAT=0", "1 to 1000"),
        ("REPEAT=1001", "1 to 1000"),
        ("REPEAT=two", "1 to 1000"),
        ("CONTROL=maybe", "yes, no"),
        ("CAPTURE=maybe", "yes, no"),
        ("FABRIC=docker", "virtual"),
        ("DEADLINE=0", "a time such as 90s, from 100ms to 86400s, or auto"),
        ("DEADLINE=90", "a time such as 90s, from 100ms to 86400s, or auto"),
        ("DEADLINE=1ns", "from 100ms to 86400s"),
        ("DEADLINE=99999999999999999s", "from 100ms to 86400s"),
        ("RESULTS=a\nb", "printable, with at most 200 bytes"),
        (f"RESULTS=/tmp/{'a' * 300}", "printable, with at most 200 bytes"),
        ("RESULTS=", "a folder that can be written"),
        ("SCENARIO=mops", "maps"),
        ("SCENARIO=/nowhere/mine.toml", "a readable TOML file"),
        ("LOWAT=0", "1 to 4294967295 bytes, or none"),
    ],
)
def test_bad_words(word: str, allowed: str) -> None:
    """The error for a bad value repeats the argument and says what is allowed."""
    with pytest.raises(ScenarioError) as caught:
        request_from(split_words([word]))
    assert str(caught.value).startswith(f"{word} is not allowed; allowed: ")
    assert allowed in str(caught.value)


def test_control_is_the_same_with_lowat_unset() -> None:
    """Control and treatment differ in LOWAT alone, and the control comes first."""
    control, treatment = arms_for({"LOWAT": "16k", "CC": "bbr"}, control=True)
    assert (control.name, treatment.name) == ("control", "lowat-16384")
    assert dict(treatment.knobs) | {"LOWAT": "none"} == dict(control.knobs)
    assert control.scenario.congestion_control == "bbr"


def test_several_servers_have_their_arms_each() -> None:
    """Each of several servers has its own arms, which have its name. For a single server the name is omitted."""
    arms = arms_for({"SERVER": "nginx, h2o,nginx", "LOWAT": "4k"}, control=True)
    assert [arm.name for arm in arms] == ["nginx-control", "nginx-lowat-4096", "h2o-control", "h2o-lowat-4096"]
    assert [arm.scenario.server for arm in arms] == ["nginx", "nginx", "h2o", "h2o"]
    with pytest.raises(ScenarioError, match="SERVER=iis is not allowed"):
        arms_for({"SERVER": "nginx,iis"}, control=True)


def test_several_clients_have_their_arms_each() -> None:
    """Each of several clients has its own arms, within those of a server.
    Names of a single client or server are omitted.
    """
    arms = arms_for({"CLIENT": "h2,chromium", "LOWAT": "4k"}, control=True)
    assert [arm.name for arm in arms] == ["h2-control", "h2-lowat-4096", "chromium-control", "chromium-lowat-4096"]
    assert [arm.scenario.client for arm in arms] == ["h2", "h2", "chromium", "chromium"]
    both = arms_for({"CLIENT": "h2,chromium", "SERVER": "nginx,h2o", "LOWAT": "none"}, control=True)
    assert [arm.name for arm in both] == [
        "nginx-h2-control",
        "nginx-chromium-control",
        "h2o-h2-control",
        "h2o-chromium-control",
    ]
    (alone,) = arms_for({"CLIENT": "chromium", "LOWAT": "none"}, control=True)
    assert alone.name == "control"


def test_a_probe_is_one_arm() -> None:
    """A probe has one arm, because LOWAT does not affect it."""
    arms = arms_for({"PLAN": "probe", "RELOADS": "0", "LOWAT": "4k,none"}, control=True)
    assert [arm.name for arm in arms] == ["probe"]


@pytest.mark.parametrize("control", [True, False])
def test_lowat_none_is_the_control_alone(control: bool) -> None:  # noqa: FBT001
    """With LOWAT=none, the only arm is the control."""
    assert [(arm.name, arm.scenario.lowat_bytes) for arm in arms_for({"LOWAT": "none"}, control=control)] == [
        ("control", None)
    ]


@pytest.mark.parametrize(
    ("lowat", "control", "names"),
    [
        ("4k,16384", True, ["control", "lowat-4096", "lowat-16384"]),
        ("none,auto,4k", False, ["control", "lowat-auto", "lowat-4096"]),
        ("16384, 4k", False, ["lowat-16384", "lowat-4096"]),
        ("4096,none", False, ["control", "lowat-4096"]),
        ("128k,131072", False, ["lowat-131072"]),
    ],
)
def test_several_values_are_an_arm_each(lowat: str, control: bool, names: list[str]) -> None:  # noqa: FBT001
    """Each value of LOWAT is an arm, after the control and in the given order.
    Equal values in two spellings are one arm.
    """
    arms = arms_for({"LOWAT": lowat, "GSO": "2"}, control=control)
    assert [arm.name for arm in arms] == names
    assert {arm.scenario.gso_segments for arm in arms} == {2}


@pytest.mark.parametrize("lowat", ["4096,", "4096,abc"])
def test_each_of_several_values_is_checked(lowat: str) -> None:
    """The error names the bad value in a list."""
    with pytest.raises(ScenarioError, match=f"^LOWAT={lowat.partition(',')[2]} is not allowed"):
        arms_for({"LOWAT": lowat}, control=True)


def test_own_scenario_file(tmp_path: Path) -> None:
    """A scenario can be a file of the user, with numbers with or without quotes."""
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\nexpect = "much"\n[knobs]\nLOWAT = 4096\nSERVER = "h2o"\n')
    entry = read_entry(path)
    assert (entry.name, entry.title, entry.expect) == ("mine", "Mine", "much")
    request = request_from({"SCENARIO": str(path)})
    assert (request.name, request.arms[-1].scenario.server) == ("mine", "h2o")
    assert request.arms[-1].scenario.lowat_bytes == 4096


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("title = ", "a readable TOML file"),
        ('titel = "x"', "titel"),
        ("[knobs]\nLOWAT = 0\n", "LOWAT=0"),
        ("[knobs]\nLOWATT = 1\n", "LOWATT"),
        ("[knobs]\nREPEAT = 5\n", "REPEAT"),
    ],
)
def test_bad_scenario_file(tmp_path: Path, text: str, named: str) -> None:
    """A scenario file that is not TOML, has an unknown key, or has a bad knob is refused with its name."""
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        read_entry(path)
    assert named in str(caught.value)
