"""Tests of an image's bill of materials, made from the output of the image's programs."""

import json
from datetime import UTC, datetime

from tests.support.schemas import bill_validator
from tools.bill import ContainerImage, document

IMAGE = ContainerImage(
    name="priolab-front-nginx:c0de",
    id="sha256:" + "ab" * 32,
    created=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    base="debian:bookworm-slim",
    system='PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian',
    dpkg="libstdc++6\t12.2.0-14\tamd64\nnginx\t1:1.22.1-9+deb12u3\tamd64\npython3-h2\t4.1.0-4\tall",
    python="h2\t4.1.0\nh2\t4.1.0",
)


def test_the_bill_is_valid() -> None:
    """The bill is valid by CycloneDX's own schema, with all formats checked."""
    assert bill_validator().validate_str(document(IMAGE)) is None
    assert bill_validator().validate_str("{}") is not None
    linked = json.loads(document(IMAGE)) | {"externalReferences": [{"type": "website", "url": "https://a b"}]}
    assert bill_validator().validate_str(json.dumps(linked)) is not None
    linked["externalReferences"][0]["url"] = "https://ä"
    assert bill_validator().validate_str(json.dumps(linked)) is None


def test_every_package_is_named_once() -> None:
    """Each package is listed once, with distribution and release as vulnerability scanners need it."""
    bill = json.loads(document(IMAGE))
    assert {each["purl"]: each["version"] for each in bill["components"]} == {
        "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14?arch=amd64&distro=debian-12": "12.2.0-14",
        "pkg:deb/debian/nginx@1:1.22.1-9%2Bdeb12u3?arch=amd64&distro=debian-12": "1:1.22.1-9+deb12u3",
        "pkg:deb/debian/python3-h2@4.1.0-4?arch=all&distro=debian-12": "4.1.0-4",
        "pkg:pypi/h2@4.1.0": "4.1.0",
    }
    image = bill["metadata"]["component"]
    assert (image["name"], image["version"]) == ("priolab-front-nginx", "c0de")
    assert {each["name"]: each["value"] for each in image["properties"]} == {
        "image id": IMAGE.id,
        "built on": "debian:bookworm-slim",
    }
