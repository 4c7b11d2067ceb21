"""Documents that a cold connection cannot send at once, and a front that is busy, in the guest: the runs are ok."""

import pytest

from tests.support.lab import Done
from tests.support.together import together

_PAGE = """
title = "a document of a size"

[[resource]]
name = "page"
type = "text/html; charset=utf-8"
size = "{size}"
urgency = 0

[[resource]]
name = "photo"
type = "image/jpeg"
size = "{photo}"
after = "page"
urgency = 5

[[resource]]
name = "script"
type = "text/javascript"
size = "20k"
after = "page"
wait = "{wait}"
urgency = 1
important = true
"""
_SIZES = ("8k", "12k", "30k", "60k")
_LINK = ("DELAY=75ms", "DELAY_UP=75ms", "LOWAT=16384", "RELOADS=1", "SAMPLE=100ms")
_NODE = ("SERVER=node", "RATE=1gbit", "DELAY=300ms", "DELAY_UP=0ms", "QUEUE=64kb", "SNDBUF=stock", "LOWAT=1000000")
"""While Node waits for the kernel, it reads no requests, so the script's request is late at the origin."""


@pytest.fixture(scope="module")
def made(guest: None, tmp_path_factory: pytest.TempPathFactory) -> Done:  # noqa: ARG001
    """Returns an experiment with an arm for each size of the document, and for each of the others."""
    root = tmp_path_factory.mktemp("cold")
    arms: dict[str, tuple[str, ...]] = {}
    for size in _SIZES:
        (root / f"{size}.toml").write_text(_PAGE.format(size=size, photo="60k", wait="0ms"))
        arms[f"document-{size}"] = (f"PAGE={root / size}.toml",)
    (root / "late.toml").write_text(_PAGE.format(size="80k", photo="1000k", wait="400ms"))
    arms["a-busy-node"] = (f"PAGE={root / 'late.toml'}", *_NODE)
    head, _, script = _PAGE.format(size="8k", photo="60k", wait="400ms").split("[[resource]]\n")[1:]
    (root / "waits.toml").write_text("".join(f"[[resource]]\n{each}" for each in (head, script)))
    arms["a-client-that-waits"] = (f"PAGE={root / 'waits.toml'}", "RATE=1gbit")
    return together(root / "results", arms, *_LINK)


@pytest.mark.parametrize("arm", ["a-busy-node", "a-client-that-waits", *(f"document-{size}" for size in _SIZES)])
def test_an_honest_run_is_ok(arm: str, made: Done) -> None:
    """A document takes a further round trip for each window that it fills, and the run is ok."""
    assert made.summary is not None
    assert (made.arm(arm)["status"], made.arm(arm)["reason"]) == ("ok", None)
