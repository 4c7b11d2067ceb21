"""An interactive figure in a browser: it fits its window, and follows the pointer."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from priolab.analysis.figures import picture, timeline
from priolab.analysis.records.runs import load_experiment
from priolab.common.home import ROOT
from tests.support.visits import visit

pytestmark = pytest.mark.usefixtures("chromium")

_WINDOWS = [(1280, 720), (390, 844), (1920, 1080)]
# The drawing's own frame in the window. The page replaces the method that Vega asks.
_FRAME = """
() => {
    const frame = Element.prototype.getBoundingClientRect.call(document.querySelector("svg.marks"));
    return [frame.left, frame.top, frame.width, frame.height];
}
"""
_TICKS = """
() => Object.fromEntries([...document.querySelectorAll("svg.marks .role-axis-label text")].map((tick) =>
    [tick.textContent, tick.getBoundingClientRect().x]))
"""


@pytest.fixture(scope="module")
def figure(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the interactive timeline of a recorded experiment."""
    declaration = timeline.draw(load_experiment(ROOT / "tests" / "golden" / "format-3"))
    assert declaration is not None
    path: Path = tmp_path_factory.mktemp("figure") / "timeline.html"
    path.write_text(picture.page(declaration, "timeline"))
    return path.as_uri()


def _opened(page: Page) -> tuple[float, float, float, float]:
    """Wait for the drawing. Return its left, top, width and height in the window."""
    page.locator("svg.marks .role-axis-label text").first.wait_for()
    left, top, width, height = page.evaluate(_FRAME)
    return left, top, width, height


@pytest.mark.parametrize("window", _WINDOWS)
def test_the_figure_fits_its_window(figure: str, browser: Browser, window: tuple[int, int]) -> None:
    """The figure is as large as the window allows; the reader scrolls in no direction, also after a change of size."""
    with visit(browser, figure, offline=True, width=700, height=700) as page:
        _opened(page)
        page.set_viewport_size({"width": window[0], "height": window[1]})
        left, top, width, height = _opened(page)
        assert (left, top, width) == (0, 0, window[0])
        size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        assert size == [*window]
        drawn_width, drawn_height = page.evaluate(
            "(({width, height}) => [width, height])(document.querySelector('svg.marks').viewBox.baseVal)"
        )
        assert height == pytest.approx(min(window[1] - 40, width / drawn_width * drawn_height), abs=1)


@pytest.mark.parametrize("window", _WINDOWS)
def test_the_axis_follows_the_pointer(figure: str, browser: Browser, window: tuple[int, int]) -> None:
    """A drag by 40 pixels moves the ticks of the axis by 40 pixels, however large the figure is drawn."""
    with visit(browser, figure, offline=True, width=window[0], height=window[1]) as page:
        _, top, _, height = _opened(page)
        before = page.evaluate(_TICKS)
        x, y = window[0] / 2, top + 0.3 * height
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 20, y)
        page.mouse.move(x + 40, y)
        page.mouse.up()
        tick = min(before, key=lambda text: abs(before[text] - x))
        page.wait_for_function(f"({_TICKS})()[{tick!r}] !== {before[tick]}")
        assert page.evaluate(_TICKS)[tick] - before[tick] == pytest.approx(40, abs=1)
