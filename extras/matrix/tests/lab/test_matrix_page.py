"""The page of matrix.json in a real browser: without a network it sorts and filters, and fits the window."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from priolab.extras.matrix.matrix_files import documented as documented_matrix
from priolab.extras.matrix.page import html
from tests.support.documented import documented
from tests.support.visits import violations

HIGH_AND_WIDE = [(1280, 800), (390, 844)]


@pytest.fixture(scope="module", params=HIGH_AND_WIDE, ids=["desk", "phone"])
def page(request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Open the page without a network; fail at the end if the browser reported an error."""
    width, height = request.param
    file = tmp_path_factory.mktemp("page") / "matrix.html"
    file.write_text(html(documented_matrix()))
    with browser.new_context(viewport={"width": width, "height": height}, offline=True, bypass_csp=True) as context:
        opened, errors = context.new_page(), list[str]()
        opened.on("console", lambda message: errors.append(message.text))
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.goto(file.as_uri())
        yield opened
        assert errors == []


def _rows(page: Page) -> list[str]:
    """Return the texts of the visible row headings, without the versions."""
    rows: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('#matrix tbody tr:not([hidden]) th')]"
        ".map((head) => [...head.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join(''))"
    )
    return rows


def test_it_fits(page: Page) -> None:
    """All rows are there, and only the tables scroll sideways."""
    assert _rows(page) == list(documented()["servers"])
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_filters(page: Page) -> None:
    """Filters leave rows of a server, of the newest versions, and those with a result in the chosen dialect."""
    servers = documented()["servers"]
    page.select_option("#server", "node")
    assert _rows(page) == [name for name, row in servers.items() if row["server"] == "node"]
    page.select_option("#dialect", "header")
    page.select_option("#layer", "front")
    front = [name for name, row in servers.items() if row["dialects"]["header"]["layer"] == "front"]
    assert _rows(page) == [name for name in front if servers[name]["server"] == "node"]
    assert page.locator("#matrix thead th:visible").all_inner_texts() == ["server", "header"]
    page.select_option("#server", "")
    assert _rows(page) == front
    assert page.locator("#count").inner_text() == f"{len(front)} of {len(servers)} rows"
    page.select_option("#dialect", "")
    page.select_option("#layer", "")
    page.check("#newest")
    newest = {row["server"]: name for name, row in servers.items()}
    assert _rows(page) == list(newest.values())
    page.uncheck("#newest")
    assert _rows(page) == list(servers)


def test_sorting(page: Page) -> None:
    """A click on a dialect sorts by its result, a second click the other way round; the first column restores.

    Rows in which the dialect was not measured come after the others.
    """
    ranks = ("nowhere", "socket", "front", "server", None)
    servers = documented()["servers"]
    names = list(servers)
    fallen = sorted(names, key=lambda name: ranks.index(servers[name]["dialects"].get("chrome", {}).get("layer")))
    heading = page.get_by_role("button", name="chrome", exact=True)
    heading.click()
    assert _rows(page) == fallen
    heading.click()
    assert _rows(page) == fallen[::-1]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="server", exact=True).click()
    assert _rows(page) == names


def test_a_link_to_a_cell(page: Page) -> None:
    """A cell's address opens its evidence beside the fixed row heading, also if a filter has hidden the cell."""
    page.select_option("#server", "haproxy")
    page.evaluate("location.hash = '#nginx@sid-chrome+header'")
    cell = page.locator("[id='nginx@sid-chrome+header']")
    evidence = cell.locator("details")
    evidence.locator("p").first.wait_for(state="visible")
    assert page.input_value("#server") == ""
    head, place = page.locator("th", has_text="nginx@sid").first.bounding_box(), cell.bounding_box()
    assert head is not None
    assert place is not None
    assert head["x"] + head["width"] <= place["x"] + 1
    assert place["x"] + place["width"] <= page.evaluate("document.documentElement.clientWidth")
    row = documented()["servers"]["nginx@sid"]
    told = evidence.inner_text()
    assert f"version {row['version']}, digest {row['digest']}" in told
    assert "make matrix SERVER=nginx@sid DIALECT=chrome+header" in told
    runs = evidence.get_by_role("link", name="probe-spdy").get_attribute("href")
    assert runs == "../results/matrix-runs/nginx@sid.chrome-header.probe-spdy/"
    evidence.get_by_role("link", name="sent by the client").click()
    sent = page.locator("details:target")
    assert "HEADERS, image: weight 147" in sent.inner_text()
    page.evaluate("location.hash = ''")


@pytest.mark.parametrize("page", HIGH_AND_WIDE[:1], indirect=True)
def test_the_accessibility_checker_finds_nothing(page: Page, axe_script: Path) -> None:
    """axe finds nothing in the page."""
    assert violations(page, axe_script) == []
