"""The page of a scenario, as run.json keeps it."""

from collections.abc import Mapping
from typing import Any

from common.formats.page import Page


def page_in(scenario: Mapping[str, Any]) -> Page:
    """Returns the page of a scenario: its name, and its resources."""
    name = scenario["page"]
    return Page.from_document({"name": name, "title": name, "parameters": (), "resources": scenario["resources"]})
