"""What a Link is made of: the commands of either shaper."""

from netem import shaper, tc
from netem.ferry import loops
from netem.link import Link
from netem.shaper import Shaper

LINK = Link(rate_bit_s=1_024_000, delay_ns=300_000_000, delay_up_ns=20_000_000)
PLAIN = Link(rate_bit_s=None, delay_ns=0)


def test_netem_shapes_both_devices() -> None:
    """Toward the client and toward the front, by tc; the place only has to forward."""
    made = shaper.commands(Shaper.NETEM, LINK, "to-client", "to-front")
    assert made == tc.down(LINK, "to-client") + tc.up(LINK, "to-front")
    assert shaper.sysctls(Shaper.NETEM, LINK) == {"net.ipv4.ip_forward": "1"}


def test_the_ferry_is_led_to() -> None:
    """Its commands make the loops; what else must hold, they say."""
    assert shaper.commands(Shaper.FERRY, LINK, "a", "b") == loops.commands(LINK, "a", "b")
    assert shaper.sysctls(Shaper.FERRY, LINK) == loops.sysctls(LINK)


def test_a_link_that_does_nothing_needs_no_command() -> None:
    """Whatever it is made of."""
    assert [shaper.commands(kind, PLAIN, "a", "b") for kind in Shaper] == [[], []]


def test_the_trial_undoes_itself() -> None:
    """What was added to find out whether netem exists is deleted again."""
    added, deleted = shaper.TRIAL
    assert (added[2], deleted[2]) == ("add", "del")
    assert added[3:6] == deleted[3:6]
