"""Tests of pages as files: the catalogue, the user's own, and errors in them."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.client.priorities import http2_weight
from priolab.common.errors import ScenarioError
from priolab.common.formats.files import MOST_TOML_BYTES
from priolab.common.formats.page import MAPS, Chunk, Page
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.page_bounds import SIZE_MOST
from priolab.experiments.scenario.pages import Parameters, catalogue, page_of, page_titles, read_page
from tests.support.pages import MS

BACKEND = Path(__file__).parents[4] / "backend"
PARAMETERS = Parameters(size_bytes=716_800, script_delay_ns=200 * MS)

A = '[[resource]]\nname = "a"\ntype = "text/plain"\nsize = 5\n'
B = '[[resource]]\nname = "b"\ntype = "text/plain"\nsize = 5\nimportant = true\n'
STREAM = '[[resource]]\nname = "b"\ntype = "text/event-stream"\nimportant = true\n'
KEYS = (
    "name, type, path, size, delay, important, urgency, incremental, weight, depends_on, after, wait, chunks,"
    " fetchpriority, headers, header_bytes"
)


def written(folder: Path, text: str | bytes, name: str = "mine.toml") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def read(folder: Path, text: str) -> Page:
    return read_page(written(folder, text), PARAMETERS)


def told(folder: Path, text: str | bytes) -> str:
    """Return the error for a wrong file, without the file's name."""
    file = written(folder, text)
    with pytest.raises(ScenarioError) as raised:
        read_page(file, PARAMETERS)
    words = str(raised.value)
    assert words.isprintable(), words
    assert words.startswith(f"PAGE={file}")
    return words.removeprefix(f"PAGE={file}").removeprefix(": ")


# --- the catalogue ---------------------------------------------------------------------------------------------------


def test_maps_is_the_origins_own_page() -> None:
    """The page that the origin serves by default is the Maps case."""
    known = json.loads((BACKEND / "maps.json").read_text())
    made = json.loads(json.dumps(page_of(MAPS, PARAMETERS).as_document()))
    assert {"parameters": ["SIZE", "JS_DELAY"], "ready": "the map works", **known} == made


def test_the_catalogue() -> None:
    """Each page has the name of its file, a title, and the numbers of resources that docs/guide/pages.md gives."""
    pages = {name: page_of(name, PARAMETERS) for name in catalogue()}
    assert {name: page.name for name, page in pages.items()} == {name: name for name in pages}
    assert {name: page.title for name, page in pages.items()} == dict(page_titles())
    counted = {
        name: (len(page.resources), len(page.documents), len(page.important), len(page.others))
        for name, page in pages.items()
    }
    small = {"maps": (3, 1, 1, 1), "tokens": (3, 1, 1, 1), "pair": (2, 0, 1, 1)}
    small |= dict.fromkeys(("strong", "twins", "turns", "mixed"), (2, 0, 1, 1))
    small |= {"downloads": (4, 0, 4, 0)}
    assert counted == small | {"late": (8, 1, 1, 6), "news": (23, 1, 2, 20), "six": (6, 0, 1, 5)} | {
        "signals": (13, 1, 1, 11)
    }
    assert pages["late"]["script"].wait_ns == 600 * MS
    assert pages["tokens"]["tokens"].chunks == (Chunk(at_ns=200 * MS, size_bytes=40, every_ns=20 * MS, count=400),)
    assert {each.size_bytes for each in pages["six"].resources} == {50_000_000}


def test_parameters() -> None:
    """SIZE and JS_DELAY set the values that refer to them. A page without such values has no parameters."""
    page = page_of(MAPS, Parameters(size_bytes=5000, script_delay_ns=7 * MS))
    assert page.parameters == ("SIZE", "JS_DELAY")
    assert [(each.size_bytes, each.delay_ns) for each in page.resources] == [(558, 0), (5000, 0), (5000, 7 * MS)]
    assert page_of("news", PARAMETERS).parameters == ()


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_a_page_goes_with_the_usual_scenario(name: str) -> None:
    """Each page works with the default scenario, which has exactly the parameters that the page names."""
    scenario = scenario_from({"PAGE": name})
    assert scenario.whole_page == page_of(name, PARAMETERS)
    assert (scenario.size_bytes is not None) == ("SIZE" in scenario.whole_page.parameters)
    assert (scenario.script_delay_ns is not None) == ("JS_DELAY" in scenario.whole_page.parameters)


