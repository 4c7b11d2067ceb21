"""The command `priolab completion`: prints a script with which a shell completes the lab's command line.

The script is made from the parser of all commands, and starts no program when it completes. bash breaks words at `=`,
so a wrapper of the lab's own joins them before, and takes the knob's name away afterwards.
"""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from pathlib import Path

import shtab

from priolab.common.errors import ScenarioError
from priolab.experiments.cli import whole_command_line
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.options import all_knobs
from priolab.experiments.execution.cli_request import RunKnob
from priolab.experiments.scenario.knob import Knob
from priolab.experiments.scenario.named import catalogue

SHELLS = ("bash", "zsh", "fish")
_ANYTHING = "no such value"
_WORD = re.compile(r"[A-Za-z][\w@.+-]*", re.ASCII)
_WRAPPED = {
    "bash": r"""
# bash breaks words at "=", so the words of the line are joined again; a value may follow others and a comma.
_priolab() {
    local line=${COMP_LINE:0:COMP_POINT} whole before="" reply
    local -a COMP_WORDS kept=()
    local COMP_CWORD
    read -ra COMP_WORDS <<<"$line"
    [[ $line == *[[:space:]] ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    whole=${COMP_WORDS[COMP_CWORD]}
    if [[ $whole == *=* && $whole == *,* ]]; then
        before=${whole#*=}
        before=${before%,*},
        COMP_WORDS[COMP_CWORD]=${whole%%=*}=${whole##*,}
    fi
    _shtab_priolab
    for reply in "${COMPREPLY[@]}"; do
        if [[ $whole == *=* ]]; then
            reply=${reply%%=*}=$before${reply#*=}
            [[ $COMP_WORDBREAKS == *=* ]] && reply=${reply#*=}
        elif [[ $reply == [A-Z]*=* ]]; then
            reply=${reply%%=*}=
        fi
        [[ " ${kept[*]} " == *" $reply "* ]] || kept+=("$reply")
    done
    COMPREPLY=("${kept[@]}")
    if [[ ${#kept[@]} -gt 0 && ${kept[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o bashdefault -o default -F _priolab priolab
"""
}
"""The text behind the script of shtab, by shell."""
_ONCE, _AGAIN = '"(*)::', '"*:'
"""For zsh: shtab declares arguments that may be repeated as ones that are given once; the other form repeats them."""


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab completion` to its parser."""
    parser.add_argument("shell", choices=SHELLS, help="the shell; docs/reference/shell.md says where its script goes")
    parser.set_defaults(do=_do)


def _do(options: Namespace, _: Report) -> int:
    print(script(options.shell))
    return 0


def script(shell: str) -> str:
    """Returns the script for a shell, one of SHELLS."""
    parser, commands = whole_command_line()
    for command in commands.values():
        _give_values(command)
    made = shtab.complete(parser, shell=shell)
    return made.replace(_ONCE, _AGAIN) + _WRAPPED.get(shell, "")


def values(knob: Knob | RunKnob) -> list[str]:
    """Returns the words among a knob's values: `none` and `auto` for LOWAT, all values of CC. Numbers are no words.

    They are the words of the text `allowed` that the knob takes. If the knob takes any text, only words that stand
    alone in a list count.
    """
    if knob.name == "SCENARIO":
        return list(catalogue())
    parts = re.split(r"[,;:] | or ", knob.allowed)
    if _takes(knob, _ANYTHING):
        words = [part.removeprefix("or ") for part in parts]
    else:
        words = [part.rpartition(" ")[2] for part in parts]
    return [word for word in dict.fromkeys(words) if _WORD.fullmatch(word) and _takes(knob, word)]


def _takes(knob: Knob | RunKnob, text: str) -> bool:
    try:
        knob.parse(text)
    except (ValueError, ScenarioError):
        return False
    return True


def _give_values(command: ArgumentParser) -> None:
    """Stores in the arguments of a command's parser what shtab reads: their choices, or that they are files."""
    offers = command.get_default("offers") or {}
    only = command.get_default("knobs")
    knobs = {knob.name: knob for knob in all_knobs() if only is None or knob.name in only}
    for action in command._actions:  # noqa: SLF001  argparse has no other list of them
        offered: Iterable[str] = offers[action.dest]() if action.dest in offers else ()
        if action.dest == "words":
            action.choices = [*offered, *_words(knobs.values())]
        elif action.dest in offers:
            action.choices = list(offered)
        elif action.dest in knobs:
            action.choices = values(knobs[action.dest]) or None
        elif action.dest == "experiment" or action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]


def _words(knobs: Iterable[Knob | RunKnob]) -> list[str]:
    """Returns `NAME=`, and `NAME=VALUE` for each word among the values, of each knob."""
    return [f"{knob.name}={value}" for knob in knobs for value in ("", *values(knob))]
