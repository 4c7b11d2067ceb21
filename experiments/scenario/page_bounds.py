"""Bounds of a page's resources. A page file keeps them, or is refused; a recorded page is fitted into them."""

from collections.abc import Mapping
from types import MappingProxyType

SIZE_MOST = 64 * 1024 * 1024
"""The bytes of a resource."""

RESOURCES_MOST = 100
LONGEST_MS = 60_000
"""The longest time of a page's keys, such as `delay`."""

HTML, SCRIPT, JPEG = "text/html", "text/javascript", "image/jpeg"

LEAST_BYTES: Mapping[str, int] = MappingProxyType({JPEG: 2048, SCRIPT: 256, "text/css": 16})
"""The fewest bytes of a resource, by the beginning of its content type; 1 for all other types."""