# --- the user's own file ---------------------------------------------------------------------------------------------


def test_what_is_not_said(tmp_path: Path) -> None:
    """Every key except name, type, and size has a default."""
    page = read(tmp_path, A + B)
    assert (page.name, page.title, page.ready, page.parameters) == ("mine", "mine", "the page is ready", ())
    assert asdict(page["a"]) == {
        "name": "a",
        "path": "/a",
        "content_type": "text/plain",
        "size_bytes": 5,
        "delay_ns": 0,
        "important": False,
        "urgency": 3,
        "incremental": False,
        "weight": 147,
        "depends_on": None,
        "after": None,
        "wait_ns": 0,
        "chunks": (),
        "headers_ns": None,
        "header_bytes": 0,
        "fetchpriority": None,
        "cue": None,
    }


def test_what_is_said(tmp_path: Path) -> None:
    """Every key is read."""
    text = (
        'title = "T"\nready = "R"\n'
        '[[resource]]\nname = "p"\ntype = "text/html"\nsize = "4k"\n'
        '[[resource]]\nname = "x"\ntype = "text/css"\npath = "/y/z.css"\nsize = "SIZE"\ndelay = "JS_DELAY"\n'
        'important = true\nurgency = 1\nincremental = true\nweight = 7\ndepends_on = "s"\nafter = "p"\nwait = "50ms"\n'
        'headers = "120ms"\nheader_bytes = 3072\nfetchpriority = "low"\n'
        'cue = { field = "u=9", early = "i", at_once = "u=0", updates = ["u=1"],'
        ' request_step = 2, window_step = 3, answer = "u=2", more = "x" }\n'
        '[[resource]]\nname = "s"\ntype = "text/event-stream"\nsize = 9\n'
        'chunks = [{ at = "1s", bytes = 2 }, { at = "2s", bytes = 1, every = "3ms", count = 7 }]\n'
    )
    page = read(tmp_path, text)
    assert (page.title, page.ready, page.parameters, page["p"].path) == ("T", "R", ("SIZE", "JS_DELAY"), "/")
    style = asdict(page["x"])
    assert style == {
        "name": "x",
        "path": "/y/z.css",
        "content_type": "text/css",
        "size_bytes": 716_800,
        "delay_ns": 200 * MS,
        "important": True,
        "urgency": 1,
        "incremental": True,
        "weight": 7,
        "depends_on": "s",
        "after": "p",
        "wait_ns": 50 * MS,
        "chunks": (),
        "headers_ns": 120 * MS,
        "header_bytes": 3072,
        "fetchpriority": "low",
        "cue": {
            "field": "u=9",
            "early": "i",
            "at_once": "u=0",
            "updates": ("u=1",),
            "request_step": 2,
            "window_step": 3,
            "answer": "u=2",
            "more": "x",
        },
    }
    assert Page.from_document(json.loads(json.dumps(page.as_document()))) == replace(page, notes=())
    assert page["s"].chunks == (
        Chunk(at_ns=1000 * MS, size_bytes=2),
        Chunk(at_ns=2000 * MS, size_bytes=1, every_ns=3 * MS, count=7),
    )


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("text/html; charset=utf-8", "/"),
        ("image/jpeg", "/b.jpg"),
        ("text/javascript; charset=utf-8", "/b.js"),
        ("text/css", "/b.css"),
        ("application/octet-stream", "/b"),
    ],
)
def test_the_path_follows_from_the_type(tmp_path: Path, kind: str, path: str) -> None:
    """The default path of HTML is the root. Other resources have the usual suffix of their type."""
    assert read(tmp_path, A + B.replace("text/plain", kind).replace("size = 5", "size = 4096"))["b"].path == path


@pytest.mark.parametrize("urgency", range(8))
def test_the_weight_follows_from_the_urgency(tmp_path: Path, urgency: int) -> None:
    """The default weight is the one that Chrome sent for the urgency."""
    assert read(tmp_path, A + B + f"urgency = {urgency}\n")["b"].weight == http2_weight(urgency)


@pytest.mark.parametrize(("size", "bytes_"), [("700", 700), ('"700"', 700), ('"2k"', 2048), ('"64M"', SIZE_MOST)])
def test_sizes(tmp_path: Path, size: str, bytes_: int) -> None:
    """A size is a number of bytes, or has a unit."""
    assert read(tmp_path, A + B.replace("size = 5", f"size = {size}"))["b"].size_bytes == bytes_


