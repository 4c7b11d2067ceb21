"""Tests of apt's sources for another suite, derived from this machine's sources."""

import pytest

from priolab.common.debian.suite_sources import (
    KEYRING,
    Source,
    deb822_sources,
    debian_sources,
    one_line_sources,
    sources_for,
    usual_archive,
)

DEB822 = """# a comment
Types: deb
# another comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /keys/debian.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb-src
URIs: http://sources.example/debian

Types: deb
URIs: http://disabled.example/debian
Enabled: no
"""

ONE_LINE = """
# deb http://old.example/debian stretch main
deb [arch=amd64 signed-by=/a.gpg,/b.gpg] http://mirror.example/debian bookworm main # trailing
deb-src http://mirror.example/debian bookworm main
deb http://security.example/debian-security bookworm-security main
deb [trusted=yes] http://other.example/apt stable main
"""


def test_the_new_format_is_read_with_its_keys() -> None:
    """Enabled archives of binary packages are read from a file .sources; a key inside the file stays whole."""
    main, security = deb822_sources(DEB822)
    assert main == Source(uri="http://mirror.example/debian", trust=("Signed-By: /keys/debian.gpg",))
    assert security.uri == "http://mirror.example/debian-security"
    assert security.trust[0].startswith("Signed-By:\n -----BEGIN")
    assert security.trust[0].endswith(" -----END PGP PUBLIC KEY BLOCK-----")


def test_the_old_format_is_read_with_its_keys() -> None:
    """Options about keys are kept from a file .list, in the form of the new format."""
    assert list(one_line_sources(ONE_LINE)) == [
        Source(uri="http://mirror.example/debian", trust=("Signed-By: /a.gpg /b.gpg",)),
        Source(uri="http://security.example/debian-security"),
        Source(uri="http://other.example/apt", trust=("Trusted: yes",)),
    ]


MACHINE = debian_sources(one_line_sources(ONE_LINE), None, "http://usual.example/debian")
UBUNTU = [Source(uri="http://ubuntu.example/ubuntu"), Source(uri="cdrom:[Debian]/debian")]
BY_KEYRING = (f"Signed-By: {KEYRING}",)


def test_another_suite_comes_from_this_machines_mirror() -> None:
    """The suite, its updates and its security archive come from the addresses, and by the keys, of the machine."""
    assert sources_for("trixie", MACHINE) == (
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: trixie trixie-updates\nComponents: main\n"
        "Signed-By: /a.gpg /b.gpg\n\n"
        "Types: deb\nURIs: http://security.example/debian-security\nSuites: trixie-security\nComponents: main\n"
    )


def test_a_rolling_suite_is_a_single_archive() -> None:
    """Sid has neither updates nor a security archive."""
    text = sources_for("sid", MACHINE)
    assert text.count("Types:") == 1
    assert "Suites: sid\n" in text


def test_without_debians_sources_the_archive_of_debootstrap_is_used() -> None:
    """A machine with another distribution takes debootstrap's archive and the key ring of debian-archive-keyring."""
    main, security = debian_sources(UBUNTU, None, "http://usual.example/debian")
    assert main == Source(uri="http://usual.example/debian", trust=BY_KEYRING)
    assert security == Source(uri="http://usual.example/debian-security", trust=BY_KEYRING)
    assert debian_sources(UBUNTU, None, "http://usual.example/other") == [
        Source(uri="http://usual.example/other", trust=BY_KEYRING)
    ]
    assert debian_sources(UBUNTU, None, None) == []


def test_a_named_mirror_stands_in_for_all_archives() -> None:
    """MIRROR replaces the address but not the keys; a mirror need not have the security archive."""
    (own,) = debian_sources(one_line_sources(ONE_LINE), "http://near.example/debian", None)
    assert own == Source(uri="http://near.example/debian", trust=("Signed-By: /a.gpg /b.gpg",))
    (other,) = debian_sources(UBUNTU, "file:/srv/debian", "http://usual.example/debian")
    assert other == Source(uri="file:/srv/debian", trust=BY_KEYRING)
    assert "URIs: copy:/srv/debian\n" in sources_for("sid", [other])


@pytest.mark.parametrize(
    ("script", "address"),
    [
        ('VERSION=1\nDEF_MIRROR="http://usual.example/debian"\n', "http://usual.example/debian"),
        ("\tDEF_MIRROR=file:/srv/debian\n", "file:/srv/debian"),
        ('default_mirror () {\n\tDEF_MIRROR="$1"\n}\nMIRRORS="$DEF_MIRROR"\n', None),
    ],
)
def test_the_archive_of_debootstrap(script: str, address: str | None) -> None:
    """Its scripts assign the address to a variable."""
    assert usual_archive(script) == address
