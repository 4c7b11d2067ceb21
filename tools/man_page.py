"""Writes the man page of `priolab`, docs/priolab.1, from the parser of all commands: `make man`.

The library for this, argparse-manpage, is not published as a wheel, so the set-up could not install it. The text does
not depend on the version of Python, unlike argparse's own usage.
"""

import re
import sys
from argparse import REMAINDER, SUPPRESS, Action, ArgumentParser, _HelpAction, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

import yaml

from priolab.common.home import ROOT
from priolab.experiments.cli import whole_command_line

_NAME = "shows, measures and explains why HTTP/2 prioritization fails"
_AFTER = """\
.SH EXIT STATUS
.TP
0
The command is done.
.TP
1
The command failed, or a run is invalid.
.TP
2
The input is wrong.
.TP
128 + N
Signal N interrupted the command.
.PP
.B priolab sandbox
has the exit code of its client, or one from 123 to 127.
.SH FILES
.TP
results
The folder for results, unless RESULTS names another one.
.TP
.I $XDG_CACHE_HOME/priolab
The guest kernel, and what the lab fetched.
.SH SEE ALSO
.BR tc (8),
.BR tcp (7)
.PP
docs/README.md in the source distribution lists all documents.
"""
_ESCAPES = {"\\": "\\e", "-": "\\-", "`": "\\(ga", "'": "\\(aq", "^": "\\(ha", "~": "\\(ti"}


def page() -> str:
    """Returns the man page, in the macros of man(7)."""
    about = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    parser, commands = whole_command_line()
    return "\n".join(
        (
            f'.TH PRIOLAB 1 "{about["date-released"]}" "priority-lab {about["version"]}" "The priority lab"',
            ".nh",
            ".ad l",
            ".SH NAME",
            f"priolab \\- {_text(_NAME)}",
            ".SH SYNOPSIS",
            ".B priolab",
            ".I COMMAND",
            "[options] [KNOB=VALUE ...]",
            ".SH DESCRIPTION",
            _text(about["abstract"]),
            ".SH OPTIONS",
            *_arguments(parser),
            ".SH COMMANDS",
            *(line for name, command in commands.items() for line in _command(name, command, _help_of(parser)[name])),
            _AFTER,
        )
    )


def _help_of(parser: ArgumentParser) -> dict[str, str]:
    """Returns what each command does, by name."""
    (commands,) = (action for action in _actions(parser) if isinstance(action, _SubParsersAction))
    return {each.dest: each.help or "" for each in commands._choices_actions}  # noqa: SLF001


def _actions(parser: ArgumentParser) -> list[Action]:
    return [action for action in parser._actions if action.help != SUPPRESS]  # noqa: SLF001  there is no other list


def _command(name: str, parser: ArgumentParser, about: str) -> Iterator[str]:
    yield f".SS {_text(f'priolab {name}')}"
    yield f"{_text(about[0].upper() + about[1:])}."
    yield ".PP"
    usage = (parser.usage or "%(prog)s " + " ".join(map(_usage, _actions(parser)))) % {"prog": f"priolab {name}"}
    yield _text(usage)
    yield from _arguments(parser)
    if parser.epilog:
        yield from (".PP", ".nf", *map(_text, parser.epilog.splitlines()), ".fi")


def _usage(action: Action) -> str:
    """Returns how an argument stands on the command line, such as `[--results RESULTS]`."""
    if isinstance(action, _HelpAction):
        return "[-h]"
    if action.option_strings:
        with_value = " ".join((action.option_strings[-1], *_value(action)))
        return with_value if action.required else f"[{with_value}]"
    (value,) = _value(action)
    return {"?": f"[{value}]", "*": f"[{value} ...]", "+": f"{value} ...", REMAINDER: "..."}.get(
        str(action.nargs), value
    )


def _value(action: Action) -> tuple[str, ...]:
    """Returns the names of an argument's values; nothing for an option without a value."""
    if action.nargs == 0:
        return ()
    if action.choices is not None and action.metavar is None:
        return (f"{{{','.join(map(str, action.choices))}}}",)
    if isinstance(action.metavar, tuple):
        return action.metavar
    return (action.metavar or (action.dest.upper() if action.option_strings else action.dest),)


def _arguments(parser: ArgumentParser) -> Iterator[str]:
    """Yields the lines about each argument of a command, in the groups that the command has made."""
    for group in parser._action_groups:  # noqa: SLF001
        shown = [action for action in group._group_actions if action.help != SUPPRESS]  # noqa: SLF001
        shown = [action for action in shown if not isinstance(action, (_HelpAction, _SubParsersAction))]
        if shown and group not in parser._action_groups[:2]:  # noqa: SLF001  the first two are argparse's own
            title = group.title or ""
            yield from (".PP", f"{_text(title[:1].upper() + title[1:])}:")
        for action in shown:
            names = ", ".join(action.option_strings)
            yield from (".TP", f".B {_text(' '.join(filter(None, (names, *_value(action)))))}")
            yield _text((action.help or "") % {**vars(action), "prog": "priolab"})


def _text(words: str) -> str:
    """Returns words as text of a man page: a long list may be broken after a comma, and no line is a request."""
    text = re.sub(r",(?=\S)", r",\:", "".join(_ESCAPES.get(letter, letter) for letter in words))
    return re.sub(r"^([.'])", r"\\&\1", text)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
