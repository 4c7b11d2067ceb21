#!/bin/sh
# Everything the lab needs on this machine: system packages, the Python environment, the guest kernel.
# Says what it does; does nothing that is already done. Run by make; any step can be repeated.
# `setup.sh environment` sees to the Python environment only, and notes what else is missing; `setup.sh capture` sees to
# what CAPTURE=yes needs as well, `setup.sh chromium` to what CLIENT=chromium needs, `setup.sh servers` to the servers of
# the catalogue, `setup.sh test` to what the tests need, `setup.sh lint` to the checks, `setup.sh notebook` to JupyterLab,
# `setup.sh demo` to the demo's web server. PRIOLAB_KNOBS may name the servers and the client wanted.
set -eu

part=${1:-everything}
root=$(cd "$(dirname "$0")/.." && pwd)
venv="$root/.venv"
python=${PYTHON:-python3}
cache="${XDG_CACHE_HOME:-$HOME/.cache}/priolab"
PATH="$PATH:/usr/sbin:/sbin"
. "$root/proxy/entry.sh"

log=$(mktemp)
policy=""
become=""
undo() {
    rm -f "$log"
    [ -z "$policy" ] || $become rm -f "$policy"
}
trap undo EXIT
trap 'exit 130' INT TERM HUP

say() { printf 'setup: %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }
complain() { say "$@" >&2; }

# --- system packages -------------------------------------------------------------------------------------------------
missing=""
lack() { # PACKAGE
    case " $missing " in *" $1 "*) ;; *) missing="$missing $1" ;; esac
}
need() { # PROGRAM PACKAGE
    have "$1" || lack "$2"
}
services="" # programs that Debian would start
spare=""    # packages of servers that nobody has asked for by name
absent=""   # those servers, with commas
need_server() { # FOLDER in the catalogue, IS_NEEDED
    file="$1/server.toml"
    program=$(entry "$file" program)
    if have "$program"; then lacking=""; else lacking=yes; fi
    for needed in $(entry "$file" files); do [ -e "$needed" ] || lacking=yes; done
    [ -n "$lacking" ] || return 0
    for package in $(entry "$file" packages); do
        if [ "$2" = yes ]; then lack "$package"; else spare="$spare $package"; fi
    done
    [ "$2" = yes ] || absent="$absent,${1##*/}"
    [ "$program" = node ] || have "$program" && return 0
    case " $services " in *" $program "*) ;; *) services="$services $program" ;; esac
}
modules="" # servers that need packages of npm
asked=""
browser=""
case $part in chromium | test) browser=yes ;; esac
for word in ${PRIOLAB_KNOBS:-}; do
    case $word in
    SERVER=*) asked=",${word#SERVER=}," ;;
    CLIENT=*) case ",${word#CLIENT=}," in *,chromium,*) browser=yes ;; esac ;;
    esac
done
is_asked_for() { # SERVER
    case $asked in *",$1,"*) return 0 ;; esac
    return 1
}
is_wanted() { # SERVER: where it is not needed, as those of the base set are and what is asked for
    case $part in
    servers | demo) [ -z "$asked" ] && [ -z "$(entry "$root/proxy/servers/$1/server.toml" npm)" ] ;;
    test) return 0 ;;
    *) return 1 ;;
    esac
}
remedy() { # PACKAGES
    if ! have apt-get; then
        echo "these are Debian's names; install them with this system's package manager"
    elif [ "$(id -u)" -eq 0 ]; then
        echo "install them with: apt-get install --no-install-recommends$1"
    else
        echo "install them with: sudo apt-get install --no-install-recommends$1"
    fi
}
kernel=""
[ "$(uname -m)" != x86_64 ] || ls "$cache"/linux-[0-9]* >/dev/null 2>&1 || kernel=missing

for folder in "$root"/proxy/servers/*; do
    server=${folder##*/}
    if [ "$(entry "$folder/server.toml" base)" = true ] || is_asked_for "$server"; then
        need_server "$folder" yes
    elif is_wanted "$server"; then
        need_server "$folder" no
    else
        continue
    fi
    [ -n "$(entry "$folder/server.toml" npm)" ] || continue
    modules="$modules $server"
    ! is_asked_for "$server" || need npm npm
done
need node nodejs
need ip iproute2
need ethtool ethtool
case $part in capture | test)
    need tcpdump tcpdump
    need editcap wireshark-common
    ;;