def test_a_file_of_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PAGE is a path relative to the user's folder."""
    (tmp_path / "here").mkdir()
    written(tmp_path, A + B)
    monkeypatch.chdir(tmp_path / "here")
    assert scenario_from({"PAGE": "../mine.toml"}).whole_page == read_page(tmp_path / "mine.toml", PARAMETERS)


def test_a_copy_of_a_page_of_the_catalogue_has_a_name_of_its_own(tmp_path: Path) -> None:
    """A copy of a catalogue page has another name, so that their results differ by name.
    A path to the catalogue's own file means the catalogue's page.
    """
    other = read_page(written(tmp_path, A + B, "maps.toml"), PARAMETERS)
    assert (other.name, other.title) == ("maps.toml", "maps")
    assert page_of(os.path.relpath(catalogue()[MAPS]), PARAMETERS) == page_of(MAPS, PARAMETERS)


# --- wrong files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("colour = 1", f"resource 2 (b)=colour is not allowed; allowed: the keys {KEYS}"),
        ('"x\\ny" = 1', f"resource 2 (b)=x\\ny is not allowed; allowed: the keys {KEYS}"),
        ("incremental = 'no'", "resource 2 (b): incremental=no is not allowed; allowed: true, false"),
        ("headers = 0", "resource 2 (b): headers=0 is not allowed; allowed: a time such as 200ms, from 0ms to 60s"),
        (
            "headers = '-1s'",
            "resource 2 (b): headers=-1s is not allowed; allowed: a time such as 200ms, from 0ms to 60s",
        ),
        (
            "headers = '1ms'",
            "resource 2 (b): headers=1 ms is not allowed; allowed: at most 0ms, the time of the response's first byte",
        ),
        (
            "delay = '2s'\nheaders = '3s'",
            "resource 2 (b): headers=3,000 ms is not allowed; allowed: at most 2000ms, the time of the response's",
        ),
        ("header_bytes = 3073", "resource 2 (b): header_bytes=3073 is not allowed; allowed: 0 to 3072"),
        ("urgency = 8", "resource 2 (b): urgency=8 is not allowed; allowed: 0 to 7"),
        ("urgency = -1", "resource 2 (b): urgency=-1 is not allowed; allowed: 0 to 7"),
        ("urgency = 1.0", "resource 2 (b): urgency=1.0 is not allowed; allowed: 0 to 7"),
        ("urgency = true", "resource 2 (b): urgency=True is not allowed; allowed: 0 to 7"),
        ("weight = 0", "resource 2 (b): weight=0 is not allowed; allowed: 1 to 256"),
        ("weight = 257", "resource 2 (b): weight=257 is not allowed; allowed: 1 to 256"),
        ("delay = 200", "resource 2 (b): delay=200 is not allowed; allowed: a time such as 200ms, from 0ms to 60s"),
        ("delay = '61s'", "resource 2 (b): delay=61s is not allowed; allowed: a time such as 200ms, from 0ms to 60s"),
        ("delay = 'SIZE'", "resource 2 (b): delay=SIZE is not allowed; allowed: a time such as 200ms"),
        ("path = 'b'", "resource 2 (b): path=b is not allowed; allowed: a path such as /image.jpg"),
        ("path = '//host/b'", "resource 2 (b): path=//host/b is not allowed; allowed: a path such as /image.jpg"),
        ("path = '/../b'", "resource 2 (b): path=/../b is not allowed; allowed: a path such as /image.jpg"),
        ("path = '/b/.'", "resource 2 (b): path=/b/. is not allowed; allowed: a path such as /image.jpg"),
        ("path = '/b?c'", "resource 2 (b): path=/b?c is not allowed; allowed: a path such as /image.jpg"),
        ("path = '/a'", "b: path=/a is not allowed; allowed: a path that no other resource has, and not /ready"),
        ("path = '/ready'", "b: path=/ready is not allowed; allowed: a path that no other resource has, and not"),
        ("after = 'c'", "b: after=c is not allowed; allowed: the name of an earlier resource of the page"),
        ("after = 'b'", "b: after=b is not allowed; allowed: the name of an earlier resource of the page"),
        ("after = 3", "resource 2 (b): after=3 is not allowed; allowed: the name of an earlier resource of the page"),
        ("depends_on = 'c'", "b: depends_on=c is not allowed; allowed: the name of another resource"),
        ("depends_on = 'b'", "b: depends_on=b is not allowed; allowed: the name of another resource"),
        ("chunks = 3", "resource 2 (b): chunks=3 is not allowed; allowed: a list of tables {at, bytes, every, count}"),
        ("chunks = [3]", "resource 2 (b): chunk 1=3 is not allowed; allowed: a table of at, bytes, every, count"),
        ("chunks = []", "resource 2 (b): chunks=[] is not allowed; allowed: a list of tables"),
        ("chunks = [{}]", "resource 2 (b): chunk 1: at=nothing is not allowed; allowed: a time such as 200ms"),
        (
            "chunks = [{at = '1s', bytes = 5, size = 5}]",
            "resource 2 (b): chunk 1=size is not allowed; allowed: the keys at, bytes, every, count",
        ),
        (
            "chunks = [{at = '1s', bytes = 'SIZE'}]",
            "resource 2 (b): chunk 1: bytes=SIZE is not allowed; allowed: 1 byte to 64M",
        ),
        (
            "chunks = [{at = '1s', bytes = 5, count = 0}]",
            "resource 2 (b): chunk 1: count=0 is not allowed; allowed: 1 to 10000",
        ),
        (
            "chunks = [{at = '1s', bytes = 5, every = 1}]",
            "resource 2 (b): chunk 1: every=1 is not allowed; allowed: a time such as 200ms",
        ),
        (
            "chunks = [{at = '1s', bytes = 4}]",
            "resource 2 (b): size=5 is not allowed; allowed: 4, the sum of its chunks, or no size",
        ),
        (
            "chunks = [{at = '2s', bytes = 4}, {at = '1s', bytes = 1}]",
            "resource 2 (b): chunks=1,000 ms is not allowed; allowed: times in ascending order",
        ),
        (
            "chunks = [{at = '0ms', bytes = 1, every = '1s', count = 4}, {at = '2s', bytes = 1}]",
            "resource 2 (b): chunks=2,000 ms is not allowed; allowed: times in ascending order",
        ),
        (
            "delay = '1s'\nchunks = [{at = '1s', bytes = 5}]",
            "resource 2 (b): delay=1,000 ms is not allowed; allowed: no delay with chunks, which have times of",
        ),
    ],
)
def test_a_wrong_line(tmp_path: Path, line: str, words: str) -> None:
    """A single line names the file, the resource, the key, the value, and what is allowed."""
    assert told(tmp_path, A + B + line).startswith(words)


