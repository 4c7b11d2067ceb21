"""docs/measured/transition.md: the signals that browsers send now are those of the document."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from priolab.common.home import ROOT
from priolab.extras.studies.transition import CLIENTS
from tests.support.shared_runs import Runs

_DOCUMENT = ROOT / "docs/measured/transition.md"
_ROW = re.compile(r"\| (\w+)(?:, (\w+))? \| (?:(\d+).*?)? ?\| (?:`(.*?)`)? ?\|(?: .*? ?\|)?", re.ASCII)
_IN_VIEW = ("image", "image-high", "image-low")
"""Resources whose priority depends on whether the browser knows already that they are in view."""


def _documented(client: str) -> dict[str, tuple[str | None, str | None]]:
    """Returns weight and header field by resource, as the document has them for a browser."""
    section = _DOCUMENT.read_text().partition(f"(`CLIENT={client}`)")[2].partition("<!-- end -->\n\n")[0]
    found = (_ROW.fullmatch(line) for line in section.splitlines())
    return {f"{row[1]}-{row[2]}" if row[2] else row[1]: (row[3], row[4]) for row in found if row}


def _sent(folder: Path) -> Mapping[str, Any]:
    browser = json.loads((folder / "client" / "browser.json").read_text())
    return {each["resource"]: each for each in browser["requests"] if each["load"] == 1}


@pytest.mark.release
@pytest.mark.needs(*CLIENTS)
@pytest.mark.usefixtures("guest")
def test_the_signals_are_those_of_the_document(run: Runs) -> None:
    """Each browser sends each kind of resource with the weight and the header field that the document's row has."""
    done = run("PAGE=signals", f"CLIENT={','.join(CLIENTS)}", "LOWAT=none", "RELOADS=0", "SAMPLE=none")
    assert done.code == 0, done.trouble
    assert done.folder is not None
    for client in CLIENTS:
        documented, sent = _documented(client), _sent(done.folder / f"{client}-control.1")
        assert documented.keys() == sent.keys()
        for resource, (weight, field) in documented.items():
            if resource not in _IN_VIEW:
                said = sent[resource]["weight"], sent[resource]["field"]
                assert said == (weight and int(weight), field), resource
            assert not [later for later in sent[resource]["later"] if later["field"] is not None]
