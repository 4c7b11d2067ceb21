"""Says how to keep a server in the foreground: one that goes into the background ends before it is needed."""

import re
from collections.abc import Sequence

_FOREGROUND = {
    "apache2": "-DFOREGROUND",
    "caddy": "`run` in place of `start`",
    "chronyd": "-d",
    "dnsmasq": "-k",
    "dropbear": "-F",
    "gunicorn": "no --daemon",
    "haproxy": "-db",
    "httpd": "-DFOREGROUND",
    "iperf3": "no -D",
    "lighttpd": "-D",
    "memcached": "no -d",
    "mongod": "no --fork",
    "mosquitto": "no -d",
    "named": "-f",
    "nginx": "-g 'daemon off;'",
    "ntpd": "-n",
    "pg_ctl": "`postgres` in its place",
    "php-fpm": "-F",
    "privoxy": "--no-daemon",
    "proftpd": "-n",
    "redis-server": "--daemonize no",
    "rsync": "--no-detach",
    "slapd": "-d 0",
    "smbd": "-F",
    "snmpd": "-f",
    "squid": "-N",
    "sshd": "-D",
    "stunnel": "`foreground = yes` in its file",
    "tinyproxy": "-d",
    "unbound": "-d",
    "valkey-server": "--daemonize no",
    "varnishd": "-F",
    "vsftpd": "-obackground=NO",
}
"""The option, or other words, that keep a program in the foreground, by its name."""

_NAME = re.compile(r"[A-Za-z][\w-]*")
_DIGITS = "0123456789"


def foreground(command: Sequence[str]) -> str:
    """Returns a hint for a server's command that ended well before it listened. Its program may be in a shell's text,
    and its name may end in a version.
    """
    names = (name for word in command for name in _NAME.findall(word))
    known = next((each for name in names for each in (name, name.rstrip(_DIGITS)) if each in _FOREGROUND), None)
    how = f": {known} with {_FOREGROUND[known]}" if known else ", by an option of its own"
    return f"; a server that goes into the background must stay in the foreground{how}"
