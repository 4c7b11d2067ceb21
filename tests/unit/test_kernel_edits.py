"""A change of the kernel's source is made as a whole or not at all."""

from pathlib import Path

from experiments.guest.edits.edit import Change, Edit


def test_a_change_is_made_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """One line missing, or there twice, and nothing is touched."""
    (tmp_path / "a.c").write_text("one\ntwo\ntwo\n")
    half = Change((Edit("a.c", "one", "1"), Edit("a.c", "three", "3")))
    twice = Change((Edit("a.c", "one", "1"), Edit("a.c", "two", "2")))
    elsewhere = Change((Edit("a.c", "one", "1"), Edit("b.c", "one", "1")))
    assert [change.apply(tmp_path) for change in (half, twice, elsewhere)] == [False] * 3
    assert (tmp_path / "a.c").read_text() == "one\ntwo\ntwo\n"
    assert Change((Edit("a.c", "one", "1"),)).apply(tmp_path)
    assert (tmp_path / "a.c").read_text() == "1\ntwo\ntwo\n"