@pytest.mark.parametrize(
    ("given", "instead", "words"),
    [
        ('name = "b"', 'name = "a"', "a: name=a is not allowed; allowed: a name that no other resource has"),
        (
            'name = "b"',
            'name = "B"',
            "resource 2 (B): name=B is not allowed; allowed: 1 to 40 characters of a-z, 0-9 and -",
        ),
        ('name = "b"', f'name = "{41 * "b"}"', f"resource 2 ({41 * 'b'}): name={41 * 'b'} is not allowed; allowed: 1"),
        ('name = "b"', 'name = "b\\nc"', "resource 2 (b\\nc): name=b\\nc is not allowed; allowed: 1 to 40"),
        ('name = "b"\n', "", "resource 2: name=nothing is not allowed; allowed: 1 to 40 characters of a-z, 0-9 and -"),
        ('type = "text/plain"\n', "", "resource 2 (b): type=nothing is not allowed; allowed: a content type such as"),
        ("text/plain", "text", "resource 2 (b): type=text is not allowed; allowed: a content type such as text/css"),
        ("text/plain", "image/png", "resource 2 (b): type=image/png is not allowed; allowed: a content type such as"),
        ("size = 5\n", "", "resource 2 (b): size=nothing is not allowed; allowed: 1 to 64M bytes for text/plain"),
        ("size = 5", "size = 0", "resource 2 (b): size=0 is not allowed; allowed: 1 byte to 64M, or SIZE"),
        ("size = 5", "size = true", "resource 2 (b): size=True is not allowed; allowed: 1 byte to 64M, or SIZE"),
        ("size = 5", 'size = "65M"', "resource 2 (b): size=65M is not allowed; allowed: 1 byte to 64M, or SIZE"),
        ("size = 5", f'size = "{99 * "9"}"', f"resource 2 (b): size={60 * '9'}... is not allowed; allowed: 1 byte"),
        ("text/plain", "image/jpeg", "resource 2 (b): size=5 is not allowed; allowed: 2048 to 64M bytes for image/"),
        ("text/plain", "text/javascript", "resource 2 (b): size=5 is not allowed; allowed: 256 to 64M bytes for text"),
        ("text/plain", "text/html", "b: size=5 is not allowed; allowed: at least 400 bytes, for HTML that"),
        ("true", "1", "resource 2 (b): important=1 is not allowed; allowed: true, false"),
    ],
)
def test_a_wrong_value(tmp_path: Path, given: str, instead: str, words: str) -> None:
    """A single line names the resource, a required key, its value, and what is allowed."""
    assert given in B
    assert told(tmp_path, A + B.replace(given, instead)).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "resource=nothing is not allowed; allowed: 1 to 100 tables [[resource]]"),
        ("resource = 3", "resource=3 is not allowed; allowed: 1 to 100 tables [[resource]]"),
        ("resource = []", "resource=[] is not allowed; allowed: 1 to 100 tables [[resource]]"),
        ("resource = [1, 2]", f"resource 1=1 is not allowed; allowed: a table of {KEYS}"),
        ("colour = 1\n" + A + B, "=colour is not allowed; allowed: the keys title, ready, resource"),
        ("title = 3\n" + A + B, "title=3 is not allowed; allowed: a line of 1 to 200 characters"),
        ("ready = ''\n" + A + B, "ready= is not allowed; allowed: a line of 1 to 40 characters"),
        ('title = "a\\nb"\n' + A + B, "title=a\\nb is not allowed; allowed: a line of 1 to 200 characters"),
        ("title = [\n", " is not allowed; allowed: a readable TOML file (Invalid"),
        (b"title = '\xff'\n", " is not allowed; allowed: a readable TOML file ('utf-8' codec can't decode"),
        ("x = " + 5000 * "[" + 5000 * "]", " is not allowed; allowed: a readable TOML file (it is nested too deeply)"),
    ],
)
def test_a_wrong_file(tmp_path: Path, text: str | bytes, words: str) -> None:
    """The error says why a file is not TOML or not a page."""
    assert told(tmp_path, text).startswith(words)


