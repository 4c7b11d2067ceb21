"""A transfer that neither link nor server limits: the guest's memory suffices, and a note names the client's window."""

from pathlib import Path

import pytest

from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import SocketSample
from tests.support.lab import Lab

pytestmark = pytest.mark.usefixtures("guest")

_PAGE = """
[[resource]]
name = "page"
type = "text/html"
size = "2k"

[[resource]]
name = "bulk"
type = "image/jpeg"
size = "46M"
after = "page"
urgency = 5

[[resource]]
name = "script"
type = "text/javascript"
size = "20k"
after = "page"
wait = "500ms"
urgency = 1
important = true
"""
_LINK = ("RATE=1gbit", "DELAY=100ms", "DELAY_UP=100ms", "QUEUE=40000")
_SNDBUF_BYTES = 64 * 2**20


def test_a_send_buffer_that_holds_the_whole_page(lab: Lab, tmp_path: Path) -> None:
    """The front's send buffer holds all of 46 MB and stays as large as SNDBUF. The note says what the limit was.

    With a sixteenth of the guest's memory for TCP, the kernel would offer windows of a few segments.
    """
    (tmp_path / "mine.toml").write_text(_PAGE)
    page = f"PAGE={tmp_path / 'mine.toml'}"
    buffers = ("LOWAT=none", f"SNDBUF={_SNDBUF_BYTES}", "WINDOW=256M", "RELOADS=0", "SAMPLE=100ms")
    done = lab.run("FABRIC=virtual", "CONTROL=no", page, *_LINK, *buffers)
    assert done.code == 0, done.trouble
    assert done.folder is not None
    sockets = read_journal(done.folder / "control.1" / "front" / "sockets.jsonl", SocketSample)
    assert {sample.sndbuf_bytes for sample in sockets} == {_SNDBUF_BYTES}
    assert max(sample.wmem_queued_bytes for sample in sockets) > 46 * 2**20
    arm = done.arm("control")
    limited_us, busy_us = arm["observed"]["rwnd_limited_us"], arm["observed"]["busy_us"]
    assert 0.3 < limited_us / busy_us < 0.8
    (note,) = [line for line in done.out.splitlines() if "The client's TCP window limited the transfer" in line]
    assert f"{limited_us / 10**6:.1f} s, {limited_us / busy_us:.0%} of the time" in note
