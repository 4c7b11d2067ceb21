"""Pictures: interactive HTML, SVG and PNG of one declaration."""

import json
from html.parser import HTMLParser
from pathlib import Path

import altair as alt
import pytest
import vl_convert

from analysis.figures import picture
from analysis.figures.lettering import beside
from analysis.figures.sheet import Axis, Chart, Panel, sheet, title, values

AXIS = Axis(most=10, title="seconds")


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the program is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "priolab"


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In place of Vega's program, which takes a second to pack: what it was packed with, once for every time."""
    asked: list[str] = []

    def pack(snippet: str, **_: str) -> str:
        asked.append(snippet)
        return "var packed;"

    monkeypatch.setattr(vl_convert, "javascript_bundle", pack)
    return asked


def chart() -> Chart:
    panel = Panel(axis=AXIS, bottom=0, top=1, height_px=100, is_last=True)
    bar = alt.Chart(values([{"start": 1, "end": 2, "base": 0, "top": 1}])).mark_rect()
    layers = [
        bar.encode(x=panel.x(), x2="end:Q", y=panel.y("base"), y2="top:Q"),
        panel.text(beside("</script> & more", 50, 20, 1000), 0.5, "#000000"),
        panel.numbers([{"start": 0, "end": 10, "worth": 4321}], {"worth": "its worth"}),
    ]
    return sheet([panel.made_of(layers, title("A panel", []))], ["a headline"])


class Addresses(HTMLParser):
    """What a page would fetch, and what it forbids itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.policy = ""
        self.scripts = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.fetched += [value for key, value in attrs if key in ("src", "href", "srcset", "data") and value]
        self.scripts += tag == "script"
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given.get("content") or ""


def test_the_page_fetches_nothing(cache: Path, packed: list[str]) -> None:
    """No element names another file, no script an address, and the page's own policy would refuse."""
    page = picture.page(chart().to_dict(), "timeline")
    seen = Addresses(page)
    assert seen.fetched == []
    assert seen.policy.startswith("default-src 'none'; ")
    assert "://" not in page
    assert seen.scripts == page.count("</script>") == 2
    assert packed
    assert cache.exists()


def test_the_program_is_kept(cache: Path, packed: list[str]) -> None:
    """It is packed once; and each time where nothing can be kept."""
    first, second = (picture.page({}, "timeline") for _ in range(2))
    assert first == second
    assert "var packed;" in first
    assert len(packed) == 1
    (kept,) = cache.iterdir()
    kept.unlink()
    cache.rmdir()
    cache.write_text("not a folder")
    assert picture.page({}, "timeline") == first
    assert len(packed) == 2


def test_three_files_and_nothing_else(cache: Path, packed: list[str], tmp_path: Path) -> None:
    """All three show the same; the numbers are for who points at them."""
    folder = tmp_path / "figures"
    folder.mkdir()
    paths = picture.save(chart(), folder, "one")
    assert sorted(folder.iterdir()) == sorted(paths)
    assert [path.name for path in paths] == ["one.svg", "one.png", "one.html"]
    svg = paths[0].read_text()
    assert "&lt;/script&gt; &amp; more" in svg
    assert "4321" not in svg
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    assert "4321" in paths[2].read_text()
    assert len(packed) == 1
    assert len(list(cache.iterdir())) == 1


def test_a_file_that_cannot_be_written_is_not_there(
    cache: Path, packed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even a part of it."""
    folder = tmp_path / "figures"
    folder.mkdir()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        picture.save(chart(), folder, "one")
    assert list(folder.iterdir()) == []
    assert packed
    assert not list(cache.iterdir())


def test_what_moves_is_not_on_paper() -> None:
    """Neither the selection that moves the axis, nor what nobody sees; the rest is as it was."""
    declaration = chart().to_dict()
    still = picture.still(declaration)
    assert declaration["params"]
    assert "params" not in still
    marks = [layer["mark"]["type"] for layer in still["vconcat"][0]["layer"]]
    assert marks == ["rect", "text"]
    assert json.dumps(still["datasets"]) == json.dumps(declaration["datasets"])
