"""Tells a failure in the words of the server that caused it: an error quotes the last relevant line of a front's log.

Rules:
1. Only lines that the front wrote since the step began are quoted: what it wrote at its start is not about the step.
2. A line about an error precedes any other line, and a later line precedes an earlier one.
3. A line that says that the client has gone is a consequence of the failure, and is never quoted.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from priolab.common.errors import StepFailed
from priolab.common.process.program_logs import last_complaint
from priolab.experiments.results.run_folder import RunFolder

_LOGS = ("error.log", "output.log")
_CAUSED_BY_FRONTS = ("the client", "the front", "the second front")
"""The names of the steps whose failures a front may have caused. If the origin or the link fails, a front only notices
it."""


@contextmanager
def in_the_servers_words(folder: RunFolder) -> Iterator[None]:
    """Adds to StepFailed the last relevant line that a front wrote in this context, and names the log that has it.

    folder: the run's folder, with the logs of the front and, with VIA, those of the second front. An error remains as
    it is if no front wrote such a line, or if it has the line already.
    """
    before = {log: log.stat().st_size for log in _logs(folder) if log.exists()}
    try:
        yield
    except StepFailed as error:
        raise in_words(error, folder, before) from error


def in_words(error: StepFailed, folder: RunFolder, before: Mapping[Path, int]) -> StepFailed:
    """Returns the error with the last relevant line of a front's log, or the error itself (`in_the_servers_words`).

    before: the sizes of the logs in bytes when the step began; a log that it lacks was empty.
    """
    said = last_complaint(_logs(folder), before) if error.step.startswith(_CAUSED_BY_FRONTS) else None
    if said is None or said[0] in error.reason:
        return error
    line, log = said
    whose = "the second front" if log.parent == folder.second else "the front"
    return StepFailed(error.step, f"{error.reason}; {whose} said: {line}", log)


def _logs(folder: RunFolder) -> list[Path]:
    return [place / name for place in (folder.front, folder.second) for name in _LOGS]
