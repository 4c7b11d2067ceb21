"""`priolab demo`: the page on this machine, until it is interrupted."""

import argparse
import asyncio
import os
import secrets
import socket
import webbrowser
from collections.abc import Mapping

from experiments.errors import ScenarioError, StepFailed, Unavailable
from experiments.experiment import results_folder
from experiments.invocation import request_from
from experiments.report import Report

HOST = "127.0.0.1"
_TOKEN_BYTES = 24
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_LARGEST_PORT = 65535


def add_to(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("words", nargs="*", metavar="KNOB=VALUE", help="FABRIC, SHAPER or RESULTS")
    parser.add_argument("--port", default="8399", help="of 127.0.0.1; 0 takes any that is free (8399)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")
    parser.add_argument("--from-make", action="store_true", help=argparse.SUPPRESS)


_ALLOWED = ("FABRIC", "SHAPER", "RESULTS")


def serve(options: argparse.Namespace, words: Mapping[str, str], report: Report) -> None:
    """Until a signal comes. Raises LabError if it cannot begin."""
    for name in words:
        if name not in _ALLOWED:
            raise ScenarioError(name, words[name], f"{', '.join(_ALLOWED)}; everything else is chosen on the page")
    request = request_from(words)  # whether it can be run here at all is better told before
    results = results_folder(request.results)
    try:  # the web server is installed for the demo alone
        from experiments.demo.desk import Desk, processors
        from experiments.demo.server import Server
    except ImportError:
        raise Unavailable("the demo", "its packages are not installed", "run `make demo`") from None
    with _listening(options.port) as listener:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        address = f"http://{HOST}:{listener.getsockname()[1]}/#{token}"
        run_words = {name: value for name, value in words.items() if name != "RESULTS"}
        server = Server(Desk(results, run_words, processors()), token)
        report.say(f"results go to {results}; fabric: {request.manner.fabric.name}")
        report.say(f"open {address}", "bold")
        report.say("Ctrl-C ends it")
        if not options.no_browser and any(os.environ.get(name) for name in _DISPLAYS):
            webbrowser.open(address)
        options.kept = lambda: f"results are in {results}"
        # It has handlers of its own, as ours would raise inside the event loop, and passes the signal on at the end.
        asyncio.run(server.serve(sockets=[listener]))


def _listening(text: str) -> socket.socket:
    """Raises ScenarioError for what is no port, StepFailed for one that is taken."""
    if not text.isascii() or not text.isdigit() or int(text) > _LARGEST_PORT:
        raise ScenarioError("--port", text, f"0 to {_LARGEST_PORT}")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, int(text)))
        listener.listen()  # so that whoever is told the address may call at once
    except OSError as error:
        listener.close()
        raise StepFailed("the demo", f"port {text} of {HOST}: {error.strerror}; --port names another") from error
    return listener
