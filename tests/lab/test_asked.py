"""Verdicts on what the client asked for, by pages that are unlike those of the catalogue. All runs share a guest."""

from pathlib import Path

import pytest

from tests.support.lab import Done
from tests.support.together import together

pytestmark = pytest.mark.usefixtures("guest")

_HTML = '[[resource]]\nname = "page"\ntype = "text/html"\nsize = "2k"\nurgency = 0\n'


def _resource(name: str, kind: str, size: str, urgency: int, *more: str) -> str:
    lines = (f'name = "{name}"', f'type = "{kind}"', f'size = "{size}"', f"urgency = {urgency}", *more)
    return "\n".join(["[[resource]]", *lines, ""])


def _two(photo: int, script: int) -> str:
    """Returns the page of a photo and of an important script with these urgencies."""
    late = ('after = "page"', 'delay = "200ms"', "important = true")
    return (
        _HTML
        + _resource("photo", "image/jpeg", "300k", photo, 'after = "page"')
        + _resource("script", "text/javascript", "100k", script, *late)
    )


_PAGES = {
    "two-important": _HTML
    + _resource("bulk", "image/jpeg", "400k", 5, 'after = "page"')
    + _resource("first", "text/javascript", "20k", 1, 'after = "page"', 'wait = "500ms"', "important = true")
    + _resource("second", "text/javascript", "20k", 1, 'after = "first"', "important = true"),
    "equal": _two(1, 1),
    "behind": _two(1, 6),
    "alone": _resource("answer", "text/plain", "100k", 3, "important = true"),
    "one-file": _HTML + _resource("file", "application/octet-stream", "300k", 3, 'after = "page"', "important = true"),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The runs of all pages, and one of PAGE=maps in which the order is kept late."""
    folder = tmp_path_factory.mktemp("asked")
    arms: dict[str, tuple[str, ...]] = {"late": ("SIZE=3M", "SNDBUF=1M", "RATE=20mbit", "DELAY=50ms")}
    for name, text in _PAGES.items():
        page: Path = folder / f"{name}.toml"
        page.write_text(text)
        arms[name] = (f"PAGE={page}",)
    return together(folder, arms, "LOWAT=none", "RELOADS=0", "SAMPLE=100ms")


def test_the_one_that_fares_worst_counts(done: Done) -> None:
    """The first of two important resources comes after all other bytes: verdict and ledger are about it.

    The second waits for the first, and has the link to itself.
    """
    arm = done.ok_arm("two-important")
    assert (arm["verdict"], arm["focal"], arm["ledger"]["focal"]) == ("inverted", "first", "first")
    assert arm["first_byte_ms"] > 2 * arm["available_ms"]


def test_equal_priorities_ask_for_no_order(done: Done) -> None:
    """An important resource with the same priority as the other was not asked for first."""
    arm = done.ok_arm("equal")
    assert arm["verdict"] == "undecided"
    assert arm["verdict_reason"].startswith("the client asked for no order: its signals put the script neither before")


def test_an_important_resource_that_was_to_come_last(done: Done) -> None:
    """If the other resource has the higher priority and comes first, the order asked for was kept."""
    arm = done.ok_arm("behind")
    assert arm["verdict"] == "kept"
    assert arm["verdict_reason"].startswith("the photo was asked for first: ")


@pytest.mark.parametrize(("page", "name", "kib"), [("one-file", "file", 300), ("alone", "answer", 100)])
def test_a_file_alone(done: Done, page: str, name: str, kib: int) -> None:
    """A page with nothing beside its important resource has no order, and shows when it was complete."""
    arm = done.ok_arm(page)
    assert (arm["verdict"], arm["others_last_byte_ms"], arm["ledger"]) == ("undecided", None, None)
    assert arm["verdict_reason"] == f"nothing was loaded beside the {name}, so there is nothing to compare"
    assert arm["important_last_byte_ms"] > kib * 1024 / 128


def test_an_order_that_was_kept_late(done: Done) -> None:
    """The reason of `kept` says how late the order was kept, if LOWAT does not explain the needless bytes."""
    arm = done.ok_arm("late")
    assert arm["verdict"] == "kept"
    needless_kib = arm["oracle"]["inversion_bytes"] / 1024
    late_s = arm["oracle"]["inversion_ms"] / 1000
    assert arm["verdict_reason"].endswith(
        f"; its first byte was {late_s:.2f} s late, after {needless_kib:,.0f} needless KiB"
    )