esac
[ "$part" != test ] || need tshark tshark
[ -z "$browser" ] || need chromium chromium
if [ -n "$kernel" ]; then
    for program in gcc make flex bison bc; do need "$program" "$program"; done
    need xz xz-utils
    [ -e /usr/include/libelf.h ] || missing="$missing libelf-dev"
    [ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
    ls /usr/src/linux-source-*.tar.xz >/dev/null 2>&1 || missing="$missing linux-source"
fi

if [ "$part" = environment ]; then
    if [ -n "$missing" ]; then
        complain "note: not installed:$missing; FABRIC=compose needs none of them"
        complain "note: $(remedy "$missing")"
    fi
    [ -z "$kernel" ] || complain "note: FABRIC=virtual needs the guest kernel, which \`make kernel\` builds"
    missing=""
    services=""
fi
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"

# What the lab can do without: they compile the tuner of LOWAT=auto for the kernel, and pull 10 MB, 40 MB on the disk.
optional=""
have bpf-gcc || have clang || optional="$optional gcc-bpf"
[ -e /usr/include/bpf/bpf_helpers.h ] || optional="$optional libbpf-dev"

if [ -n "$missing$spare$optional" ] && [ "$(id -u)" -ne 0 ]; then
    if have sudo && sudo -n true 2>/dev/null; then become="sudo -n"; else become="no"; fi
fi
updated=""
fetch() { # PACKAGES: install them
    : >"$log"
    [ -n "$updated" ] || $become apt-get update >"$log" 2>&1 || return 1
    updated=yes
    $become env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $1 >"$log" 2>&1
}
failure() { grep -m1 '^E:' "$log" || tail -n 1 "$log"; }
try() { # PACKAGES WHAT_WITHOUT: what the lab can do without
    [ -n "$1" ] || return 0
    if ! have apt-get || [ "$become" = no ]; then
        complain "note: not installed:$1; without, $2"
        complain "note: $(remedy "$1")"
        return 0
    fi
    say "installing$1"
    fetch "$1" || complain "note: apt-get failed: $(failure); without, $2"
}
# The servers are wanted as programs: a new package must not start one on port 80.
if [ -n "$missing$spare" ] && have apt-get && [ "$become" != no ] && [ ! -e /usr/sbin/policy-rc.d ]; then
    policy=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' | $become tee "$policy" >/dev/null
    $become chmod 755 "$policy"
fi
if [ -n "$missing" ]; then
    if ! have apt-get || [ "$become" = no ]; then
        complain "these packages are missing:$missing"
        complain "$(remedy "$missing")"
        exit 1
    fi
    say "installing$missing"
    fetch "$missing" || {
        complain "apt-get failed: $(failure)"
        exit 1
    }
fi
if [ "$part" != environment ]; then
    try "$spare" "there is no SERVER=${absent#,}"
    try "$optional" "LOWAT=auto works from beside the front and not in the kernel"
fi
installed=""
for program in $services; do ! have "$program" || installed="$installed $program"; done
[ -z "$installed" ] || say "installed and not running; Debian would start at the next boot:$installed (systemctl disable$installed)"

# --- Python environment ----------------------------------------------------------------------------------------------
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    complain "$("$python" --version) is too old; Python 3.11 or newer is needed (make PYTHON=...)"
    exit 1
}
wanted=$(cat "$root/pyproject.toml" "$root/constraints.txt" "$root/experiments/setup.sh" | cksum)" $root"
install() { # EXTRA WORDS: the project with one of its extras, or with none
    mark="$venv/.installed${1:+-$1}"
    [ "$(cat "$mark" 2>/dev/null || true)" != "$wanted" ] || return 0
    say "$2"
    if ! { "$python" -m venv "$venv" && "$venv/bin/python" -m pip install -q --disable-pip-version-check \
        -c "$root/constraints.txt" -e "$root${1:+[$1]}"; } >"$log" 2>&1; then
        complain "pip failed: $(grep -m1 -i error "$log" || tail -n 1 "$log")"
        exit 1
    fi
    printf '%s' "$wanted" >"$mark"
}
install "" "making the Python environment in .venv"
case $part in
test | lint) install dev "installing what tests and checks need in .venv" ;;
notebook) install notebook "installing JupyterLab in .venv" ;;
demo) install demo "installing the demo's web server in .venv" ;;
environment) ;;
*) [ -z "$browser" ] || install chromium "installing Playwright, which drives Chromium, in .venv" ;;
esac

# --- packages of npm -------------------------------------------------------------------------------------------------
[ "$part" != environment ] || modules=""
tried=""
for server in $modules; do
    packages=$(entry "$root/proxy/servers/$server/server.toml" npm)
    case " $tried " in *" $packages "*) continue ;; esac
    tried="$tried $packages"
    if ! "$venv/bin/python" -m experiments.npm "$server" >"$log" 2>&1; then
        complain "$(tail -n 1 "$log")"
        ! is_asked_for "$server" || exit 1
        complain "note: without, there is no SERVER=$server"
        have npm || complain "note: $(remedy " npm")"
    fi
done
case $part in test | lint)
    if ! "$venv/bin/python" -m experiments.npm "$root/tests/page" >"$log" 2>&1; then
        complain "$(tail -n 1 "$log")"
        complain "note: without, the demo's page is not checked"
    fi
    ;;
esac

# --- guest kernel ----------------------------------------------------------------------------------------------------
if [ "$part" != environment ] && [ "$(uname -m)" = x86_64 ]; then
    # Asked of the one module that knows: the whole command line takes half a second to come up.
    "$venv/bin/python" -c 'import sys; from experiments.guest import kernel; sys.exit(not kernel.path().exists())' \
        2>/dev/null || "$venv/bin/priolab" kernel --quiet-if-present
fi
