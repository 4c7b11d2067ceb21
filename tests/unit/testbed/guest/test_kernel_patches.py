"""Tests of the kernel patches: applied as a whole or not at all, and only to the versions that need them."""

from pathlib import Path

import pytest

from priolab.testbed.guest.kernel_build import options
from priolab.testbed.guest.kernel_patches import CHANGES
from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, Version


def _change(*wordings: tuple[Edit, ...], since: Version = (6, 1), before: Version | None = None) -> Change:
    return Change(name="a change", effect=Effect.SPEED, since=since, before=before, wordings=wordings)


def test_a_change_is_made_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """A patch changes no file if a line to replace is missing or occurs twice. Then its next variant is tried."""
    (tmp_path / "a.c").write_text("one\ntwo\ntwo\n")
    half = (Edit("a.c", "one", "1"), Edit("a.c", "three", "3"))
    twice = (Edit("a.c", "one", "1"), Edit("a.c", "two", "2"))
    elsewhere = (Edit("a.c", "one", "1"), Edit("b.c", "one", "1"))
    assert not _change(half, twice, elsewhere).apply(tmp_path)
    assert (tmp_path / "a.c").read_text() == "one\ntwo\ntwo\n"
    assert _change(half, (Edit("a.c", "one", "1"),)).apply(tmp_path)
    assert (tmp_path / "a.c").read_text() == "1\ntwo\ntwo\n"


@pytest.mark.parametrize(("version", "needed"), [((6, 1), False), ((6, 5), True), ((6, 12), True), ((6, 13), False)])
def test_a_change_is_for_some_versions(version: Version, *, needed: bool) -> None:
    """A patch is applied from the first version that needs it until the first that does not."""
    assert _change(since=(6, 5), before=(6, 13)).is_needed(version) is needed


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        ((6, 1), ["CONFIG_RANDOM_TRUST_CPU=y"]),
        ((6, 12), ["CONFIG_IO_URING=y"]),
        (
            (7, 2),
            [
                "CONFIG_IO_URING=y",
                "CONFIG_NET_SCH_DUALPI2=y",
                "CONFIG_STATIC_LINK=y",
                "CONFIG_TIME_NS=y",
                "CONFIG_UML_MAX_USERSPACE_ITERATIONS=0",
            ],
        ),
    ],
)
def test_some_options_are_for_some_versions(version: Version, lines: list[str]) -> None:
    """Each version has its own options in addition to the common ones."""
    of_all = set.intersection(*(set(options(each)) for each in ((6, 1), (6, 12), (7, 2))))
    assert sorted(set(options(version)) - of_all) == lines
    assert "CONFIG_64BIT=y" in of_all


def test_names_are_told_apart() -> None:
    """Patches have unique names, because a kernel's record lists them."""
    assert len({change.name for change in CHANGES}) == len(CHANGES)
    assert all(change.wordings for change in CHANGES)
