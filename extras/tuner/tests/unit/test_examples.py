"""The examples for those who watch the tuner: what they name is there."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from priolab.common.home import ROOT
from priolab.extras.tuner.program import SERVICE

_EXAMPLES = ROOT / "docs/examples/tuner"
_FAMILY = re.compile(r'^\t\{"(\w+)", "(gauge|counter)"', re.MULTILINE)
_BUILD = "priority_tuner_build"
_METRIC = re.compile(r"\bpriority_tuner_\w+")


def _metrics() -> dict[str, str]:
    """Return the metrics that metrics.go serves to Prometheus, each with its kind."""
    text = (SERVICE / "metrics.go").read_text()
    found = {f"priority_tuner_{name}{'_total' * (kind == 'counter')}": kind for name, kind in _FAMILY.findall(text)}
    assert text.count("priority_tuner_build") == 3, "the metric that is no family"
    return {**found, _BUILD: "gauge"}


def _panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads((_EXAMPLES / "grafana.json").read_text())["panels"]
    return panels


def _rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((_EXAMPLES / "alerts.yaml").read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def _expressions() -> Iterator[str]:
    for panel in _panels():
        yield from (target["expr"] for target in panel["targets"])
    yield from (rule["expr"] for rule in _rules())


def test_the_metrics_that_are_named() -> None:
    """Dashboard and alerts name no metric that does not exist, use rates of counters alone, and balance brackets."""
    metrics = _metrics()
    for expression in _expressions():
        names = _METRIC.findall(expression)
        assert len(names) == 1, expression
        assert names[0] in metrics, expression
        assert ("[" in expression) == (metrics[names[0]] == "counter"), expression
        assert all(expression.count(left) == expression.count(right) for left, right in ("()", "[]", "{}")), expression


def test_no_metric_is_missing_in_the_dashboard() -> None:
    """The dashboard shows each metric but the sum of waits, which has no meaning of its own."""
    shown = {name for panel in _panels() for target in panel["targets"] for name in _METRIC.findall(target["expr"])}
    assert shown == _metrics().keys() - {"priority_tuner_expected_wait_seconds_sum"}


def test_panels_lie_beside_one_another() -> None:
    """No two panels have the same number or the same place, and all ask the dashboard's data source."""
    panels = _panels()
    for places in ([panel["id"] for panel in panels], [str(panel["gridPos"]) for panel in panels]):
        assert len(set(places)) == len(panels)
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}


def test_alerts_say_what_is_wrong() -> None:
    """Each alert has a name of its own and a sentence; labels in it are those that all metrics have."""
    rules = _rules()
    assert len({rule["alert"] for rule in rules}) == len(rules) > 0
    for rule in rules:
        summary = rule["annotations"]["summary"]
        assert summary.endswith(".")
        assert set(re.findall(r"\$labels\.(\w+)", summary)) <= {"cgroup"}


def test_the_rotated_log() -> None:
    """The snippet rotates the log that the package's settings name, with the right of the unit, and has it reopened."""
    text = (_EXAMPLES / "priority-tuner.logrotate").read_text()
    lines = (SERVICE / "priority-tuner.toml").read_text().splitlines()
    log = Path(tomllib.loads(next(line[1:] for line in lines if line.startswith("#log = ")))["log"])
    pattern = re.search(r"^(/\S+) \{$", text, re.MULTILINE)
    assert pattern
    assert log.match(pattern[1])
    assert "systemctl reload priority-tuner" in text
    assert text.count("{") == text.count("}") == text.count("endscript") == 1
    assert f"LogsDirectory={log.parent.name}" in (SERVICE / "priority-tuner.service").read_text()
