"""Verdicts on servers that share the link, and on resources for which important ones wait. All runs share a guest."""

from pathlib import Path

import pytest

from tests.support.lab import Done
from tests.support.together import together

pytestmark = [pytest.mark.usefixtures("guest"), pytest.mark.needs("caddy", "nghttpx", "h2o")]

_HTML = '[[resource]]\nname = "page"\ntype = "text/html"\nsize = "4k"\nurgency = 0\n'


def _resource(name: str, size: str, urgency: int, *more: str) -> str:
    lines = (f'name = "{name}"', 'type = "text/javascript"', f'size = "{size}"', f"urgency = {urgency}", *more)
    return "\n".join(["[[resource]]", *lines, ""])


def _step(number: int) -> str:
    """Returns one of eight small scripts, each of which waits for the one before."""
    more = [f'after = "{f"step-{number - 1}" if number else "page"}"', 'wait = "30ms"']
    return _resource(f"step-{number}", "9k", 2, *more, *(["important = true"] if number in (3, 7) else []))


_PAGES = {
    "six": "".join(
        _resource(f"part-{number}", "200k", 1 if number == 4 else 5, *(["important = true"] if number == 4 else []))
        for number in range(1, 7)
    ),
    "beside": _resource("image", "700k", 5) + _resource("script", "100k", 1, 'delay = "200ms"', "important = true"),
    "steps": _HTML + _resource("bulk", "2M", 6, 'after = "page"') + "".join(map(_step, range(8))),
    "styles": _HTML
    + _resource("early", "100k", 3, 'after = "page"')
    + _resource("style", "100k", 3, 'after = "page"', "important = true")
    + _resource("photo", "300k", 3, 'after = "page"'),
}
_HEADER = ("DIALECT=header", "LOWAT=16384")
_SHARING = {
    "six-caddy": ("PAGE=six", "SERVER=caddy", *_HEADER),
    "beside-caddy": ("PAGE=beside", "SERVER=caddy", *_HEADER),
    "beside-nghttpx": ("PAGE=beside", "SERVER=nghttpx", *_HEADER),
    "news-nghttpx": ("PAGE=news", "SERVER=nghttpx", *_HEADER),
}
_OTHERS = {
    "beside-nginx": ("PAGE=beside", "LOWAT=16384"),
    "steps": ("PAGE=steps", "LOWAT=none", "RATE=3mbit", "DELAY=50ms", "DELAY_UP=50ms"),
    "styles": ("PAGE=styles", "SERVER=h2o", "DIALECT=chrome", "RATE=2mbit", "DELAY=40ms", "DELAY_UP=40ms"),
    "weights-h2o": ("PAGE=maps", "SERVER=h2o", "LOWAT=16384"),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The runs of all pages."""
    folder: Path = tmp_path_factory.mktemp("order")
    files = {}
    for name, text in _PAGES.items():
        files[f"PAGE={name}"] = f"PAGE={folder / name}.toml"
        (folder / f"{name}.toml").write_text(text)
    arms = {name: [files.get(word, word) for word in words] for name, words in (_SHARING | _OTHERS).items()}
    swapped = {f"{name}-swapped": [*arms[name], "PRIORITY=swap"] for name in _SHARING}
    return together(folder, arms | swapped, "RELOADS=0", "LOWAT=131072")


@pytest.mark.parametrize("name", _SHARING)
def test_a_server_that_shares_evenly_is_undecided(done: Done, name: str) -> None:
    """The server shares the link between all, and does the same with PRIORITY=swap: undecided, with both shares."""
    arm = done.ok_arm(name)
    assert arm["verdict"] == "undecided"
    assert "after that both shared the link" in arm["verdict_reason"]
    assert arm["verdict_reason"].endswith("and 100% was asked for")
    swapped = done.ok_arm(f"{name}-swapped")
    ends = [{name: times["last_byte_ms"] for name, times in each["resources"].items()} for each in (arm, swapped)]
    assert ends[0] == pytest.approx(ends[1], abs=30)


def test_a_strict_server_is_kept(done: Done) -> None:
    """A server that is strict keeps the same page's order."""
    assert done.ok_arm("beside-nginx")["verdict"] == "kept"


def test_what_an_important_resource_waits_for_is_important(done: Done) -> None:
    """The first of the small scripts was asked for before the bulk, and came after all of it."""
    arm = done.ok_arm("steps")
    assert (arm["verdict"], arm["focal"], arm["ledger"]["focal"]) == ("inverted", "step-0", "step-0")
    assert arm["verdict_reason"] == (
        "100% of the bulk arrived before the step-0's first byte, though the step-0 was asked for first"
    )
    assert arm["first_byte_ms"] > 5000


def test_what_was_asked_for_first_is_not_needless(done: Done) -> None:
    """The client's tree asks for `early` before `style`: its bytes are neither needless nor lateness."""
    arm = done.ok_arm("styles")
    assert (arm["verdict"], arm["focal"]) == ("kept", "style")
    assert arm["resources"]["early"]["last_byte_ms"] <= arm["resources"]["style"]["first_byte_ms"]
    assert arm["oracle"]["inversion_bytes"] == 0
    assert arm["oracle"]["inversion_ms"] < 350  # its slow start; the bytes of `early` took 430 ms
    assert "late" not in arm["verdict_reason"]


def test_weights_that_were_followed(done: Done) -> None:
    """The client's weights ask for 55 % for the script, and h2o gives it that: the order is kept."""
    arm = done.ok_arm("weights-h2o")
    assert arm["verdict"] == "kept"
    assert arm["verdict_reason"].endswith("the script got 56% of it, and 55% was asked for")
