"""Tests of pictures: interactive HTML, SVG and PNG of one Vega-Lite declaration."""

from html.parser import HTMLParser
from pathlib import Path

import pytest
import vl_convert

from priolab.analysis.figures import picture
from priolab.analysis.figures.lettering import beside
from priolab.analysis.figures.sheet import Axis, Declaration, Panel, heading, sheet, title
from tests.support.declarations import is_valid, schema_version, valid

AXIS = Axis(most=10, title="seconds")


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Sets the cache folder; returns the folder in which the picture module keeps Vega's program."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "priolab"


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces the bundling of Vega's program, which takes a second; returns the list of bundled snippets."""
    asked: list[str] = []

    def pack(snippet: str, **_: str) -> str:
        asked.append(snippet)
        return "var packed;"

    monkeypatch.setattr(vl_convert, "javascript_bundle", pack)
    return asked


def figure() -> Declaration:
    panel = Panel(axis=AXIS, bottom=0, top=1, height_px=100, is_last=True)
    layers = [
        panel.bars([{"start": 1, "end": 2, "base": 0, "top": 1, "colour": "#000000"}], []),
        panel.text(beside("</script> & more", 50, 20, 1000), 0.5, "#000000"),
        panel.numbers([{"start": 0, "end": 10, "worth": 4321}], {"worth": "its worth"}),
    ]
    return sheet([panel.made_of(layers, title("A panel", []))], heading(["a headline"]))


class Addresses(HTMLParser):
    """A parser that collects the addresses that a page would fetch, its Content-Security-Policy and its scripts."""

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
    """The page contains no address of another file, and its Content-Security-Policy forbids every fetch."""
    page = picture.page(figure(), "timeline")
    seen = Addresses(page)
    assert seen.fetched == []
    assert seen.policy.startswith("default-src 'none'; ")
    assert "://" not in page
    assert seen.scripts == page.count("</script>") == 2
    assert packed
    assert cache.exists()


def test_the_program_is_kept(cache: Path, packed: list[str]) -> None:
    """Vega's program is bundled once and cached; if the cache cannot be written, each page bundles it again."""
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
    """`save` writes SVG, PNG and HTML of the same picture; only the HTML has the numbers for tooltips."""
    folder = tmp_path / "figures"
    folder.mkdir()
    paths = picture.save(figure(), folder, "one")
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
    """If a file cannot be written, `save` leaves no part of a file in the folder."""
    folder = tmp_path / "figures"
    folder.mkdir()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        picture.save(figure(), folder, "one")
    assert list(folder.iterdir()) == []
    assert packed
    assert not list(cache.iterdir())


def test_what_moves_is_not_on_paper() -> None:
    """`still` removes the selection that moves the axis and the invisible marks, and leaves all other marks."""
    declaration = figure()
    still = picture.still(declaration)
    assert declaration["params"]
    assert "params" not in still
    seen = still["vconcat"][0]["layer"]
    assert [layer["mark"]["type"] for layer in seen] == ["rect", "text"]
    assert seen == declaration["vconcat"][0]["layer"][:2]
    assert declaration == figure()


def test_the_schema_is_of_the_version_that_is_drawn() -> None:
    """The tests check figures against the schema of the Vega-Lite version that draws them."""
    assert schema_version().startswith(f"v{picture.VEGA_LITE}.")


@pytest.mark.parametrize(("key", "value"), [("strokeWith", 3), ("opacity", "much"), ("type", "rectangle")])
def test_the_schema_refuses_a_misspelt_mark(key: str, value: object) -> None:
    """A figure is valid Vega-Lite, but not with an unknown property or a wrong value anywhere in it."""
    document = valid(figure())
    document["vconcat"][0]["layer"][1]["mark"][key] = value
    assert not is_valid(document)