def _numbered(count: int, rest: str) -> str:
    return "".join(A.replace('"a"', f'"a{number}"').replace("size = 5", rest) for number in range(count))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_numbered(100, "size = 5") + B, "resource=101 tables is not allowed; allowed: 1 to 100 tables [[resource]]"),
        (
            _numbered(16, 'size = "64M"') + B,
            "size=1073741829 bytes in all is not allowed; allowed: at most 1073741824 bytes",
        ),
        (
            A + STREAM + "chunks = [{at = '0ms', bytes = 1, count = 10000}, {at = '1s', bytes = 1}]",
            "resource 2 (b): chunks=10001 pieces is not allowed; allowed: at most 10000 pieces",
        ),
        (
            A + STREAM + "chunks = [{at = '0ms', bytes = '64M'}, {at = '1s', bytes = 1}]",
            "resource 2 (b): size=67108865 is not allowed; allowed: 1 to 64M bytes for text/event-stream",
        ),
    ],
)
def test_too_much(tmp_path: Path, text: str, words: str) -> None:
    """Too many resources, chunks, or bytes, in one resource or in all, are refused."""
    assert told(tmp_path, text) == words


def test_as_much_as_is_allowed(tmp_path: Path) -> None:
    """Values equal to the limits are allowed."""
    assert len(read(tmp_path, _numbered(99, "size = 5") + B).resources) == 100
    pieces = STREAM + "chunks = [{at = '0ms', bytes = 1, count = 9999}, {at = '0ms', bytes = 2}]"
    assert read(tmp_path, A + pieces)["b"].size_bytes == 10_001


@pytest.mark.parametrize(
    "of",
    [{"a": "b", "b": "a"}, {"a": "b", "b": "c", "c": "a"}],
)
def test_dependencies_in_a_circle(tmp_path: Path, of: dict[str, str]) -> None:
    """Dependencies that form a circle are refused."""
    tables = {"a": A, "b": B, "c": A.replace('"a"', '"c"')}
    text = "".join(table + (f'depends_on = "{of[name]}"\n' if name in of else "") for name, table in tables.items())
    words = "a: depends_on=b is not allowed; allowed: the name of a resource that does not depend on this resource"
    assert told(tmp_path, text) == words


