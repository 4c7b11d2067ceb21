"""The cost of the instruments, which are the client's journal and the sampler: the field `instruments` of run.json.

Each instrument measures its own cost, in ns per event or sample, and writes it beside its measurements.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priolab.common.formats.files import read_json
from priolab.experiments.results.run_folder import RunFolder

_STANDS_STILL = "the clock stands still while a program works"
_NO_ACCOUNT = "the instrument left no record"


def instruments(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """Returns the cost of each instrument, by name. Call it when the run folder is complete."""
    python = _read(folder.environment).get("clock", {}).get("python", {})
    stands_still = python.get("advances_while_working") is False
    accounts = {
        "client": _read(folder.client / "socket.json").get("instrument"),
        "sampler": _last_line(folder.front / "process.jsonl").get("sampler"),
    }
    return {name: cost(account, stands_still=stands_still) for name, account in accounts.items()}


def cost(account: Mapping[str, int] | None, *, stands_still: bool) -> dict[str, Any]:
    """Returns the cost of an instrument: its events, the ns per event, and the reason if this figure is None.

    account: the counts that the instrument wrote (common/cost.py); None if the instrument left no record. stands_still:
    True if the clock does not advance while a program works, so that the cost cannot be measured.
    """
    events = account["events"] if account else None
    if not account or not events:
        return {"events": events, "ns_per_event": None, "reason": _NO_ACCOUNT if account is None else "no event"}
    if stands_still:
        return {"events": events, "ns_per_event": None, "reason": _STANDS_STILL}
    return {"events": events, "ns_per_event": round(account["spent_ns"] / events), "reason": None}


def _read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = read_json(path)
    except (OSError, ValueError):
        return {}
    return document


def _last_line(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return {}
    return document
