"""`priolab demo`: serves the page on this machine, until the command is interrupted."""

import argparse
import asyncio
import os
import secrets
import signal
import socket
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from priolab.common.errors import Unavailable
from priolab.common.process.scratch import scratch_folder
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import add_words, given_words
from priolab.experiments.execution.cli_request import check_only, request_from
from priolab.experiments.execution.local import bearable
from priolab.experiments.results.results_folder import results_folder
from priolab.experiments.setup.python_packages import installing
from priolab.extras.demo.finale import add_address, finale
from priolab.extras.demo.listener import HOST, USUAL_PORT, listening
from priolab.extras.demo.story_arms import prepare

_TOKEN_BYTES = 24
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


_ALLOWED = ("FABRIC", "SHAPER", "RESULTS")


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab demo` to its parser."""
    add_words(parser, "KNOB=VALUE", "FABRIC, SHAPER or RESULTS")
    parser.add_argument("--port", help=f"port of 127.0.0.1 (default: {USUAL_PORT}; if it is taken, a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, but open no browser")
    parser.add_argument(
        "--prepare", action="store_true", help="first run all steps of the story and all stops of the slider"
    )
    parser.add_argument("--idle", action="store_true", help="run nothing before a visitor wants to see it")
    add_address(parser)
    parser.set_defaults(do=lambda options, report: serve(options, given_words(options, report), report), knobs=_ALLOWED)


def serve(options: argparse.Namespace, words: Mapping[str, str], report: Report) -> None:
    """Serves the page until a signal arrives. Raises LabError if the server cannot start."""
    check_only(words, _ALLOWED, f"{', '.join(_ALLOWED)}; everything else is chosen on the page")
    request = request_from(words)  # raises now if no fabric can be used here
    results = results_folder(request.results)
    last = finale(options.address)
    try:  # the web server is installed only for the demo
        from priolab.extras.demo.job_queue import JobQueue
        from priolab.extras.demo.server import DemoServer
    except ImportError:
        raise Unavailable("the demo", "its packages are not installed", f"run {installing('demo')}") from None
    if options.prepare:
        prepare(request.run_settings, results, report)
    with listening(options.port) as listener:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        address = f"http://{HOST}:{listener.getsockname()[1]}/#{token}"
        run_words = {name: value for name, value in words.items() if name != "RESULTS"}
        at_once = bearable([request.arms[0].scenario], request.run_settings.fabric)
        server = DemoServer(JobQueue(results, run_words, at_once), token, idle=options.idle, last=last)
        report.say(f"results go to {results}; fabric: {request.run_settings.fabric.name}")
        report.say(f"open {address}", "bold")
        report.say("Ctrl-C ends the demo")
        options.kept = lambda: f"results are in {results}"
        with ExitStack() as stack:
            if not options.no_browser and any(os.environ.get(name) for name in _DISPLAYS):
                stack.enter_context(_browser(address))
            _until_a_signal(server, listener)


def _until_a_signal(server: Any, listener: socket.socket) -> None:
    """Runs the server until a signal arrives.

    The lab's signal handlers would raise exceptions inside the event loop. So the server handles SIGINT and SIGTERM
    while it runs, and raises these signals again at its end. This function does the same for SIGHUP, which the kernel
    sends when a terminal is closed.
    """
    heard: list[int] = []

    def hang_up(number: int, _: FrameType | None) -> None:
        heard.append(number)
        server.should_exit = True

    ours = signal.getsignal(signal.SIGHUP)
    if ours is not signal.SIG_IGN:  # nohup(1) makes a command ignore SIGHUP
        signal.signal(signal.SIGHUP, hang_up)
    asyncio.run(server.serve(sockets=[listener]))
    signal.signal(signal.SIGHUP, ours)
    for number in heard:
        signal.raise_signal(number)


@contextmanager
def _browser(address: str) -> Iterator[None]:
    """Opens a file that redirects the browser to the address, because other users may see a program's arguments."""
    with scratch_folder("priolab-demo-") as folder:  # readable for this user only
        page = folder / "demo.html"
        refresh = f'<meta http-equiv="refresh" content="0; url={address}">'
        page.write_text(f'<!doctype html><meta charset="utf-8">{refresh}\n')
        webbrowser.open(page.as_uri())
        yield