def test_dependencies_in_a_row(tmp_path: Path) -> None:
    """A resource may depend on a later one."""
    text = A + 'depends_on = "b"\n' + B + 'depends_on = "c"\n' + A.replace('"a"', '"c"')
    assert [each.depends_on for each in read(tmp_path, text).resources] == ["b", "c", None]


def _fifo(file: Path) -> None:
    os.mkfifo(file)


def _large(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(MOST_TOML_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_fifo, "it is not a regular file"),
        (_large, "it has more than 1 MiB"),
        (Path.mkdir, "it is not a regular file"),
        (lambda _: None, "No such file or directory"),
    ],
)
def test_files_that_are_not_read(tmp_path: Path, make: Callable[[Path], None], why: str) -> None:
    """FIFOs and folders are refused, and a file that is too large is not read to its end."""
    file = tmp_path / "mine.toml"
    make(file)
    with pytest.raises(ScenarioError) as raised:
        page_of(str(file), PARAMETERS)
    assert str(raised.value).startswith(f"PAGE={file} is not allowed; allowed: a readable TOML file (")
    assert why in str(raised.value) or (file.is_dir() and "Is a directory" in str(raised.value))


def test_a_file_with_a_strange_name(tmp_path: Path) -> None:
    """The error for a file with control characters in its name is one line."""
    with pytest.raises(ScenarioError) as raised:
        page_of(f"{tmp_path}/a\nb\x1b.toml", PARAMETERS)
    assert str(raised.value).isprintable()
    assert read_page(written(tmp_path, A + B, "a\nb.toml"), PARAMETERS).name == r"a\nb"


# --- any page --------------------------------------------------------------------------------------------------------

_TYPES = ("text/html; charset=utf-8", "text/javascript", "text/css", "image/jpeg", "text/plain", "text/event-stream")
_CHUNKS: st.SearchStrategy[list[dict[str, str | int]]] = st.lists(
    st.builds(dict, bytes=st.integers(1, 90), every=st.just("3ms"), count=st.integers(1, 5)), min_size=1, max_size=3
)


def _one_of(names: list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(names)


@st.composite
def page_texts(draw: st.DrawFn) -> str:
    """Generate files of valid pages. No resource waits for the last two, of which one is important."""
    count = draw(st.integers(2, 12))
    lines: list[str] = []
    names: list[str] = []
    for number in range(count):
        name, is_last = f"r{number}-{draw(st.sampled_from(['x', 'long-name-of-a-thing']))}", number >= count - 2
        kind = draw(st.sampled_from(_TYPES))
        lines += ["[[resource]]", f'name = "{name}"', f'type = "{kind}"', f'path = "/{name}"']
        if kind == "text/event-stream" and draw(st.booleans()):
            chunks = [each | {"at": f"{20 * index}ms"} for index, each in enumerate(draw(_CHUNKS))]
            tables = (", ".join(f"{key} = {json.dumps(value)}" for key, value in each.items()) for each in chunks)
            lines.append(f"chunks = [{', '.join(f'{{{table}}}' for table in tables)}]")
        else:
            lines += [f"size = {draw(st.integers(8192, 99_999))}", f'delay = "{draw(st.integers(0, 60))}s"']
        important = draw(st.booleans()) if not is_last else number == count - 1
        lines += [f"important = {str(important).lower()}", f"incremental = {str(draw(st.booleans())).lower()}"]
        lines.append(f"urgency = {draw(st.integers(0, 7))}")
        awaitable = names[: count - 2]
        if draw(st.booleans()) and awaitable:
            lines.append(f'after = "{draw(_one_of(awaitable))}"')
        if draw(st.booleans()) and names:
            lines.append(f'depends_on = "{draw(_one_of(names))}"')
        if draw(st.booleans()):
            lines.append(f"weight = {draw(st.integers(1, 256))}")
        names.append(name)
    return "\n".join(lines) + "\n"


@given(text=page_texts())
def test_any_page_survives_its_document(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """A page survives the way to JSON and back, and each resource is in exactly one of three groups."""
    page = read_page(written(tmp_path_factory.mktemp("any"), text), PARAMETERS)
    assert Page.from_document(json.loads(json.dumps(page.as_document()))) == page
    assert sorted((*page.documents, *page.important, *page.others), key=page.resources.index) == list(page.resources)
