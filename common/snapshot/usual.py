"""The values that Linux gives to sysctls of TCP by default, to tell what a machine brings along. Pure."""

from collections.abc import Mapping

from priolab.common.tuning import NO_LIMIT

_USUAL: Mapping[str, str] = {
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_dsack": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_slow_start_after_idle": "1",
    "net.ipv4.tcp_early_retrans": "3",
    "net.ipv4.tcp_recovery": "1",
    "net.ipv4.tcp_frto": "2",
    "net.ipv4.tcp_reordering": "3",
    "net.ipv4.tcp_moderate_rcvbuf": "1",
    "net.ipv4.tcp_autocorking": "1",
    "net.ipv4.tcp_tso_win_divisor": "3",
    "net.ipv4.tcp_min_tso_segs": "2",
    "net.ipv4.tcp_pacing_ss_ratio": "200",
    "net.ipv4.tcp_pacing_ca_ratio": "120",
    "net.ipv4.tcp_mtu_probing": "0",
    "net.ipv4.tcp_notsent_lowat": str(NO_LIMIT),
    "net.ipv4.tcp_rto_min_us": "200000",
    "net.ipv4.tcp_comp_sack_nr": "44",
    "net.ipv4.ip_no_pmtu_disc": "0",
}


def unusual(picture: Mapping[str, str]) -> list[str]:
    """Returns the sysctls in a picture that have another value than Linux gives them by default, as NAME=VALUE."""
    return [f"{name}={picture[name]}" for name, usual in _USUAL.items() if picture.get(name, usual) != usual]
