#!/bin/sh
# Makes the base image of the lab's images from Debian packages, for machines that cannot pull it from a registry.
# BASE: the image's name; by default the one that the Dockerfiles use, which then means this image on this machine until
# it is removed. SUITE: Debian's release. MIRROR: the address of its packages.
set -eu

base=${BASE:-debian:bookworm-slim}
suite=${SUITE:-bookworm}
PATH="$PATH:/usr/sbin:/sbin"

say() { printf 'base image: %s\n' "$*"; }
fail() {
    printf 'base image: %s\n' "$*" >&2
    exit 1
}

if docker image inspect "$base" >/dev/null 2>&1; then
    say "$base is there; nothing to do"
    exit 0
fi
[ "$(id -u)" -eq 0 ] || fail "it takes root: debootstrap makes a file system"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
docker version >/dev/null 2>&1 || fail "no Docker engine answers"

mirror=${MIRROR:-}
sources=/etc/apt/sources.list.d/debian.sources
if [ -z "$mirror" ] && [ -e "$sources" ]; then
    mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' "$sources" | head -n 1)
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
say "making $base with debootstrap, about half a minute"
debootstrap --force-check-gpg --variant=minbase "$suite" "$scratch/root" $mirror >"$scratch/log" 2>&1 ||
    fail "debootstrap failed: $(tail -n 1 "$scratch/log")"
# Builds fetch packages as this machine does. But no password may get into an image, as in http://user:word@proxy.
password='://[^/"[:space:]]*@'
apt-config dump Acquire >"$scratch/acquire"
sed "\\#$password#d" "$scratch/acquire" >"$scratch/root/etc/apt/apt.conf.d/90acquire"
sed -n "\\#$password#s/ .*//p" "$scratch/acquire" | while read -r setting; do
    say "left out of the image, because it holds a user's name or password: $setting"
done
if [ -e "$sources" ] && grep -q "^Suites:.*\b$suite\b" "$sources"; then
    cp "$sources" "$scratch/root/etc/apt/sources.list.d/"
    rm -f "$scratch/root/etc/apt/sources.list"
fi
for file in "$scratch/root/etc/apt/sources.list" "$scratch/root/etc/apt/sources.list.d/"*; do
    if grep -qs "$password" "$file"; then
        sed -i "s#$password#://#" "$file"
        say "left out of the image: the user's name or password in $(basename "$file")"
    fi
done
rm -rf "$scratch/root/var/cache/apt/archives/"*.deb "$scratch/root/var/lib/apt/lists/"*
tar -C "$scratch/root" -c . | docker import - "$base" >/dev/null
say "$base is ready; on this machine that name now means this image, until \`docker image rm $base\`"
