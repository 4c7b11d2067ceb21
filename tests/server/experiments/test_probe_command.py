"""Tests of `priolab probe` with fronts on loopback: it finds what matrix.json says, and names obstacles."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from priolab.analysis.judgement.order import Reading
from priolab.client.plan import PROBE_LEAST_BYTES
from priolab.experiments.cli import main
from priolab.proxy.front import FrontSettings
from tests.support.capabilities import each
from tests.support.documented import documented, row_like
from tests.support.fronts import NAME, running_front

_URL = "https://127.0.0.1:1/"


def _command(front: FrontSettings, *paths: str) -> list[str]:
    urls = [f"https://{NAME}:{front.port}{path}" for path in paths]
    return ["probe", *urls, "--connect", "127.0.0.1", "--ca", str(front.certificates.ca)]


@pytest.fixture(params=each(("nginx", "lighttpd")))
def front(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FrontSettings]:
    """Start a front with resources large enough for a probe."""
    with running_front(request.param, tmp_path, size_bytes=PROBE_LEAST_BYTES * 5 // 4) as (settings, _):
        yield settings


def test_it_finds_what_is_documented(front: FrontSettings) -> None:
    """The probe finds the documented reading of two dialects and the server's own order."""
    command = [sys.executable, "-m", "priolab.experiments", *_command(front, "/image.jpg", "/script.js")]
    command += ["--dialect", "plain,header", "--json", "--pause", "30ms"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found, row = json.loads(done.stdout), documented()["servers"][row_like(front.server.name)]
    assert found["paths"] == ["/image.jpg", "/script.js"]
    words = {"the script first, by itself": "the second URL before the first, whichever is requested first"}
    assert found["unasked"]["own_order"] == words.get(row["own_order"], row["own_order"])
    for dialect in ("plain", "header"):
        assert found["dialects"][dialect]["reading"] == row["dialects"][dialect]["reading"], found
    assert list(found["dialects"]) == ["plain", "header"]
    assert done.stderr.startswith(f"8 probes of {NAME} (127.0.0.1) over HTTP/2, 8 at a time: ")


@pytest.mark.needs("caddy-h3@2.11.7")
def test_over_http3(tmp_path: Path) -> None:
    """With --http3 the probe uses QUIC and the dialects of HTTP/3, and finds what is documented."""
    name = "caddy-h3@2.11.7"
    with running_front(name, tmp_path, size_bytes=PROBE_LEAST_BYTES * 5 // 4) as (settings, _):
        command = [sys.executable, "-m", "priolab.experiments", *_command(settings, "/image.jpg", "/script.js")]
        command += ["--http3", "--json", "--pause", "30ms"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found, row = json.loads(done.stdout), documented()["servers"][name]
    assert (found["protocol"], found["unasked"]["own_order"]) == ("h3", row["own_order"])
    readings = {dialect: answer["reading"] for dialect, answer in found["dialects"].items()}
    assert readings == {dialect: cell["reading"] for dialect, cell in row["dialects"].items()}
    assert f"probes of {NAME} (127.0.0.1) over HTTP/3" in done.stderr


def test_one_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A probe of one URL requests it twice, and prints a table and the meaning of its words."""
    with running_front("nginx", tmp_path, size_bytes=PROBE_LEAST_BYTES) as (settings, _):
        assert main([*_command(settings, "/image.jpg"), "--dialect", "chrome", "--pause", "30ms"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("chrome")] == [["chrome", Reading.STRICT]]
    assert "strict: the URL that the client marks as more urgent gets" in out


@pytest.mark.parametrize("size_bytes", [PROBE_LEAST_BYTES - 1, 20_000])
def test_too_small(tmp_path: Path, capsys: pytest.CaptureFixture[str], size_bytes: int) -> None:
    """The probe refuses a resource that is too small, because it must outlast the opening of the window."""
    with running_front("nginx", tmp_path, size_bytes=size_bytes) as (settings, _):
        assert main([*_command(settings, "/image.jpg"), "--dialect", "chrome"]) == 1
        assert f"/image.jpg has {size_bytes} bytes; a probe needs at least 262144" in capsys.readouterr().err


def test_what_the_server_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error gives the server's status, or the reason of the client's TLS library."""
    with running_front("nginx", tmp_path) as (settings, _):
        assert main([*_command(settings, "/nothing"), "--dialect", "chrome"]) == 1
        assert "probing: the front answered /nothing with status 404" in capsys.readouterr().err
        assert main(_command(settings, "/image.jpg")[:-2]) == 1
        assert "certificate verify failed" in (err := capsys.readouterr().err)
        assert "; --ca FILE names certificates to trust" in err


def test_a_page_of_a_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A load announces its requests, makes exactly these, and shows table, verdict and ledger."""
    with running_front("nginx", tmp_path) as (settings, _):
        assert main([*_command(settings, "/"), "--load", "maps", "--reloads", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"three connections and 9 requests to {NAME}: each of 3 resources alone, then 2 page loads;")
    requests = [line for line in (tmp_path / "access.jsonl").read_text().splitlines() if '"/ready"' not in line]
    assert len(requests) == 9
    assert "nothing-to-prioritize: the image was complete" in out
    assert "the script waited" in out


def test_a_site_that_lacks_a_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A resource that the site does not have ends the command, and the error names the resource."""
    page = tmp_path / "page.toml"
    page.write_text(
        '[[resource]]\nname = "a"\ntype = "image/jpeg"\npath = "/nothing?width=2"\n'
        '[[resource]]\nname = "b"\ntype = "text/css"\nimportant = true\n'
    )
    with running_front("nginx", tmp_path) as (settings, _):
        assert main([*_command(settings, "/"), "--load", str(page)]) == 1
    assert "probing: the front answered /nothing?width=2 with status 404" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([_URL], 1, "cannot connect to 127.0.0.1:1"),
        (["http://127.0.0.1:1/"], 1, "cannot connect to 127.0.0.1:1"),
        (["ftp://127.0.0.1:1/"], 2, "url=ftp://127.0.0.1:1/ is not allowed; allowed: https://HOST[:PORT]/PATH"),
        (["https://127.0.0.1:port/"], 2, "allowed: https://HOST[:PORT]/PATH"),
        ([_URL, "https://127.0.0.1:2/"], 2, "allowed: a URL of the same server and port"),
        ([_URL, "--dialect", "plain,chroem"], 2, "--dialect=plain,chroem is not allowed"),
        ([_URL, "--connect", "a/b"], 2, "--connect=a/b is not allowed; allowed: HOST[:PORT]"),
        (["https://a..b/"], 1, "cannot connect to a..b:443"),
        (
            [_URL, "--http3", "--dialect", "chrome"],
            2,
            "--dialect=chrome is not allowed; allowed: plain, header, update",
        ),
        ([_URL, "--http3", "--load", "maps"], 2, "--http3=given is not allowed; allowed: no --http3 with --load"),
        ([_URL, "--yes"], 2, "--yes=given is not allowed; allowed: no --yes without --load"),
        ([_URL, "--rate", "1mbit"], 2, "--rate=1mbit is not allowed; allowed: no value without --load"),
        (
            [_URL, "--load", "mops"],
            2,
            "--load=mops is not allowed; allowed: downloads, late, maps, mixed, news, pair, signals, six, strong, ",
        ),
        (
            [_URL, "--load", "missing.toml"],
            2,
            "PAGE=missing.toml is not allowed; allowed: a readable TOML file (No such file or directory)",
        ),
        ([_URL + "x", "--load", "maps"], 2, "https://HOST[:PORT]/ with --load, because the page has the paths"),
        ([_URL, _URL, "--load", "maps"], 2, f"second={_URL} is not allowed; allowed: no value with --load"),
        ([_URL, "--load", "maps", "--reloads", "21"], 2, "--reloads=21 is not allowed; allowed: 0 to 20"),
        ([_URL, "--load", "maps", "--priority", "all"], 2, "--priority=all is not allowed; allowed: spdy, swap, none"),
        ([_URL, "--load", "maps", "--pause", "9ms"], 2, "--pause=9ms is not allowed; allowed: no value with --load"),
        (["https://198.18.0.9/", "--load", "maps"], 2, "it permits three connections and 12 requests to 198.18.0.9\n"),
        ([_URL, "--ca", "/dev/null"], 2, "--ca=/dev/null is not allowed; allowed: a file of certificates in PEM"),
    ],
)
def test_what_is_in_its_way(words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A single line names the obstacle, and the exit code tells a wrong option from a failed probe."""
    assert main(["probe", *words]) == code
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
