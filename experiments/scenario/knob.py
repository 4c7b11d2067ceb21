"""A knob, and parsers for the texts of knobs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from priolab.common.errors import ScenarioError
from priolab.netem.link_options import LinkOption
from priolab.proxy.server import Server, absolute, catalogue, is_folder, server_of
from priolab.proxy.switch import Switch


@dataclass(frozen=True, kw_only=True)
class Knob(LinkOption):
    """A setting of a scenario.

    field: the field of Scenario that the knob sets, or a group and a field of the group's value: `link.` of Link,
    `via.` of Via, `via_link.` of the Link in Via. Empty: the knob stands for other knobs.
    """

    name: str

    @classmethod
    def of(cls, name: str, option: LinkOption, **changes: Any) -> Self:
        """Returns the knob of an option of the engine. changes: what differs from the option."""
        return cls(name=name, **(vars(option) | changes))


def server_for(knob: str) -> Callable[[str], str]:
    """Returns a parser for the name of a server. The parser raises ValueError, or ScenarioError for this knob."""

    def parse(text: str) -> str:
        try:
            server_of(text)
        except ValueError as error:
            if is_folder(text):
                raise ScenarioError(
                    knob, text, f"the path of a server's folder (docs/guide/your-server.md); {error}"
                ) from error
            if text and absolute(f"./{text}/server.toml").is_file():
                raise ScenarioError(knob, text, f"./{text} for the folder, with a slash") from error
            if known := catalogue().get(text.partition("@")[0]):
                editions = ", ".join(f"{known.name}@{edition}" for edition in known.editions)
                raise ScenarioError(knob, text, f"{known.name}{f', {editions}' if editions else ''}") from error
            raise
        return text

    return parse


def named(switch_of: Callable[[Server], Switch]) -> str:
    """Returns a text that lists the servers with a certain property, each with the name of its option for the property.

    switch_of: returns this property of a server.
    """
    switches = ((server.name, switch_of(server)) for server in catalogue().values())
    return "; ".join(f"{name}: {switch.name}" for name, switch in switches if switch.name)
